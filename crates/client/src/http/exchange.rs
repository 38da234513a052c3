//! The response of an exchange, and the secrets that its texts may repeat. No part of it can be
//! shown before it is redacted: an error is an [`Unredacted`], and a response can only be parsed.

use ::http::HeaderValue;
use percent_encoding::percent_decode_str;
use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

use super::{
    HttpResponse, Request,
    recorded_secrets::may_be_a_word,
    redact::{Side, is_public_header, is_secret, secret_members},
};
use crate::{
    auth::AUTHORIZATION,
    error::{Redactor, Result, Unredacted},
};

/// A response of which nothing may be shown yet.
pub struct Received(pub(super) HttpResponse);

/// The headers that authorize an attempt. They are wiped from memory when the last copy is dropped.
pub type SentHeaders = Vec<(&'static str, HeaderValue)>;

/// A shorter value is hardly a secret, and may be part of any text.
const SHORTEST_SECRET: usize = 8;
/// A shorter value does not look random.
const SHORTEST_RANDOM: usize = 16;

impl Received {
    pub fn new(response: HttpResponse) -> Self {
        Received(response)
    }

    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// Parses the response. The error may repeat secrets.
    pub fn parse<T>(&self, parse: impl Fn(&HttpResponse) -> Result<T>) -> Result<T, Unredacted> {
        parse(&self.0).map_err(Unredacted::from)
    }
}

boardlot_service::shown_as!(
    Received,
    |this| "Received({}, {} bytes)",
    this.status(),
    this.0.body().len()
);

/// Redacts the secrets that an exchange may reveal: the ones that its authorization used, the ones
/// that were sent in headers, a form or a query or to a proxy, and the tokens in its response. Made
/// only for an error or a recording.
pub fn redactor(
    used: Vec<&str>,
    request: &Request,
    proxy: Option<&str>,
    sent: &SentHeaders,
    received: Option<&Received>,
) -> Redactor {
    let headers: Vec<&str> = secrets_of_headers(request, sent).collect();
    let query = request.url.query().unwrap_or_default().as_bytes();
    let form = if request.has_secrets { request.body.as_ref() } else { b"" };
    let mut found: Vec<Zeroizing<String>> = Vec::new();
    for (name, value) in form_urlencoded::parse(query).chain(form_urlencoded::parse(form)) {
        if is_secret(&name, Side::Request) || (request.has_secrets && name == "code") {
            found.push(Zeroizing::new(value.into_owned()));
        }
    }
    found.extend(proxy.into_iter().flat_map(proxy_secrets));
    if request.has_secrets
        && let Some(Received(response)) = received
    {
        found.extend(secret_members(&String::from_utf8_lossy(response.body()), Side::Response));
    }
    let found = found.iter().map(|secret| secret.as_str());
    Redactor::new(used.into_iter().chain(headers).chain(found))
}

/// Masks, in a recording, the values that the client holds: the ones that its authorization used,
/// and the ones in its headers and its proxy, except values that may be a word or a number.
pub fn redactor_of_held(
    used: Vec<&str>,
    request: &Request,
    proxy: Option<&str>,
    sent: &SentHeaders,
) -> Redactor {
    let proxy: Vec<Zeroizing<String>> = proxy.into_iter().flat_map(proxy_secrets).collect();
    let of_proxy = proxy.iter().map(|secret| secret.as_str());
    let headers: Vec<&str> = secrets_of_headers(request, sent).collect();
    let held = used.into_iter().chain(headers).chain(of_proxy);
    Redactor::new(held.filter(|value| !may_be_a_word(value)))
}

/// Returns the signature, and the values of the caller's headers that may be secrets.
fn secrets_of_headers<'a>(
    request: &'a Request,
    sent: &'a SentHeaders,
) -> impl Iterator<Item = &'a str> {
    let signature = sent.iter().filter(|(name, _)| *name == AUTHORIZATION);
    let own = request.headers.iter().filter(|(name, value)| {
        let text = value.to_str().unwrap_or_default();
        !is_public_header(name.as_str()) && may_be_secret(name.as_str(), text)
    });
    let headers = signature.map(|(_, value)| value).chain(own.map(|(_, value)| value));
    let headers = headers.filter_map(|value| value.to_str().ok());
    // The scheme is not a secret, and a service may repeat the rest alone.
    headers.map(|value| value.split_once(' ').map_or(value, |(_, secret)| secret))
}

