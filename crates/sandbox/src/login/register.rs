//! Registration of clients (section 2.1).

use axum::http::StatusCode;
use serde::Serialize;
use serde_json::{Map, Value};
use url::{Host, Url};

use super::{
    clients::Client,
    error::OAuthError,
    service::{OAuth, OAuthRequest},
};
use crate::{
    api::{Argument, Parameter, ParameterKind, REGISTER},
    sandbox::{
        credentials::{
            hashed_store::{hash, secret},
            scopes,
            tokens::Tokens,
            verify::random_id,
        },
        wire::{envelope::json, http_response::HttpResponse},
    },
};

const LIST_MAX: usize = 20;
const CONFIDENTIAL: &str = "client_secret_post";
const CODE_GRANT: &str = "authorization_code";
const REFRESH_GRANT: &str = "refresh_token";
const CODE_RESPONSE: &str = "code";

#[derive(Serialize)]
struct Registered<'a> {
    client_id: &'a str,
    client_id_issued_at: i64,
    client_name: &'a str,
    redirect_uris: &'a [String],
    grant_types: &'a [String],
    token_endpoint_auth_method: &'a str,
    response_types: &'a [String],
    registration_access_token: String,
    registration_client_uri: String,
    scope: String,
    pkce_required: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    client_secret: Option<String>,
}

pub fn register(
    oauth: &OAuth,
    _: &Tokens,
    request: &OAuthRequest<'_>,
) -> Result<HttpResponse, OAuthError> {
    let body: Map<String, Value> = serde_json::from_slice(request.body)
        .map_err(|error| invalid(format!("the body is not a JSON object: {error}")))?;
    for parameter in REGISTER.parameters.iter() {
        check(parameter, body.get(parameter.name.as_ref())).map_err(invalid)?;
    }
    let list = |name: &str| -> Vec<String> {
        let items = body.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();

    let redirect_uris = list("redirect_uris");
    if let Some(wrong) = redirect_uris.iter().find(|uri| !is_redirect_uri(uri)) {
        return Err(OAuthError::new(
            "invalid_redirect_uri",
            format!(
                "'{wrong}' is not a valid redirect URI; expected https, or http to 127.0.0.1 or [::1]"
            ),
        ));
    }
    let grant_types = list("grant_types");
    let known = |grant: &String| [CODE_GRANT, REFRESH_GRANT].contains(&grant.as_str());
    if !grant_types.iter().all(known) || !grant_types.iter().any(|grant| grant == CODE_GRANT) {
        return Err(invalid(format!(
            "grant_types is not valid; expected {CODE_GRANT}, with or without {REFRESH_GRANT}"
        )));
    }
    let response_types = list("response_types");
    if response_types.iter().any(|response| response != CODE_RESPONSE) {
        return Err(invalid(format!("response_types is not valid; expected only {CODE_RESPONSE}")));
    }

    let auth_method = text("token_endpoint_auth_method");
    let client_secret = if auth_method == CONFIDENTIAL { Some(secret()?) } else { None };
    let id = random_id("client-")?;
    let client_name = text("client_name");
    let registered = Registered {
        client_id: &id,
        client_id_issued_at: request.now_ms.div_euclid(1_000),
        client_name,
        redirect_uris: &redirect_uris,
        grant_types: &grant_types,
        token_endpoint_auth_method: auth_method,
        response_types: &response_types,
        registration_access_token: secret()?,
        registration_client_uri: format!("{}{}/{id}", oauth.base_url, REGISTER.path),
        scope: scopes::offered(),
        pkce_required: true,
        client_secret: client_secret.clone(),
    };
    let response = json(&registered);
    oauth.clients.add(Client {
        name: client_name.to_owned(),
        refreshes: grant_types.iter().any(|grant| grant == REFRESH_GRANT),
        secret: client_secret.as_deref().map(hash),
        redirect_uris,
        id,
    })?;
    Ok(HttpResponse::json(StatusCode::CREATED, response))
}

/// Checks a member of the body by its row.
fn check(parameter: &Parameter, value: Option<&Value>) -> Result<(), String> {
    let name = &parameter.name;
    let fits = |value: &Value| match value.as_str() {
        Some(text) => parameter.check(&Argument::Text(text.to_owned()), |_| None).is_ok(),
        None => false,
    };
    match (parameter.kind, value) {
        (_, None) => Err(format!("{name} is missing")),
        (ParameterKind::TextList, Some(Value::Array(items)))
            if (1..=LIST_MAX).contains(&items.len()) && items.iter().all(fits) =>
        {
            Ok(())
        }
        (ParameterKind::TextList, _) => {
            Err(format!("{name} is not valid; expected a list of 1 to {LIST_MAX} strings"))
        }
        (_, Some(value)) if fits(value) => Ok(()),
        (_, Some(_)) => Err(format!("{name} is malformed: {}", parameter.doc)),
    }
}

/// https, or http to a loopback address written as a number; without user and fragment, and only
/// with the characters of RFC 3986, since it is used in headers and in a policy.
fn is_redirect_uri(text: &str) -> bool {
    let plain =
        |byte: u8| byte.is_ascii_alphanumeric() || b"-._~:/?[]@!$&'()*+,;=%".contains(&byte);
    let Ok(url) = Url::parse(text) else { return false };
    if !text.bytes().all(plain) || !url.username().is_empty() || url.password().is_some() {
        return false;
    }
    // The parser also reads 127.1 and 2130706433 as loopback addresses.
    let Some(host) = url.host_str() else { return false };
    let as_written = format!("{}://{host}", url.scheme());
    let Some(rest) = text.strip_prefix(&as_written) else { return false };
    if !(rest.is_empty() || rest.starts_with([':', '/', '?'])) {
        return false;
    }
    match (url.scheme(), url.host()) {
        ("https", Some(Host::Domain(name))) => {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-.".contains(&byte))
        }
        ("https", Some(_)) => true,
        ("http", Some(Host::Ipv4(address))) => address.is_loopback(),
        ("http", Some(Host::Ipv6(address))) => address.is_loopback(),
        _ => false,
    }
}

fn invalid(description: impl Into<String>) -> OAuthError {
    OAuthError::new("invalid_client_metadata", description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_uris_are_https_or_a_loopback_literal() {
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
            "http://127.1:8765/cb",
            "http://2130706433/cb",
            "http://0x7f000001/cb",
            "http://127.0.0.1.example/cb",
            "http://0.0.0.0/cb",
            "http://[::ffff:127.0.0.1]/cb",
            "http://127.0.0.1:8765/cb#x",
            "http://127.0.0.1:8765/cb#",
            "http://user@127.0.0.1/cb",
            "http://127.0.0.1@evil.example/cb",
            "https://user:pass@app.example/cb",
            "https://a;sandbox/cb",
            "https://a,b/cb",
            "https://app.example\\@evil.example/",
            "https://app.example/\"><script>",
            "https://app.example/a b",
            "https://app.example/\r\nX: y",
            "https://bücher.example/",
            "HTTPS://app.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "boardlot:callback",
        ] {
            assert!(!is_redirect_uri(wrong), "{wrong}");
        }
    }
}
