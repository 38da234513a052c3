//! The token endpoint: exchanges a code for tokens, and a refresh token for a new access token
//! (4.1).

use std::sync::Arc;

use bytes::Bytes;
use http::{
    HeaderValue, Request, StatusCode,
    header::{AUTHORIZATION, CONTENT_TYPE, WWW_AUTHENTICATE},
};
use serde_json::json;

use super::{
    fields::Fields,
    oauth::{OAuthError, Response},
};
use crate::{
    credentials::{
        scopes::Scopes,
        tokens::{Client, Exchange, Tokens},
    },
    wire::http_response::HttpResponse,
};

const FORM: &str = "application/x-www-form-urlencoded";

pub fn grant(tokens: &Tokens, request: &Request<Bytes>, now_ms: i64) -> Response {
    let content_type = request.headers().get(CONTENT_TYPE).map(|kind| kind.as_bytes());
    let content_type = content_type.unwrap_or_default().to_ascii_lowercase();
    if !content_type.starts_with(FORM.as_bytes()) {
        return Err(format!("the content type is not {FORM}").into());
    }
    if request.headers().contains_key(AUTHORIZATION) {
        // RFC 6749, section 5.2: the response names the scheme that the client used.
        let why = "a client authenticates with client_secret in the body, as it registered";
        let response = invalid_client(why).into_response();
        return Ok(response.with(WWW_AUTHENTICATE, HeaderValue::from_static("Basic realm=\"\"")));
    }
    let fields = Fields::read(request.body());
    let grant_type = fields.required("grant_type")?;
    let is_refresh = grant_type == "refresh_token";
    let client = authenticated(tokens, &fields, is_refresh)?;
    let issued = match grant_type {
        "refresh_token" if !client.refreshes => {
            let message = "the client did not register for refresh_token";
            return Err(OAuthError::new("unauthorized_client", message));
        }
        "refresh_token" => {
            let refresh_token = fields.required("refresh_token")?;
            let narrower = fields.optional("scope")?.map(Scopes::parse).transpose();
            let narrower = narrower.map_err(|message| OAuthError::new("invalid_scope", message))?;
            tokens.refresh(refresh_token, &client.id, narrower)
        }
        "authorization_code" => {
            let exchange = Exchange {
                code: fields.required("code")?,
                client_id: &client.id,
                redirect_uri: fields.required("redirect_uri")?,
                verifier: fields.required("code_verifier")?,
                refreshes: client.refreshes,
            };
            tokens.exchange(exchange, now_ms)
        }
        _ => Err(("unsupported_grant_type", "the grant type is not supported")),
    };
    let issued = issued.map_err(|(error, why)| OAuthError::new(error, why))?;
    let mut body = json!({
        "access_token": issued.access_token,
        "token_type": "Bearer",
        // The lifetime is rounded down: the token is valid for at least that long.
        "expires_in": tokens.lifetime.as_secs(),
        "scope": issued.scopes.to_text(),
    });
    if let (Some(token), Some(members)) = (issued.refresh_token, body.as_object_mut()) {
        members.insert("refresh_token".to_owned(), json!(token));
    }
    Ok(HttpResponse::json(StatusCode::OK, body.to_string().into_bytes()))
}

/// Returns the client, authenticated by its secret if the document requires it.
fn authenticated(
    tokens: &Tokens,
    fields: &Fields,
    is_refresh: bool,
) -> Result<Arc<Client>, OAuthError> {
    let presented = fields.optional("client_secret")?;
    let Some(client) = tokens.client(fields.required("client_id")?) else {
        return Err(invalid_client("the client is unknown"));
    };
    match (presented, &client.secret) {
        (Some(_), own) if own.as_deref() != presented => {
            Err(invalid_client("client_secret is not the client's"))
        }
        (None, Some(_)) if is_refresh => Err(invalid_client("client_secret is missing")),
        _ => Ok(client),
    }
}

fn invalid_client(why: &str) -> OAuthError {
    OAuthError { status: StatusCode::UNAUTHORIZED, ..OAuthError::new("invalid_client", why) }
}
