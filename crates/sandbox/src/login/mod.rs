//! OAuth 2.1 with PKCE, the service's side (sections 2.1, 2.2, 3.4, 4.1 and 5.1): registration, the page on
//! which a user decides, and the token endpoint. Paths, methods and parameters come from the rows; the
//! sandbox's own choices are listed in [`super`].

mod authorize;
mod fields;
mod register;
mod token;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
    time::Duration,
};

use boardlot_service::api::{self, Endpoint, Method, ResponseShape};
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, PRAGMA},
};
use serde_json::json;

use crate::{credentials::tokens::Tokens, faults::Fault, lock, wire::http_response::HttpResponse};
pub use authorize::allow_as_demo_user;

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
struct OAuthError {
    status: StatusCode,
    error: &'static str,
    description: String,
}

impl OAuthError {
    fn new(error: &'static str, description: impl Into<String>) -> Self {
        OAuthError { status: StatusCode::BAD_REQUEST, error, description: description.into() }
    }

    fn into_response(self) -> HttpResponse {
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

type Response = Result<HttpResponse, OAuthError>;
type Handler = fn(&OAuth, &Tokens, &OAuthRequest<'_>) -> Response;

/// One of the endpoints.
#[derive(Debug)]
pub struct Route {
    pub endpoint: &'static Endpoint,
    pub method: Method,
    handler: Handler,
}

pub const ROUTES: &[Route] = &[
    Route { endpoint: &api::REGISTER, method: Method::Post, handler: register::register },
    Route { endpoint: &api::AUTHORIZE, method: Method::Get, handler: authorize::show },
    // The page sends its form back to itself.
    Route { endpoint: &api::AUTHORIZE, method: Method::Post, handler: authorize::decide },
    Route { endpoint: &api::TOKEN, method: Method::Post, handler: token::grant },
];

impl Route {
    /// Returns true if it is for a person in a browser.
    pub fn is_page(&self) -> bool {
        matches!(self.endpoint.response, ResponseShape::Page)
    }

    pub fn respond(
        &self,
        oauth: &OAuth,
        tokens: &Tokens,
        request: &OAuthRequest<'_>,
        fault: Option<Fault>,
    ) -> HttpResponse {
        let unavailable = |status| {
            let description = "a fault that was asked for".to_owned();
            Err(OAuthError { status, error: "temporarily_unavailable", description })
        };
        let response = match fault {
            Some(Fault::Throttle) => unavailable(StatusCode::TOO_MANY_REQUESTS),
            Some(Fault::Error(_)) => unavailable(StatusCode::SERVICE_UNAVAILABLE),
            _ => (self.handler)(oauth, tokens, request),
        };
        response
            .unwrap_or_else(OAuthError::into_response)
            .with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
            .with(PRAGMA, HeaderValue::from_static("no-cache"))
    }
}
