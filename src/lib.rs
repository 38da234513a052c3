#![doc = include_str!("../ARCHITECTURE.md")]

pub mod api;
mod atomic_file;
pub mod auth;
pub mod client;
pub mod client_options;
pub mod decode;
pub mod error;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
pub mod http;
pub mod lock;
pub mod login;
pub mod pages;
pub mod plan;
pub mod process;
pub mod profile;
#[cfg(feature = "python")]
mod py;
#[cfg(feature = "sandbox")]
pub mod sandbox;
