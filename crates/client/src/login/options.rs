//! The options of a login.

use std::time::Duration;

use crate::{auth::SharedStore, http::TransportOptions};

/// The name that clients are registered with by default.
pub const CLIENT_NAME: &str = "boardlot";

/// The options of a login. Options may be added: begin with [`new`](LoginOptions::new) and set fields.
#[non_exhaustive]
pub struct LoginOptions {
    /// The store in which to save the tokens.
    pub store: SharedStore,
    /// A client that was registered elsewhere, with `redirect_port`.
    pub client_id: Option<String>,
    /// The name to register a client with.
    pub client_name: String,
    /// The port of this machine on which the callback arrives. 0, the default: the port of the last login, or any free
    /// port.
    pub redirect_port: u16,
    /// True to register a client that has a secret.
    pub confidential: bool,
    /// The time that the user may take: 5 minutes by default.
    pub deadline: Duration,
    /// The options for sending requests.
    pub transport: TransportOptions,
}

impl LoginOptions {
    /// A login whose tokens are saved in this store, with the default of every other option.
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
