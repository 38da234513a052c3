//! State shared by the OAuth endpoints: the registered clients, requests and errors.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use boardlot_service::error::Error;
use http::{HeaderMap, StatusCode};
use serde_json::json;

use crate::{lock, wire::http_response::HttpResponse};

const CLIENTS_MAX: usize = 10_000;

pub type Response = Result<HttpResponse, OAuthError>;

/// The state of the OAuth endpoints.
#[derive(Debug)]
pub struct OAuth {
    pub base_url: String,
    pub token_lifetime: Duration,
    pub clients: Clients,
}

impl OAuth {
    pub fn new(base_url: String, token_lifetime: Duration) -> Self {
        OAuth { base_url, token_lifetime, clients: Clients::default() }
    }

    /// Removes all clients.
    pub fn clear(&self) {
        self.clients.clear();
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

/// An error in the form of RFC 6749, section 5.2.
#[derive(Debug)]
pub struct OAuthError {
    pub status: StatusCode,
    pub error: &'static str,
    pub description: String,
}

#[derive(Debug, Default)]
pub struct Clients(Mutex<HashMap<String, Arc<Client>>>);

/// A registered client.
#[derive(Debug)]
pub struct Client {
    pub id: String,
    pub name: String,
    pub redirect_uris: Vec<String>,
    /// True if it registered for refreshing.
    pub refreshes: bool,
    /// The secret of a confidential client.
    pub secret: Option<String>,
}

impl Clients {
    pub fn get(&self, id: &str) -> Option<Arc<Client>> {
        lock(&self.0).get(id).cloned()
    }

    pub fn clear(&self) {
        lock(&self.0).clear();
    }

    pub fn add(&self, client: Client) -> Result<(), OAuthError> {
        let mut all = lock(&self.0);
        if all.len() >= CLIENTS_MAX {
            // Removing an old one would end a login that works.
            return Err(OAuthError {
                status: StatusCode::SERVICE_UNAVAILABLE,
                error: "temporarily_unavailable",
                description: "too many clients have registered; reset the sandbox".to_owned(),
            });
        }
        all.insert(client.id.clone(), Arc::new(client));
        Ok(())
    }
}

impl OAuthError {
    pub fn new(error: &'static str, description: impl Into<String>) -> Self {
        OAuthError { status: StatusCode::BAD_REQUEST, error, description: description.into() }
    }

    pub fn into_response(self) -> HttpResponse {
        let body = json!({ "error": self.error, "error_description": self.description });
        HttpResponse::json(self.status, body.to_string().into_bytes())
    }
}

/// Converts a description of an invalid field.
impl From<String> for OAuthError {
    fn from(invalid: String) -> Self {
        OAuthError::new("invalid_request", invalid)
    }
}

impl From<Error> for OAuthError {
    fn from(error: Error) -> Self {
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        OAuthError { status, ..OAuthError::new("server_error", error.to_string()) }
    }
}
