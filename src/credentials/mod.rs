//! Keys, tokens, the stores that keep them, and profiles.

pub mod auth;
pub mod oauth;
pub mod profile;
pub mod python_store;
pub mod signing;
pub mod static_credentials;
pub mod store_argument;
pub mod store_call;
pub mod stores;
