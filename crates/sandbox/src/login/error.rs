//! Errors of the OAuth endpoints in the form of RFC 6749, section 5.2.

use axum::http::StatusCode;
use serde::Serialize;

use super::fields::InvalidField;
use crate::{
    error::Error,
    sandbox::wire::{envelope::json, http_response::HttpResponse},
};

/// An error response.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OAuthError {
    pub status: StatusCode,
    pub error: &'static str,
    pub description: String,
}

impl OAuthError {
    pub fn new(error: &'static str, description: impl Into<String>) -> Self {
        OAuthError { status: StatusCode::BAD_REQUEST, error, description: description.into() }
    }

    pub fn invalid_request(description: impl Into<String>) -> Self {
        OAuthError::new("invalid_request", description)
    }

    pub fn into_response(self) -> HttpResponse {
        #[derive(Serialize)]
        struct Body<'a> {
            error: &'a str,
            error_description: &'a str,
        }
        let body = Body { error: self.error, error_description: &self.description };
        HttpResponse::json(self.status, json(&body))
    }
}

impl From<InvalidField> for OAuthError {
    fn from(invalid: InvalidField) -> Self {
        OAuthError::invalid_request(invalid)
    }
}

impl From<Error> for OAuthError {
    /// The only such error: the operating system returned no random bytes.
    fn from(error: Error) -> Self {
        OAuthError {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            error: "server_error",
            description: error.to_string(),
        }
    }
}
