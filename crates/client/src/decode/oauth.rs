//! The responses of the OAuth endpoints, and their errors in the form of RFC 6749.

use ::http::Response;
use bytes::Bytes;
use serde::Deserialize;
use url::Url;
use zeroize::Zeroizing;

use super::{
    envelope::{is_html, parse, success_members},
    json::{Members, Value, find_member},
};
use crate::{
    api::{REGISTER, TOKEN},
    auth::{RegisteredClient, TokenResponse, is_token, lifetime},
    error::{
        Error, ErrorKind, FailureClass, Result, is_temporary_status, printable, says_token_rejected,
    },
};

/// Returns the tokens in a response of the token endpoint (section 2.2). The code or refresh token
/// of the request may be used up, so as much of the response is used as possible: only the access
/// token is required, and only a type other than Bearer is rejected. A rejected response is not
/// shown, because it may contain a token.
pub fn parse_token_response(response: &Response<Bytes>) -> Result<TokenResponse> {
    let top = success_members(TOKEN.contract(), response)
        .map_err(|error| rejected_grant(error, response))?;
    let invalid = |what: &str| Error::protocol(format!("the token response has {what}"), b"");
    if find_member(&top, "token_type").is_some_and(|raw| raw.get() != "null")
        && !text(&top, "token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer"))
    {
        return Err(invalid("a token_type other than Bearer"));
    }
    let access_token = text(&top, "access_token")
        .filter(|token| is_token(token))
        .ok_or_else(|| invalid("no valid access_token"))?;
    let refresh_token = text(&top, "refresh_token")
        .filter(|token| !token.is_empty() && !token.chars().any(char::is_control));
    let lifetime = find_member(&top, "expires_in")
        .and_then(|raw| raw.get().trim_matches(['"', ' ']).parse().ok())
        .and_then(lifetime);
    let scopes = find_member(&top, "scope").and_then(|raw| scopes(raw.get()));
    Ok(TokenResponse { access_token, refresh_token, lifetime, scopes })
}

/// Returns the granted scopes, from one text or from a list, in a form that can be displayed.
fn scopes(json: &str) -> Option<Vec<String>> {
    #[derive(Deserialize)]
    #[serde(untagged)]
    enum Scopes {
        Text(String),
        List(Vec<serde_json::Value>),
    }
    let texts = match serde_json::from_str(json).ok()? {
        Scopes::Text(text) => vec![text],
        Scopes::List(list) => {
            list.iter().filter_map(|one| one.as_str()).map(String::from).collect()
        }
    };
    let scopes = texts.iter().flat_map(|text| text.split_whitespace());
    Some(scopes.map(|scope| printable(scope).into_owned()).collect())
}

/// Returns the client in the response to a registration, with the secret that the service issued
/// (section 2.1 shows none). The service may replace requested values (RFC 7591, section 3.2.1), so
/// a secret belongs to the client unless the response says that the client authenticates with none.
pub fn parse_registration(response: &Response<Bytes>) -> Result<RegisteredClient> {
    let top = success_members(REGISTER.contract(), response)
        .map_err(|error| oauth_error(error, response))?;
    let invalid = |what: &str| Error::protocol(format!("the registration has {what}"), b"");
    let client_id = text(&top, "client_id")
        .filter(|id| !id.is_empty() && printable(id) == id.as_str())
        .ok_or_else(|| invalid("no valid client_id"))?;
    // The other members are for the caller to see. Members that are not as documented are not
    // shown.
    let shown =
        |name| Some(text(&top, name)?.to_string()).filter(|it| printable(it) == it.as_str());
    let secret = |name| text(&top, name).filter(|it| !it.chars().any(char::is_control));
    let list = |name| {
        let list = serde_json::from_str::<Vec<String>>(find_member(&top, name)?.get()).ok()?;
        list.iter().all(|it| printable(it) == it.as_str()).then_some(list)
    };
    let token_endpoint_auth_method = shown("token_endpoint_auth_method");
    let is_public = token_endpoint_auth_method.as_deref() == Some("none");
    let client_secret = match find_member(&top, "client_secret") {
        Some(raw) if !is_public && !matches!(raw.get(), "null" | "\"\"") => {
            Some(secret("client_secret").ok_or_else(|| invalid("no valid client_secret"))?)
        }
        _ => None,
    };
    let is_uri = |uri: &String| is_token(uri) && Url::parse(uri).is_ok();
    Ok(RegisteredClient {
        client_id: client_id.to_string(),
        client_secret,
        client_id_issued_at: find_member(&top, "client_id_issued_at")
            .and_then(|raw| raw.get().parse().ok())
            .filter(|seconds| (0..=LAST_SECOND).contains(seconds)),
        client_name: shown("client_name"),
        redirect_uris: list("redirect_uris").filter(|uris| uris.iter().all(is_uri)),
        grant_types: list("grant_types"),
        token_endpoint_auth_method,
        response_types: list("response_types"),
        registration_access_token: secret("registration_access_token"),
        registration_client_uri: shown("registration_client_uri"),
        scope: shown("scope"),
        pkce_required: find_member(&top, "pkce_required").and_then(|raw| raw.get().parse().ok()),
    })
}

/// The end of the year 9999, in seconds since 1970.
const LAST_SECOND: i64 = 253_402_300_799;

