//! One complete request: exactly the signed bytes are sent.

use std::sync::Arc;

use ::http::{HeaderMap, HeaderName, HeaderValue, Method};
use bytes::Bytes;
use url::Url;

use crate::{
    auth,
    error::{Error, Result},
};

/// A request with its final URL and bytes, to be signed and sent any number of times.
pub struct Request {
    /// The endpoint's name, or `METHOD /path` for a custom request.
    pub label: String,
    /// The endpoint's path with its placeholders; none for a custom request.
    pub route: Option<Arc<str>>,
    /// The HTTP method.
    pub method: Method,
    /// The final URL. The path and query to sign are read back from it.
    pub url: Url,
    /// All headers except the ones that authorize the request.
    pub headers: HeaderMap,
    /// The bytes of the body.
    pub body: Bytes,
    /// True if sending the request twice has the same effect as sending it once.
    pub idempotent: bool,
    /// True if the request must not be recorded.
    pub unrecorded: bool,
    /// True if the request and its response consist of secrets, as in a login.
    pub has_secrets: bool,
}

// Shows neither the query nor the headers nor the body.
boardlot_service::shown_as!(Request, |this| "Request({} {})", this.method, this.url.path());

/// Parses an HTTP method.
pub fn method(name: &str) -> Result<Method> {
    let known = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD", "OPTIONS"];
    let upper = name.to_ascii_uppercase();
    match Method::from_bytes(upper.as_bytes()) {
        Ok(method) if known.contains(&upper.as_str()) => Ok(method),
        _ => Err(Error::argument(
            "method",
            &format!("'{}'", name.escape_debug()),
            &format!("one of {}", known.join(", ")),
        )),
    }
}

/// Checks a caller's header: visible ASCII, and not a header that the client itself sets.
pub fn header_pair(name: &str, value: &str) -> Result<(HeaderName, HeaderValue)> {
    const OWN: [&str; 8] = [
        auth::AUTHORIZATION,
        auth::X_API_KEY,
        auth::X_TIMESTAMP,
        auth::X_NONCE,
        "host",
        "content-length",
        "transfer-encoding",
        "connection",
    ];
    let shown = name.escape_debug().to_string();
    let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| {
        Error::argument("a header name", &format!("'{shown}'"), "a valid HTTP field name")
    })?;
    if OWN.contains(&parsed.as_str()) {
        return Err(Error::argument(
            "a header name",
            &format!("'{shown}'"),
            "a header that the client does not set itself",
        ));
    }
    let is_plain = value.bytes().all(|byte| byte == b' ' || byte.is_ascii_graphic());
    let value = HeaderValue::from_str(value).ok().filter(|_| is_plain).ok_or_else(|| {
        Error::config(format!(
            "headers: the value of '{shown}' has control or non-ASCII characters; expected \
             visible ASCII characters and spaces"
        ))
    })?;
    Ok((parsed, value))
}
