//! A client for the account records and reference data of a broker: signed requests, lists in
//! pages, records as columns.
//!
//! ```no_run
//! use boardlot_client::{Client, ClientOptions, Credentials, KeyPair, Result, endpoints::FILLS_HISTORY};
//! use futures_util::TryStreamExt;
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
//!     let options = ClientOptions::of(Credentials::api_key("my-app-key", key)?);
//!     let client = Client::new("https://api.example.com", options)?;
//!     let arguments = [("acc_id", "281756".into()), ("trd_market", "HK".into())];
//!     let mut fills = client.records(FILLS_HISTORY, &arguments)?;
//!     while let Some(record) = fills.try_next().await? {
//!         let Fill { code, qty, price } = record.deserialize()?;
//!         println!("{code}: {qty} at {price}");
//!     }
//!     Ok(())
//! }
//! ```
//!
//! # From the page of an endpoint to a request
//!
//! [`endpoints`] has a page for each endpoint: the arguments with their forms, the fields of a
//! record with their kinds and units, and the section of the service's documentation. Arguments are
//! pairs of a name and an [`Argument`], made by `.into()` from a text, a whole number or another
//! type; a time may be a date. They are checked before anything is sent.
//!
//! | To get | Call |
//! |---|---|
//! | all records of an endpoint | [`Client::call`], which returns [`Rows`] |
//! | record after record, as pages arrive | [`Client::records`], a stream of [`OwnedRecord`] |
//! | the records after a checkpoint | [`Client::pages`], then [`Pages::into_records`] |
//! | page after page | [`Client::pages`], then [`Pages::stream`] or [`Pages::after`] |
//! | typed Arrow columns | [`Rows::record_batches`] |
//! | the response to a request of any path | [`Client::request`] with a [`RequestPlan`] |
//! | the request, without sending it | [`Client::explain_call`] |
//!
//! Each record of a list in pages has a [checkpoint](OwnedRecord::checkpoint): another run
//! [continues](Client::pages) after it, without loss or repetition.
//!
//! # Credentials
//!
//! | Credentials | From |
//! |---|---|
//! | an API key, which signs each request | its id and [`KeyPair::read`], then [`Credentials::api_key`] |
//! | a bearer token | [`Credentials::bearer`] |
//! | a new login of OAuth 2.1 with PKCE | [`LoginFlow`], whose tokens a [`TokenStore`] keeps |
//! | the login of an earlier run | [`OAuth::new`], then [`Credentials::OAuth`] |
//!
//! The service gives an API key its id when the public key is uploaded; [`generate_key`] makes a new
//! pair.
//!
//! # Options
//!
//! [`TransportOptions`] has the time limits, retries, rate limit and headers, and [`ConnectOptions`]
//! the proxy, the trusted authorities and the client certificate. They are fields of
//! [`ClientOptions`] and [`LoginOptions`].
//!
//! # Runtimes
//!
//! Requests are sent in the tokio runtime that polls them, which needs I/O and time. A client may
//! be used in several runtimes, such as those of several `#[tokio::test]`, at once or one after
//! another; each of them has its own connections. Its clones, such as one for each task, share the
//! rest of its state, such as its limits and its clock.
//!
//! # Errors
//!
//! An [`Error`] has a [class](Error::class) to decide by, a [kind](ErrorKind) with its details, the
//! endpoint, and, if an iteration failed, a checkpoint to resume from. [`Error::hint`] suggests what
//! to do. No error and no `{:?}` shows a secret.
//!
//! # Dependencies
//!
//! A program needs `tokio` with the features `macros` and `rt-multi-thread`, `futures-util` for its
//! streams, and `serde` with the feature `derive` for types of its own. To compile TLS and signing,
//! a C compiler is needed.
//!
//! # The sandbox
//!
//! `boardlot-sandbox` is the service on this machine, with invented data: a library for tests, and a
//! program that prints its address, an API key and a token:
//!
//! ```text
//! boardlot-sandbox --print-key --print-token --json
//! ```
//!
//! `examples/` has programs that run against it: `records`, `sign_and_send`, `paging` and `login`.
#![warn(missing_docs)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

#[cfg(not(all(target_pointer_width = "64", target_endian = "little")))]
compile_error!(
    "boardlot is for 64-bit little-endian systems, such as x86-64 and ARM64: positions in a page and \
     sizes of buffers are tested for these alone"
);

#[cfg(feature = "fuzzing")]
#[doc(hidden)]
pub mod fuzzing;

mod auth;
mod client;
mod decode;
pub mod endpoints;
mod http;
mod login;
mod os;
mod pages;
mod profile;
mod shared_limit;

use boardlot_service::{api, canonical_request, error};

#[doc(inline)]
pub use boardlot_service::{
    api::{Argument, Endpoint},
    error::{ApiFailure, Delivery, Error, ErrorClass, ErrorKind, FailureClass, Result},
};

pub use auth::{
    Algorithm, Credentials, KeyPair, OAuth, SharedStore, TokenSet, generate_key,
    store::{EncryptedFileStore, KeychainStore, MemoryStore, Secret, TokenStore},
};
pub use client::{Client, ClientOptions, Explanation};
pub use decode::{ColumnOptions, Decimals, InvalidValues, RecordRef, Rows, Strings};
pub use http::{
    BaseUrl, Body, ClientIdentity, ClientRate, ConnectOptions, HttpResponse, RequestPlan,
    TransportOptions,
};
pub use login::{LoginFlow, LoginOptions};
pub use pages::{ListedPage, OwnedRecord, Pages, RecordStream, Windows};
pub use shared_limit::{Allowance, SharedLimit};

/// Modules of this crate for the extension module of the Python package and for tests. They have no
/// stable interface and may change with any release.
#[doc(hidden)]
pub mod extension {
    pub use crate::client::{Client, ClientOptions};
    pub use boardlot_service::{api, endpoint_file, error, shown_as};

    /// Credentials and stores.
    pub mod auth {
        pub use crate::auth::*;
    }
    /// The client.
    pub mod client {
        pub use crate::client::*;
    }
    /// Responses and records.
    pub mod decode {
        pub use crate::decode::*;
    }
    /// Requests.
    pub mod http {
        pub use crate::http::*;
    }
    /// Logins.
    pub mod login {
        pub use crate::login::{LoginFlow as Flow, LoginOptions as Options, *};
    }
    /// Files, locks, clocks and threads.
    pub mod os {
        pub use crate::os::*;
    }
    /// Lists.
    pub mod pages {
        pub use crate::pages::*;
    }
    /// Profiles.
    pub mod profile {
        pub use crate::profile::*;
    }
    /// Rate limits.
    pub mod shared_limit {
        pub use crate::shared_limit::*;
    }
}
