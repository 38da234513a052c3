//! The options of a login.

use std::time::Duration;

use crate::{auth::SharedStore, http::TransportOptions};

/// Default name for registering a client.
pub const CLIENT_NAME: &str = "boardlot";

/// Options of a login. Options may be added in later releases: begin with
/// [`new`](LoginOptions::new) and set fields.
#[non_exhaustive]
pub struct LoginOptions {
    /// The store for the tokens.
    pub store: SharedStore,
    /// A client that was registered elsewhere, with `redirect_port`. None by default: the client of
    /// the last login in this store, or a new one.
    pub client_id: Option<String>,
    /// The name to register a client with, which the consent page shows: `boardlot` by default.
    pub client_name: String,
    /// The port of this machine at which the callback arrives. The default, 0, stands for the port
    /// of the last login, or any free port.
    pub redirect_port: u16,
    /// True to register a client with a secret. False by default.
    pub confidential: bool,
    /// Time limit for the user: 5 minutes by default.
    pub deadline: Duration,
    /// The options for sending requests.
    pub transport: TransportOptions,
}

impl LoginOptions {
    /// Creates the options of a login that saves its tokens in this store, with the default of
    /// every other option.
    pub fn new(store: impl Into<SharedStore>) -> Self {
        LoginOptions {
            store: store.into(),
            client_id: None,
            client_name: CLIENT_NAME.to_owned(),
            redirect_port: 0,
            confidential: false,
            deadline: Duration::from_secs(300),
            transport: TransportOptions::default(),
        }
    }
}

boardlot_service::shown_as!(
    LoginOptions,
    |this| "LoginOptions({}, port {})",
    this.client_name,
    this.redirect_port
);