/// Converts a failure in the form of RFC 6749 to an OAuth error, and hides a body that may contain
/// a token.
fn oauth_error(error: Error, response: &Response<Bytes>) -> Error {
    match error.kind.as_ref() {
        ErrorKind::Api(api_failure) => match &api_failure.error_code {
            Some(code) if is_oauth_code(code) && !rejects_no_grant(response.status().as_u16()) => {
                ErrorKind::OAuth { error: code.clone(), description: api_failure.message.clone() }
                    .into()
            }
            _ => error,
        },
        ErrorKind::Protocol { message, .. } => Error::protocol(message.clone(), b""),
        _ => error,
    }
}

/// Returns the code of an error response as defined by RFC 6749, section 5.2: a JSON object with a
/// string `error`. Proxies and firewalls send no such response.
fn rfc_6749_code(response: &Response<Bytes>) -> Option<String> {
    // The status does not matter: GitHub refuses with 200. Throttling and failures of the service
    // are not refusals.
    let status = response.status().as_u16();
    if status >= 500 || status == 407 || is_temporary_status(status) {
        return None;
    }
    let top = parse(response).ok()?;
    text(&top, "error").filter(|code| is_oauth_code(code)).map(|code| code.to_string())
}

/// Converts the rejection of a grant. In the form of RFC 6749 it becomes an OAuth error. Another
/// response that reads like a rejection becomes an error that another attempt may overcome, with
/// the code `invalid_grant` if the response has none. Failures of the service itself, of a proxy or
/// of a login page reject no grant and stay unchanged.
fn rejected_grant(error: Error, response: &Response<Bytes>) -> Error {
    let status = response.status().as_u16();
    if let Some(code) = rfc_6749_code(response) {
        let description = error.api_failure().map(|failure| failure.message.clone());
        let description = description.unwrap_or_default();
        return ErrorKind::OAuth { error: code, description }.into();
    }
    let error = match error.kind.as_ref() {
        ErrorKind::Protocol { message, .. } => Error::protocol(message.clone(), b""),
        _ => error,
    };
    let body = String::from_utf8_lossy(response.body());
    let (code, message) = match error.kind.as_ref() {
        ErrorKind::Api(api_failure) => (api_failure.code, api_failure.message.as_str()),
        ErrorKind::Protocol { .. } => (None, ""),
        _ => return error,
    };
    let sent_code = error.api_failure().and_then(|api_failure| api_failure.error_code.as_deref());
    // RFC 6749, section 5.2.
    let is_explicit =
        matches!(sent_code, Some("invalid_grant" | "invalid_client" | "unauthorized_client"));
    let says_rejected =
        is_explicit || [message, body.as_ref()].into_iter().any(says_token_rejected);
    let is_rejection = match error.api_failure().map(|api_failure| api_failure.class) {
        _ if is_temporary_status(status) => false,
        _ if is_explicit => true,
        Some(FailureClass::Service | FailureClass::RateLimited | FailureClass::ClockSkew) => {
            says_rejected && !rejects_no_grant(status)
        }
        _ if says_rejected => status == 410 || !rejects_no_grant(status),
        // Only the token of the request can be wrong.
        _ if status == 401 => true,
        // A failure in an envelope, with any status; the code may be a status itself.
        Some(_) if code.is_some() => {
            let code = code.and_then(|code| u16::try_from(code).ok()).unwrap_or_default();
            !(rejects_no_grant(status)
                || rejects_no_grant(code)
                || mentions_service_failure(message))
        }
        _ => matches!(status, 400 | 403 | 422) && !mentions_service_failure(&body),
    };
    if !is_rejection || is_html(&body) {
        return error;
    }
    let sent = error.api_failure().and_then(|api_failure| api_failure.error_code.as_deref());
    let description = if message.is_empty() { sent.unwrap_or_default() } else { message };
    let code = sent.filter(|code| is_oauth_code(code)).unwrap_or("invalid_grant");
    let description = description.to_owned();
    ErrorKind::GrantRejected { error: code.to_owned(), description }.into()
}

/// Returns true if a message is about a failure of the service itself, whose code may be
/// undocumented.
fn mentions_service_failure(message: &str) -> bool {
    const WORDS: [&str; 14] = [
        "internal",
        "timeout",
        "timed out",
        "unavailable",
        "busy",
        "try again",
        "retry",
        "later",
        "maintenance",
        "overload",
        "frequen",
        "too many",
        "频繁",
        "稍后",
    ];
    // A message to log in and try again is a rejection.
    const LOGIN: [&str; 4] = ["log in", "login", "sign in", "登录"];
    let message = message.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    has(&WORDS) && !has(&LOGIN)
}

/// Returns true for statuses that reject no grant, whatever the message. Throttling and failures of
/// the service itself are temporary, and an unknown path does not belong to the authorization
/// server.
const fn rejects_no_grant(status: u16) -> bool {
    matches!(status, 404 | 405 | 407 | 408 | 410 | 421 | 425 | 429 | 500..=599)
}

/// Returns true if this can be the code of an OAuth error: short and visible ASCII.
fn is_oauth_code(code: &str) -> bool {
    code.len() <= 64 && is_token(code)
}

fn text(top: &Members<'_>, name: &str) -> Option<Zeroizing<String>> {
    let value = Value::parse(find_member(top, name)?.get()).ok()?;
    value.as_text().map(|text| Zeroizing::new(text.to_owned()))
}
