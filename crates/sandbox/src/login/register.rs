//! Registration of clients (section 2.1).

use std::sync::Arc;

use boardlot_service::api::REGISTER;
use http::StatusCode;
use serde::{Deserialize, Serialize};
use url::Url;

use super::oauth::{Client, OAuth, OAuthError, OAuthRequest, Response};
use crate::{
    credentials::{scopes::Scopes, tokens::Tokens},
    lock,
    wire::{envelope::to_json, http_response::HttpResponse},
};

const CODE_GRANT: &str = "authorization_code";
const REFRESH_GRANT: &str = "refresh_token";
const POST: &str = "client_secret_post";

/// The metadata of a client (RFC 7591, section 2): a member that is not sent has a default, and one that is
/// unknown is ignored.
#[derive(Deserialize, Serialize)]
#[serde(default)]
struct Metadata {
    redirect_uris: Vec<String>,
    token_endpoint_auth_method: String,
    grant_types: Vec<String>,
    response_types: Vec<String>,
    client_name: String,
}

impl Default for Metadata {
    fn default() -> Self {
        Metadata {
            redirect_uris: Vec::new(),
            // The service has no `client_secret_basic`, which is the default of the RFC.
            token_endpoint_auth_method: POST.to_owned(),
            grant_types: vec![CODE_GRANT.to_owned()],
            response_types: vec!["code".to_owned()],
            client_name: "An application without a name".to_owned(),
        }
    }
}

/// The response (section 2.1).
#[derive(Serialize)]
struct Registered<'a> {
    #[serde(flatten)]
    metadata: &'a Metadata,
    client_id: &'a str,
    client_id_issued_at: i64,
    registration_access_token: String,
    registration_client_uri: String,
    scope: String,
    pkce_required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret_expires_at: Option<u64>,
}

pub fn register(oauth: &OAuth, tokens: &Tokens, request: &OAuthRequest<'_>) -> Response {
    let metadata: Metadata = serde_json::from_slice(request.body)
        .map_err(|error| invalid(&format!("the body is not a client's metadata: {error}")))?;
    metadata.check()?;
    let secret = (metadata.token_endpoint_auth_method == POST).then(|| tokens.secret());
    let id = format!("client-{}", tokens.secret());
    let record = to_json(&Registered {
        metadata: &metadata,
        client_id: &id,
        client_id_issued_at: request.now_ms.div_euclid(1_000),
        registration_access_token: tokens.secret(),
        registration_client_uri: format!("{}{}/{id}", oauth.base_url, REGISTER.path),
        scope: Scopes::all().to_text(),
        pkce_required: true,
        client_secret: secret.as_deref(),
        // RFC 7591, section 3.2.1: 0 for one that does not expire.
        client_secret_expires_at: secret.as_ref().map(|_| 0),
    });
    let refreshes = metadata.grant_types.iter().any(|grant| grant == REFRESH_GRANT);
    let Metadata { client_name: name, redirect_uris, .. } = metadata;
    let client = Client { id: id.clone(), name, redirect_uris, refreshes, secret };
    lock(&oauth.clients).insert(id, Arc::new(client));
    Ok(HttpResponse::json(StatusCode::CREATED, record))
}

impl Metadata {
    fn check(&self) -> Result<(), OAuthError> {
        if !["none", POST].contains(&&*self.token_endpoint_auth_method) {
            let expected = format!("expected none or {POST}");
            return Err(invalid(&format!("token_endpoint_auth_method is not valid; {expected}")));
        }
        let is_grant = |grant: &String| grant == CODE_GRANT || grant == REFRESH_GRANT;
        let grants = &self.grant_types;
        if !grants.iter().all(is_grant) || !grants.iter().any(|grant| grant == CODE_GRANT) {
            return Err(invalid(&format!(
                "grant_types is not valid; expected {CODE_GRANT}, with or without {REFRESH_GRANT}"
            )));
        }
        if self.response_types != ["code"] {
            return Err(invalid("response_types is not valid; expected only code"));
        }
        if self.redirect_uris.is_empty() {
            return Err(invalid("redirect_uris is missing or empty"));
        }
        match self.redirect_uris.iter().find(|uri| !is_redirect_uri(uri)) {
            None => Ok(()),
            Some(wrong) => Err(OAuthError::new(
                "invalid_redirect_uri",
                format!(
                    "'{wrong}' is not a valid redirect URI; expected https, or http to 127.0.0.1 \
                     or [::1]"
                ),
            )),
        }
    }
}

/// https, or http to a loopback address; without user and fragment, and only with the characters of
/// RFC 3986, since it is used in headers.
fn is_redirect_uri(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    text.bytes().all(is_plain)
        && Url::parse(text).is_ok_and(|url| {
            let is_loopback = matches!(url.host_str(), Some("127.0.0.1" | "[::1]"));
            let has_user = !url.username().is_empty() || url.password().is_some();
            let is_secure = url.scheme() == "https" || url.scheme() == "http" && is_loopback;
            is_secure && !has_user && url.fragment().is_none()
        })
}

fn invalid(description: &str) -> OAuthError {
    OAuthError::new("invalid_client_metadata", description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_uris_are_https_or_loopback() {
        for good in [
            "https://app.example/callback",
            "https://app.example:8443/cb?x=1&y=%20",
            "https://192.0.2.7/cb",
            "http://127.0.0.1:8765/callback",
            "http://127.0.0.1",
            "http://[::1]:9/cb",
        ] {
            assert!(is_redirect_uri(good), "{good}");
        }
        for wrong in [
            "",
            "callback",
            "//127.0.0.1/cb",
            "http://app.example/cb",
            "http://localhost:8765/cb",
            "http://127.0.0.1.example/cb",
            "http://0.0.0.0/cb",
            "http://[::ffff:127.0.0.1]/cb",
            "http://127.0.0.1:8765/cb#x",
            "http://127.0.0.1:8765/cb#",
            "http://user@127.0.0.1/cb",
            "http://127.0.0.1@evil.example/cb",
            "https://user:pass@app.example/cb",
            "https://app.example\\@evil.example/",
            "https://app.example/\"><script>",
            "https://app.example/a b",
            "https://app.example/\r\nX: y",
            "https://bücher.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "boardlot:callback",
        ] {
            assert!(!is_redirect_uri(wrong), "{wrong}");
        }
    }
}
