//! boardlot: a client for market data and trading, and a sandbox of the service.

pub mod api;
pub mod auth;
pub mod error;
#[cfg(feature = "sandbox")]
pub mod sandbox;
