//! The answers of the OAuth endpoints: their records, and refusals in the form of RFC 6749.

use ::http::Response;
use bytes::Bytes;
use zeroize::Zeroizing;

use super::{
    Value,
    envelope::object,
    json::{Members, member},
};
use crate::{
    api::{REGISTER, TOKEN},
    auth::{TokenAnswer, is_token, lifetime},
    error::{Error, ErrorKind, Result},
};

/// RFC 6749 sets no limit; a terminal does.
const DESCRIPTION_MAX_CHARACTERS: usize = 400;

/// The answer of the token endpoint (section 2.2). What is not as documented is refused, and never
/// shown: it may hold a token.
pub fn token_answer(answer: &Response<Bytes>) -> Result<TokenAnswer> {
    let (_, top) = object(TOKEN.envelope, answer).map_err(|error| refused(error, answer))?;
    let unfit = |what: &str| Error::protocol(format!("the token answer {what}"), b"");
    if !text(&top, "token_type").is_some_and(|kind| kind.eq_ignore_ascii_case("bearer")) {
        return Err(unfit("is not of token_type Bearer"));
    }
    let access_token = text(&top, "access_token")
        .filter(|token| is_token(token))
        .ok_or_else(|| unfit("has no usable access_token"))?;
    let refresh_token = match member(&top, "refresh_token") {
        Some(raw) if raw.get() != "null" => Some(
            text(&top, "refresh_token")
                .filter(|token| is_token(token))
                .ok_or_else(|| unfit("has no usable refresh_token"))?,
        ),
        _ => None,
    };
    let seconds: f64 = member(&top, "expires_in")
        .and_then(|raw| raw.get().parse().ok())
        .ok_or_else(|| unfit("has no number as expires_in"))?;
    let lifetime = lifetime(seconds).ok_or_else(|| unfit("has a negative expires_in"))?;
    let scopes = text(&top, "scope")
        .map(|scopes| scopes.split_ascii_whitespace().map(str::to_owned).collect());
    Ok(TokenAnswer { access_token, refresh_token, lifetime, scopes })
}

/// Client id and, for a confidential client, its secret, from the answer to a registration
/// (section 2.1). Nothing else in it is believed.
pub fn client_registered(answer: &Response<Bytes>) -> Result<(String, Option<Zeroizing<String>>)> {
    let (_, top) = object(REGISTER.envelope, answer).map_err(|error| refused(error, answer))?;
    let client_id = text(&top, "client_id")
        .filter(|id| !id.is_empty() && !id.chars().any(char::is_control))
        .ok_or_else(|| Error::protocol("the registration has no usable client_id", b""))?;
    Ok((client_id.to_string(), text(&top, "client_secret").filter(|secret| is_token(secret))))
}

/// A refusal in the form of RFC 6749 is an OAuth error; what looks like a success is not shown.
fn refused(error: Error, answer: &Response<Bytes>) -> Error {
    match error.kind.as_ref() {
        ErrorKind::Api(refusal) => match &refusal.error_code {
            Some(code) if is_oauth_code(code) && !is_passing(answer.status().as_u16()) => {
                ErrorKind::OAuth { error: code.clone(), description: shown(&refusal.message) }
                    .into()
            }
            _ => error,
        },
        ErrorKind::Protocol { message, .. } => Error::protocol(message.clone(), b""),
        _ => error,
    }
}

/// Throttling and failures of the service itself may be over soon, whatever their words are.
const fn is_passing(status: u16) -> bool {
    status == 429 || status >= 500
}

/// A code of an OAuth error: short, of visible ASCII.
fn is_oauth_code(code: &str) -> bool {
    code.len() <= 64 && is_token(code)
}

/// The words of another, without what could disturb a terminal.
pub fn shown(words: &str) -> String {
    words.chars().filter(|c| !c.is_control()).take(DESCRIPTION_MAX_CHARACTERS).collect()
}

fn text(top: &Members<'_>, name: &str) -> Option<Zeroizing<String>> {
    let value = Value::parse(member(top, name)?.get()).ok()?;
    value.as_text().map(|text| Zeroizing::new(text.to_owned()))
}
