//! The responses and errors of the OAuth endpoints.

use http::StatusCode;
use serde_json::json;

use crate::wire::http_response::HttpResponse;

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
