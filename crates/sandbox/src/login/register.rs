//! Registration of clients (section 2.1).

use boardlot_service::api::REGISTER;
use bytes::Bytes;
use http::{Request, StatusCode};
use serde::Deserialize;
use serde_json::json;
use url::Url;

use super::oauth::{OAuthError, Response};
use crate::{
    credentials::{
        scopes::Scopes,
        tokens::{Client, Tokens},
    },
    wire::http_response::HttpResponse,
};

const CODE_GRANT: &str = "authorization_code";
const REFRESH_GRANT: &str = "refresh_token";
const POST: &str = "client_secret_post";

/// Metadata of a client (RFC 7591, section 2). A missing member has a default, and an unknown
/// member is ignored.
#[derive(Deserialize)]
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

pub fn register(tokens: &Tokens, request: &Request<Bytes>, now_ms: i64) -> Response {
    let sent: Metadata = serde_json::from_slice(request.body())
        .map_err(|error| invalid(&format!("the body is not a client's metadata: {error}")))?;
    sent.check()?;
    let id = format!("client-{}", tokens.secret());
    // Section 2.1.
    let mut record = json!({
        "redirect_uris": sent.redirect_uris,
        "token_endpoint_auth_method": sent.token_endpoint_auth_method,
        "grant_types": sent.grant_types,
        "response_types": sent.response_types,
        "client_name": sent.client_name,
        "client_id": id,
        "client_id_issued_at": now_ms.div_euclid(1_000),
        "registration_access_token": tokens.secret(),
        "registration_client_uri": format!("{}{}/{id}", tokens.base_url, REGISTER.path),
        "scope": Scopes::all().to_text(),
        "pkce_required": true,
    });
    let secret = (sent.token_endpoint_auth_method == POST).then(|| tokens.secret());
    if let (Some(secret), Some(members)) = (&secret, record.as_object_mut()) {
        members.insert("client_secret".to_owned(), json!(secret));
        // RFC 7591, section 3.2.1: 0 for a secret that does not expire.
        members.insert("client_secret_expires_at".to_owned(), json!(0));
    }
    let refreshes = sent.grant_types.iter().any(|grant| grant == REFRESH_GRANT);
    let Metadata { client_name: name, redirect_uris, .. } = sent;
    tokens.register(Client { id, name, redirect_uris, refreshes, secret });
    Ok(HttpResponse::json(StatusCode::CREATED, record.to_string().into_bytes()))
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
                    "'{wrong}' is not a valid redirect URI; expected an absolute URI without a fragment"
                ),
            )),
        }
    }
}

/// Returns true for an absolute URI without a fragment (RFC 6749, section 3.1.2), of any scheme and
/// host, because the document has no other rule. It has only the characters of RFC 3986, because it
/// is used in headers.
fn is_redirect_uri(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_graphic() && !b"\"<>\\^`{|}".contains(&byte);
    text.bytes().all(is_plain) && Url::parse(text).is_ok_and(|url| url.fragment().is_none())
}

fn invalid(description: &str) -> OAuthError {
    OAuthError::new("invalid_client_metadata", description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_uris_are_absolute() {
        for good in [
            "https://app.example/callback",
            "https://app.example:8443/cb?x=1&y=%20",
            "https://192.0.2.7/cb",
            "http://127.0.0.1:8765/callback",
            "http://127.0.0.1",
            "http://[::1]:9/cb",
            "http://localhost:8765/cb",
            "http://app.example/cb",
            "http://0.0.0.0/cb",
            "https://user:pass@app.example/cb",
            "boardlot:callback",
            "com.example.app:/oauth2redirect",
            "myapp://callback",
            "urn:ietf:wg:oauth:2.0:oob",
        ] {
            assert!(is_redirect_uri(good), "{good}");
        }
        for wrong in [
            "",
            "callback",
            "//127.0.0.1/cb",
            "http://127.0.0.1:8765/cb#x",
            "http://127.0.0.1:8765/cb#",
            "https://app.example\\@evil.example/",
            "https://app.example/\"><script>",
            "https://app.example/a b",
            "https://app.example/\r\nX: y",
            "https://bücher.example/",
        ] {
            assert!(!is_redirect_uri(wrong), "{wrong}");
        }
    }
}
