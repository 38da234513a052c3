//! The token endpoint: a code for tokens, and a refresh token for a new access token (4.1).

use std::sync::Arc;

use axum::http::{StatusCode, header::CONTENT_TYPE};
use serde::Serialize;

use super::{
    clients::Client,
    error::OAuthError,
    fields::Fields,
    service::{OAuth, OAuthRequest},
};
use crate::{
    api::TOKEN,
    sandbox::{
        credentials::tokens::{Exchange, Issued, Tokens},
        wire::{envelope::json, http_response::HttpResponse},
    },
};

const FORM: &str = "application/x-www-form-urlencoded";

#[derive(Serialize)]
struct TokenResponse<'a> {
    access_token: &'a str,
    token_type: &'static str,
    expires_in: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    refresh_token: Option<&'a str>,
    scope: String,
}

pub fn grant(
    oauth: &OAuth,
    tokens: &Tokens,
    request: &OAuthRequest<'_>,
) -> Result<HttpResponse, OAuthError> {
    if !is_form(request) {
        return Err(OAuthError::invalid_request(format!("the content type is not {FORM}")));
    }
    let fields = Fields::read(&TOKEN, request.body);
    if let Some(name) = fields.doubled() {
        let shown: String = name.chars().take(64).collect();
        let message = format!("{} is given twice", shown.escape_debug());
        return Err(OAuthError::invalid_request(message));
    }
    let grant_type = match fields.required("grant_type") {
        Ok(grant_type) => grant_type,
        Err(_) if fields.all("grant_type").any(|text| !text.is_empty()) => {
            return Err(OAuthError::new(
                "unsupported_grant_type",
                "the grant type is not supported",
            ));
        }
        Err(missing) => return Err(missing.into()),
    };
    let refreshing = grant_type == "refresh_token";
    let client = authenticated(oauth, &fields, refreshing)?;
    let issued = if refreshing {
        let refresh_token = fields.required("refresh_token")?;
        if !client.refreshes {
            let message = "the client did not register for refresh_token";
            return Err(OAuthError::new("unauthorized_client", message));
        }
        tokens.refresh(refresh_token, &client.id, oauth.token_lifetime)?
    } else {
        let exchange = Exchange {
            code: fields.required("code")?,
            client_id: &client.id,
            redirect_uri: fields.required("redirect_uri")?,
            verifier: fields.required("code_verifier")?,
            refreshes: client.refreshes,
        };
        tokens.exchange(exchange, oauth.token_lifetime, request.now_ms)?
    };
    match issued {
        Ok(issued) => Ok(token_response(oauth, &issued)),
        Err(invalid) => Err(OAuthError::new("invalid_grant", invalid)),
    }
}

/// The client, authenticated by its secret if the document requires it.
fn authenticated(
    oauth: &OAuth,
    fields: &Fields,
    refreshing: bool,
) -> Result<Arc<Client>, OAuthError> {
    let id = fields.required("client_id")?;
    let presented = fields.optional("client_secret")?;
    let invalid_client = |description: &str| {
        let refused = OAuthError::new("invalid_client", description);
        Err(OAuthError { status: StatusCode::UNAUTHORIZED, ..refused })
    };
    let Some(client) = oauth.clients.get(id) else {
        return invalid_client("the client is unknown");
    };
    match presented {
        Some(secret) if !client.has_secret(secret) => {
            invalid_client("client_secret is not the client's")
        }
        None if refreshing && client.is_confidential() => {
            invalid_client("client_secret is missing")
        }
        _ => Ok(client),
    }
}

fn token_response(oauth: &OAuth, issued: &Issued) -> HttpResponse {
    let body = TokenResponse {
        access_token: &issued.access_token,
        token_type: "Bearer",
        // Rounded down: the token is valid for at least that long.
        expires_in: oauth.token_lifetime.as_secs(),
        refresh_token: issued.refresh_token.as_deref(),
        scope: issued.scopes.to_text(),
    };
    HttpResponse::json(StatusCode::OK, json(&body))
}

/// Whether the body is a form; parameters of the content type, such as a charset, are ignored.
fn is_form(request: &OAuthRequest<'_>) -> bool {
    let content_type = request.headers.get(CONTENT_TYPE).and_then(|value| value.to_str().ok());
    content_type
        .and_then(|text| text.split(';').next())
        .is_some_and(|kind| kind.trim().eq_ignore_ascii_case(FORM))
}
