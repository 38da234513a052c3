//! What the OAuth endpoints share: the registered clients and the open forms.

use std::{sync::Mutex, time::Duration};

use axum::http::HeaderMap;

use super::{clients::Clients, forms::Forms};
use crate::sync::lock;

/// The state of the OAuth endpoints.
#[derive(Debug)]
pub struct OAuth {
    pub base_url: String,
    pub token_lifetime: Duration,
    pub clients: Clients,
    pub forms: Mutex<Forms>,
}

impl OAuth {
    pub fn new(base_url: String, token_lifetime: Duration) -> Self {
        OAuth { base_url, token_lifetime, clients: Clients::default(), forms: Mutex::default() }
    }

    /// Removes all clients and forms.
    pub fn clear(&self) {
        self.clients.clear();
        lock(&self.forms).clear();
    }
}

/// A request to one of the endpoints.
#[derive(Debug, Clone, Copy)]
pub struct OAuthRequest<'a> {
    pub headers: &'a HeaderMap,
    pub query: &'a str,
    pub body: &'a [u8],
    pub now_ms: i64,
}
