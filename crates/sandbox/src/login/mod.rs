//! The service's side of OAuth 2.1 with PKCE (sections 2.1, 2.2, 3.4, 4.1 and 5.1): registration,
//! the page on which a user decides, and the token endpoint. Paths, methods and parameters come
//! from the rows of the table; the sandbox's own choices are listed in [`super`].

mod authorize;
mod fields;
mod oauth;
mod register;
mod token;

use boardlot_service::api::{self, Endpoint, Method, ResponseShape};
use bytes::Bytes;
use http::{
    HeaderValue, Request, StatusCode,
    header::{CACHE_CONTROL, PRAGMA},
};

use crate::{credentials::tokens::Tokens, faults::Fault, wire::http_response::HttpResponse};
pub use authorize::allow_as_demo_user;
use oauth::{OAuthError, Response};

type Handler = fn(&Tokens, &Request<Bytes>, i64) -> Response;

/// An endpoint of OAuth.
#[derive(Debug)]
pub struct Route {
    pub endpoint: &'static Endpoint,
    pub method: Method,
    handler: Handler,
}

pub const ROUTES: &[Route] = &[
    Route { endpoint: &api::REGISTER, method: Method::Post, handler: register::register },
    Route { endpoint: &api::AUTHORIZE, method: Method::Get, handler: authorize::show },
    // The page sends its form to its own address.
    Route { endpoint: &api::AUTHORIZE, method: Method::Post, handler: authorize::decide },
    Route { endpoint: &api::TOKEN, method: Method::Post, handler: token::grant },
];

impl Route {
    /// Returns true if the endpoint is for a person in a browser.
    pub fn is_page(&self) -> bool {
        matches!(self.endpoint.response, ResponseShape::Page)
    }

    pub fn respond(
        &self,
        tokens: &Tokens,
        request: &Request<Bytes>,
        now_ms: i64,
        fault: Option<Fault>,
    ) -> HttpResponse {
        let unavailable = |status| {
            let description = "a fault that was asked for".to_owned();
            Err(OAuthError { status, error: "temporarily_unavailable", description })
        };
        let response = match fault {
            Some(Fault::Throttle) => unavailable(StatusCode::TOO_MANY_REQUESTS),
            Some(Fault::Error(_)) => unavailable(StatusCode::SERVICE_UNAVAILABLE),
            _ => (self.handler)(tokens, request, now_ms),
        };
        response
            .unwrap_or_else(OAuthError::into_response)
            .with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
            .with(PRAGMA, HeaderValue::from_static("no-cache"))
    }
}
