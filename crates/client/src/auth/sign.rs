//! Headers of a signed request (section 5.2). The time is passed in.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::KeyPair;
use crate::{
    canonical_request::payload,
    error::{Error, Result},
    os::entropy,
};

/// The header with the key's id.
pub const X_API_KEY: &str = "x-api-key";
/// The header with the signature, or with a bearer token.
pub const AUTHORIZATION: &str = "authorization";
/// The header with the time of the signature.
pub const X_TIMESTAMP: &str = "x-timestamp";
/// The header with the nonce.
pub const X_NONCE: &str = "x-nonce";

/// Returns a nonce of 128 bits from the operating system. A generator in this process would repeat
/// itself in a forked child.
fn nonce() -> Result<String> {
    let mut bytes = [0u8; 16];
    entropy::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// Returns the headers that sign a request, given by its method, path, query and body.
pub fn signed_headers(
    key_id: &str,
    key: &KeyPair,
    timestamp_ms: i64,
    (method, path, query): (&str, &str, &str),
    body: &[u8],
) -> Result<[(&'static str, String); 4]> {
    let signature = key.sign(&payload(timestamp_ms, method, path, query, body))?;
    Ok([
        (X_API_KEY, key_id.to_owned()),
        (AUTHORIZATION, signature),
        (X_TIMESTAMP, timestamp_ms.to_string()),
        (X_NONCE, nonce()?),
    ])
}

/// Splits a URL into its path and query. The URL has to be in its final form: an HTTP client that
/// still encodes or shortens it would send something other than what is signed.
pub fn target(url: &str) -> Result<(&str, &str)> {
    let invalid = |expected: &str| Err(Error::argument("url", "not as it is sent", expected));
    if !url.bytes().all(|byte| (b'!'..=b'~').contains(&byte)) {
        return invalid("visible ASCII characters, the others percent-encoded");
    }
    let url = url.split('#').next().unwrap_or_default();
    let Some((_, rest)) = url.split_once("://") else {
        return invalid("an absolute URL such as https://api.example.com/path?query");
    };
    let authority = rest.find(['/', '?']).unwrap_or(rest.len());
    let (_, target) = rest.split_at_checked(authority).unwrap_or_default();
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let is_dots = |segment: &str| {
        matches!(segment.to_ascii_lowercase().replace("%2e", ".").as_str(), "." | "..")
    };
    if path.split('/').any(is_dots) {
        return invalid("a path without the segments '.' and '..', which HTTP clients remove");
    }
    Ok((if path.is_empty() { "/" } else { path }, query))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_what_stands_behind_the_host_without_the_fragment() {
        for (url, path, query) in [
            ("https://api.example.com/a/b?x=1&y=%20#top", "/a/b", "x=1&y=%20"),
            ("http://127.0.0.1:8080", "/", ""),
            ("http://127.0.0.1:8080?x=?/", "/", "x=?/"),
            ("http://user:secret@host//a///b/?", "//a///b/", ""),
            ("http://[::1]/%2F..x/...", "/%2F..x/...", ""),
        ] {
            assert_eq!(target(url).expect(url), (path, query), "{url}");
        }
    }

    #[test]
    fn a_url_that_would_be_changed_before_it_is_sent_is_refused() {
        for url in [
            "/path",
            "host/path",
            "",
            "https://h/ä",
            "https://h/a b",
            "https://h/a\nb",
            "https://h/../a",
            "https://h/a/.",
            "https://h/%2E%2e/a",
        ] {
            let error = target(url).expect_err(url).to_string();
            assert!(error.contains("url"), "{error}");
        }
    }

    #[test]
    fn a_nonce_has_22_characters_of_the_documented_set() {
        for _ in 0..1000 {
            let nonce = nonce().expect("random");
            assert_eq!(nonce.len(), 22);
            assert!(nonce.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)));
        }
    }
}
