//! The answers of the OAuth endpoints: their records, and refusals in the form of RFC 6749.

use ::http::Response;
use bytes::Bytes;
use zeroize::Zeroizing;

use super::{
    Value,
    envelope::{is_html, object},
    json::{Members, member},
};
use crate::{
    api::{REGISTER, TOKEN},
    auth::{TokenAnswer, is_token, lifetime},
    error::{Error, ErrorKind, FailureClass, Result, printable, says_token_rejected},
};

/// The answer of the token endpoint (section 2.2). What is not as documented is refused, and never
/// shown: it may hold a token.
pub fn token_answer(answer: &Response<Bytes>) -> Result<TokenAnswer> {
    let (_, top) =
        object(TOKEN.contract(), answer).map_err(|error| refused_grant(error, answer))?;
    let type_mismatch = |what: &str| Error::protocol(format!("the token answer {what}"), b"");
    if !text(&top, "token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(type_mismatch("is not of token_type Bearer"));
    }
    let access_token = text(&top, "access_token")
        .filter(|token| is_token(token))
        .ok_or_else(|| type_mismatch("has no usable access_token"))?;
    let refresh_token = match member(&top, "refresh_token") {
        Some(raw) if raw.get() != "null" => Some(
            text(&top, "refresh_token")
                .filter(|token| is_token(token))
                .ok_or_else(|| type_mismatch("has no usable refresh_token"))?,
        ),
        _ => None,
    };
    let seconds: f64 = member(&top, "expires_in")
        .and_then(|raw| raw.get().parse().ok())
        .ok_or_else(|| type_mismatch("has no number as expires_in"))?;
    let lifetime = lifetime(seconds).ok_or_else(|| type_mismatch("has a negative expires_in"))?;
    let scopes: Option<Vec<String>> = text(&top, "scope")
        .map(|scopes| scopes.split_ascii_whitespace().map(str::to_owned).collect());
    // They are shown to people.
    if scopes.iter().flatten().any(|scope| !is_token(scope)) {
        return Err(type_mismatch("has an unusable scope"));
    }
    Ok(TokenAnswer { access_token, refresh_token, lifetime, scopes })
}

/// Client id and, for a confidential client, the secret that the service issued, from the answer to a
/// registration (section 2.1, which shows no secret). Nothing else in it is believed.
pub fn client_registered(answer: &Response<Bytes>) -> Result<(String, Option<Zeroizing<String>>)> {
    let (_, top) = object(REGISTER.contract(), answer).map_err(|error| refused(error, answer))?;
    let client_id = text(&top, "client_id")
        .filter(|id| !id.is_empty() && printable(id) == id.as_str())
        .ok_or_else(|| Error::protocol("the registration has no usable client_id", b""))?;
    let secret = match member(&top, "client_secret") {
        Some(raw) if !matches!(raw.get(), "null" | "\"\"") => Some(
            text(&top, "client_secret")
                .filter(|secret| !secret.chars().any(char::is_control))
                .ok_or_else(|| {
                    Error::protocol("the registration has no usable client_secret", b"")
                })?,
        ),
        _ => None,
    };
    Ok((client_id.to_string(), secret))
}

/// A refusal in the form of RFC 6749 is an OAuth error; what looks like a success is not shown.
fn refused(error: Error, answer: &Response<Bytes>) -> Error {
    match error.kind.as_ref() {
        ErrorKind::Api(api_failure) => match &api_failure.error_code {
            Some(code) if is_oauth_code(code) && !is_passing(answer.status().as_u16()) => {
                ErrorKind::OAuth { error: code.clone(), description: api_failure.message.clone() }
                    .into()
            }
            _ => error,
        },
        ErrorKind::Protocol { message, .. } => Error::protocol(message.clone(), b""),
        _ => error,
    }
}

/// The rejection of a grant, in whatever form it comes: an OAuth error. `invalid_grant` stands for the
/// code where the service sends none. Trouble on the service's side, and what a proxy or a login page
/// says in its place, stays what it is: it rejects nothing.
fn refused_grant(error: Error, answer: &Response<Bytes>) -> Error {
    let status = answer.status().as_u16();
    let error = refused(error, answer);
    let body = String::from_utf8_lossy(answer.body());
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
    let is_final = match error.api_failure().map(|api_failure| api_failure.class) {
        _ if matches!(status, 429 | 500..=599) => false,
        _ if is_explicit => true,
        Some(FailureClass::Service | FailureClass::RateLimited | FailureClass::ClockSkew) => {
            says_rejected && !is_passing(status)
        }
        _ if says_rejected => status == 410 || !is_passing(status),
        // Whatever else it says: the request was fine but for its token.
        _ if status == 401 => true,
        // In an envelope, with any status; the code may be a status itself.
        Some(_) if code.is_some() => {
            let code = code.and_then(|code| u16::try_from(code).ok()).unwrap_or_default();
            !(is_passing(status) || is_passing(code) || sounds_like_trouble(message))
        }
        _ => matches!(status, 400 | 403 | 422) && !sounds_like_trouble(&body),
    };
    if !is_final || is_html(&body) {
        return error;
    }
    let sent = error.api_failure().and_then(|api_failure| api_failure.error_code.as_deref());
    let description = if message.is_empty() { sent.unwrap_or_default() } else { message };
    let code = sent.filter(|code| is_oauth_code(code)).unwrap_or("invalid_grant");
    ErrorKind::OAuth { error: code.to_owned(), description: description.to_owned() }.into()
}

/// Words about the service's own trouble, in an envelope whose code nobody documents.
fn sounds_like_trouble(message: &str) -> bool {
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
    // Who is asked to log in and try again has been rejected.
    const LOGIN: [&str; 4] = ["log in", "login", "sign in", "登录"];
    let message = message.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| message.contains(word));
    has(&WORDS) && !has(&LOGIN)
}

/// Statuses that reject no grant, whatever the words beside them are: throttling and failures of the
/// service itself may be over soon, and another path is not that of the authorization server.
const fn is_passing(status: u16) -> bool {
    matches!(status, 404 | 405 | 407 | 408 | 410 | 421 | 425 | 429 | 500..=599)
}

/// A code of an OAuth error: short, of visible ASCII.
fn is_oauth_code(code: &str) -> bool {
    code.len() <= 64 && is_token(code)
}

fn text(top: &Members<'_>, name: &str) -> Option<Zeroizing<String>> {
    let value = Value::parse(member(top, name)?.get()).ok()?;
    value.as_text().map(|text| Zeroizing::new(text.to_owned()))
}
