//! The clients that have registered, and the requests, responses and errors of the OAuth endpoints.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use http::{HeaderMap, StatusCode};
use serde_json::json;

use crate::{lock, wire::http_response::HttpResponse};

/// The state of the OAuth endpoints, beside the tokens.
#[derive(Debug)]
pub struct OAuth {
    pub base_url: String,
    pub token_lifetime: Duration,
    pub clients: Mutex<HashMap<String, Arc<Client>>>,
}

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

impl OAuth {
    pub fn client(&self, id: &str) -> Option<Arc<Client>> {
        lock(&self.clients).get(id).cloned()
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

pub type Response = Result<HttpResponse, OAuthError>;