/// Returns true if the value of a caller's header is redacted: if its name says so, or if it looks
/// random. Ordinary words, such as `production`, stay in errors.
fn may_be_secret(name: &str, value: &str) -> bool {
    let is_random = value.len() >= SHORTEST_RANDOM
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
        && value.bytes().any(|byte| byte.is_ascii_digit());
    is_random || (value.len() >= SHORTEST_SECRET && is_secret(name, Side::Request))
}

/// Returns the password in the URL of a proxy, and the name of the user, which may be a token.
fn proxy_secrets(proxy: &str) -> Vec<Zeroizing<String>> {
    let Ok(url) = Url::parse(proxy) else { return Vec::new() };
    let user = Some(decoded(url.username())).filter(|user| user.len() >= SHORTEST_SECRET);
    url.password().map(decoded).into_iter().chain(user).collect()
}

/// Returns a part of a URL without its percent-encoding.
fn decoded(part: &str) -> Zeroizing<String> {
    Zeroizing::new(percent_decode_str(part).decode_utf8_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use ::http::{HeaderMap, HeaderName, Method};
    use bytes::Bytes;

    use super::*;

    /// Shows a text that repeats a value which was sent in a header or to a proxy.
    fn shown(headers: &[(&'static str, &'static str)], proxy: Option<&str>, text: &str) -> String {
        let headers = headers
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)));
        let request = Request {
            label: "x".to_owned(),
            route: None,
            method: Method::GET,
            url: Url::parse("https://api.example.com/").expect("a URL"),
            headers: headers.collect::<HeaderMap>(),
            body: Bytes::new(),
            idempotent: true,
            unrecorded: false,
            has_secrets: false,
        };
        let redactor = redactor(Vec::new(), &request, proxy, &Vec::new(), None);
        redactor.show(text).to_string()
    }

    #[test]
    fn a_header_is_redacted_if_its_name_suggests_a_secret_or_its_value_looks_random() {
        for (name, value, hidden) in [
            ("x-env", "production", false),
            ("x-team", "market-data-and-research", false),
            ("x-build", "release-2026", false),
            ("x-count", "1234567890123456", false),
            ("x-custom", "a8F7c2d9e1b4f6a3", true),
            ("x-custom", "Bearer a8F7c2d9e1b4f6a3", true),
            ("x-api-key", "production", true),
            ("x-access-token", "production", true),
            ("cookie", "production", true),
            ("x-api-key", "prod", false),
            ("accept-language", "a8F7c2d9e1b4f6a3", false),
        ] {
            let secret = value.rsplit(' ').next().unwrap_or_default();
            let text = format!("no such {secret} here");
            let redacted = shown(&[(name, value)], None, &text);
            let expected = if hidden { "no such *** here".to_owned() } else { text };
            assert_eq!(redacted, expected, "{name}: {value}");
        }
    }

    #[test]
    fn the_user_name_of_a_proxy_is_redacted_like_its_password_unless_it_is_short() {
        for (proxy, text, expected) in [
            ("http://token-of-mine@proxy:3128", "token-of-mine is unknown", "*** is unknown"),
            ("http://t%2Bken%40mine@proxy:3128", "t+ken@mine is unknown", "*** is unknown"),
            ("http://token-of-mine:pw@proxy", "token-of-mine, pw", "***, ***"),
            ("http://user:hunter2@proxy", "user, hunter2", "user, ***"),
            ("http://user@proxy", "user at proxy", "user at proxy"),
            ("http://proxy", "proxy", "proxy"),
        ] {
            assert_eq!(shown(&[], Some(proxy), text), expected, "{proxy}");
        }
    }
}
