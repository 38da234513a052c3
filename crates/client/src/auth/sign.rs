//! The headers of a signed request (section 5.2). The time is passed in.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::KeyPair;
use crate::{canonical_request::payload, error::Result, os::entropy};

/// The header with the key's id.
pub const X_API_KEY: &str = "x-api-key";
/// The header with the signature, or with a bearer token.
pub const AUTHORIZATION: &str = "authorization";
/// The header with the time of the signature.
pub const X_TIMESTAMP: &str = "x-timestamp";
/// The header with the nonce.
pub const X_NONCE: &str = "x-nonce";

/// A nonce of 128 bits from the operating system: a generator in this process would repeat itself in a
/// forked child.
fn nonce() -> Result<String> {
    let mut bytes = [0u8; 16];
    entropy::fill(&mut bytes)?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// The names and values of the headers that sign a request, given by its method, path, query and body.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_nonce_has_22_characters_of_the_documented_set() {
        for _ in 0..1000 {
            let nonce = nonce().expect("random");
            assert_eq!(nonce.len(), 22);
            assert!(nonce.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)));
        }
    }
}
