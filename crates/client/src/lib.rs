//! A client for the account records and reference data of a broker: signed requests, lists in pages,
//! records as columns.
//!
//! The endpoints are data: a row of [`api::ENDPOINTS`] declares an endpoint's path, parameters,
//! envelope, records and paging, and all requests and checks are derived from it.
//!
//! ```no_run
//! use std::sync::Arc;
//!
//! use boardlot_client::{
//!     Client, ClientOptions,
//!     api::FILLS_HISTORY,
//!     auth::{Credentials, KeyPair},
//!     error::Result,
//! };
//!
//! #[derive(serde::Deserialize)]
//! struct Fill {
//!     code: String,
//!     qty: String,
//!     price: String,
//! }
//!
//! #[tokio::main]
//! async fn main() -> Result<()> {
//!     let key = KeyPair::read(&std::fs::read("key.pem").expect("a key file"), None)?;
//!     let credentials = Some(Credentials::api_key("my-app-key".to_owned(), Arc::new(key))?);
//!     let options = ClientOptions { credentials, ..ClientOptions::default() };
//!     let client = Client::new("https://api.example.com", options)?;
//!     let arguments = [("acc_id", "281756".into()), ("trd_market", "HK".into())];
//!     for record in client.call(&FILLS_HISTORY, &arguments).await?.iter() {
//!         let Fill { code, qty, price } = record.deserialize()?;
//!         println!("{code}: {qty} at {price}");
//!     }
//!     Ok(())
//! }
//! ```
//!
//! | Module | Content |
//! |---|---|
//! | [`client`] | the client: calls, lists, custom requests, and one endpoint for many keys |
//! | [`api`] | the endpoints, their parameters and records |
//! | [`endpoint_file`] | custom endpoints in a TOML file |
//! | [`auth`] | API keys and signatures; bearer tokens; the tokens of a login and their stores |
//! | [`login`] | OAuth 2.1 with PKCE and a loopback listener |
//! | [`pages`] | iterating over pages, with checkpoints |
//! | [`decode`] | responses, records, and their Arrow columns |
//! | [`http`] | request plans and sending: retries, limits, clock, cassettes |
//! | [`shared_limit`] | one rate limit for many clients, processes or machines |
//! | [`profile`] | profiles in `config.toml` |
//! | [`error`] | the error type |
//!
//! `examples/` has three programs that run against the sandbox: `sign_and_send`, `paging` and `login`.
#![warn(missing_docs)]

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!(
    "boardlot is for 64-bit little-endian systems, such as x86-64 and ARM64: positions in a page and \
     sizes of buffers are tested for these alone"
);

pub mod auth;
pub mod client;
pub mod decode;
#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;
pub mod http;
pub mod login;
#[doc(hidden)]
pub mod os;
pub mod pages;
pub mod profile;
pub mod shared_limit;

use boardlot_service::canonical_request;
#[doc(hidden)]
pub use boardlot_service::shown_as;
pub use boardlot_service::{api, endpoint_file, error};
pub use client::{Client, ClientOptions};
