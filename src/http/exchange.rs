//! What an exchange receives, and the secrets that its texts may repeat. Nothing of it can be shown before
//! it is redacted: an error is an [`Unredacted`], and a response is only parsed.

use std::borrow::Cow;

use ::http::{HeaderValue, header};
use url::{Url, form_urlencoded};
use zeroize::Zeroizing;

use super::{
    HttpResponse, Request,
    redact::{Side, is_public_header, is_secret, secret_members},
};
use crate::{
    auth::AUTHORIZATION,
    error::{Redactor, Result, Unredacted},
};

/// A response of which nothing may be shown yet.
pub struct Received(HttpResponse);

/// The headers that authorize an attempt. They are wiped from memory when the last copy is dropped.
pub type SentHeaders = Vec<(&'static str, HeaderValue)>;

/// A header of the caller's own that is shorter is hardly a secret, and may be part of any text.
const SHORTEST_OWN: usize = 8;

impl Received {
    pub fn new(response: HttpResponse) -> Self {
        Received(response)
    }

    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// What is parsed from it; what is wrong with it may repeat secrets.
    pub fn parse<T>(&self, parse: impl Fn(&HttpResponse) -> Result<T>) -> Result<T, Unredacted> {
        parse(&self.0).map_err(Unredacted::from)
    }

    /// Its contents, for a recorder, which redacts them.
    pub(super) fn to_record(&self) -> &HttpResponse {
        &self.0
    }
}

impl std::fmt::Debug for Received {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Received({}, {} bytes)", self.status(), self.0.body().len())
    }
}

/// Redacts what an exchange may tell of secrets: those that its authorization used, those that were sent in
/// headers, a form or a query or to a proxy, and the tokens that its response has. Made only for an error or
/// a recording.
pub fn redactor(
    used: Vec<&str>,
    request: &Request,
    proxy: Option<&str>,
    sent: &SentHeaders,
    received: Option<&Received>,
) -> Redactor {
    let signature = sent.iter().filter(|(name, _)| *name == AUTHORIZATION);
    let own = request.headers.iter().filter(|(name, value)| {
        !is_public_header(name.as_str())
            && **name != header::CONTENT_TYPE
            && value.len() >= SHORTEST_OWN
    });
    let headers = signature.map(|(_, value)| value).chain(own.map(|(_, value)| value));
    let headers = headers.filter_map(|value| value.to_str().ok());
    // A scheme is no secret, and a service may repeat the rest alone.
    let headers = headers.map(|value| value.split_once(' ').map_or(value, |(_, secret)| secret));
    let query = request.url.query().unwrap_or_default().as_bytes();
    let form = if request.has_secrets { request.body.as_ref() } else { b"" };
    let mut found: Vec<Zeroizing<String>> = Vec::new();
    for (name, value) in form_urlencoded::parse(query).chain(form_urlencoded::parse(form)) {
        if is_secret(&name, Side::Request) || (request.has_secrets && name == "code") {
            found.push(Zeroizing::new(value.into_owned()));
        }
    }
    found.extend(proxy.and_then(proxy_password));
    if request.has_secrets
        && let Some(Received(response)) = received
    {
        found.extend(secret_members(&String::from_utf8_lossy(response.body()), Side::Response));
    }
    let found = found.iter().map(|secret| secret.as_str());
    Redactor::new(used.into_iter().chain(headers).chain(found))
}

/// The password in the URL of a proxy, decoded.
fn proxy_password(proxy: &str) -> Option<Zeroizing<String>> {
    let url = Url::parse(proxy).ok()?;
    // A plus is not a space here.
    let password = url.password()?.replace('+', "%2B");
    let mut decoded = form_urlencoded::parse(password.as_bytes());
    decoded.next().map(|(password, _): (Cow<'_, str>, _)| Zeroizing::new(password.into_owned()))
}
