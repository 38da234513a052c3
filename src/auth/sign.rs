//! The canonical request that is signed (section 5.2): five lines. Clock and nonce are passed in.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::KeyPair;
use crate::error::{Error, Result};

/// The header with the key's id.
pub const X_API_KEY: &str = "x-api-key";
/// The header with the signature, or with a bearer token.
pub const AUTHORIZATION: &str = "authorization";
/// The header with the time of the signature.
pub const X_TIMESTAMP: &str = "x-timestamp";
/// The header with the nonce.
pub const X_NONCE: &str = "x-nonce";

/// The five fields, joined by line feeds; an empty field keeps its separator.
///
/// `path` has no domain and no query; `query` is the final query string as sent, without `?`.
pub fn payload(timestamp_ms: i64, method: &str, path: &str, query: &str, body: &[u8]) -> Vec<u8> {
    let method = method.to_ascii_uppercase();
    format!("{timestamp_ms}\n{method}\n{path}\n{query}\n{}", body_hash(body)).into_bytes()
}

/// The lowercase hex SHA-256 of the raw body; empty if the body is.
pub fn body_hash(body: &[u8]) -> String {
    if body.is_empty() {
        return String::new();
    }
    let digest = Sha256::digest(body);
    let halves = digest.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    halves.filter_map(|half| char::from_digit(u32::from(half), 16)).collect()
}

/// The time of a signature, and the nonce that prevents a replay.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stamp {
    /// The time in milliseconds since 1970.
    pub timestamp_ms: i64,
    /// The nonce: a request with the same one is rejected.
    pub nonce: String,
}

impl Stamp {
    /// A nonce of 128 bits from the operating system: a generator in this process would repeat itself
    /// in a forked child.
    pub fn new(timestamp_ms: i64) -> Result<Self> {
        let mut bytes = [0u8; 16];
        getrandom::fill(&mut bytes)
            .map_err(|error| Error::config(format!("no random bytes from the system: {error}")))?;
        Ok(Stamp { timestamp_ms, nonce: URL_SAFE_NO_PAD.encode(bytes) })
    }
}

/// The four headers of a signed request.
#[derive(Debug, Clone)]
pub struct SignedHeaders {
    /// The id of the key.
    pub key_id: String,
    /// The signature in Base64.
    pub signature: String,
    /// The time and nonce that were signed.
    pub stamp: Stamp,
}

impl SignedHeaders {
    /// Signs a request, given by its method, path, query and body.
    pub fn sign(
        key_id: &str,
        key: &KeyPair,
        stamp: Stamp,
        (method, path, query): (&str, &str, &str),
        body: &[u8],
    ) -> Result<Self> {
        let signature = key.sign(&payload(stamp.timestamp_ms, method, path, query, body))?;
        Ok(SignedHeaders { key_id: key_id.to_owned(), signature, stamp })
    }

    /// The names and values of the headers.
    pub fn pairs(&self) -> [(&'static str, String); 4] {
        [
            (X_API_KEY, self.key_id.clone()),
            (AUTHORIZATION, self.signature.clone()),
            (X_TIMESTAMP, self.stamp.timestamp_ms.to_string()),
            (X_NONCE, self.stamp.nonce.clone()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_separator_stays_when_a_field_is_empty() {
        assert_eq!(payload(1, "get", "/p", "", b""), b"1\nGET\n/p\n\n");
    }

    #[test]
    fn the_hash_is_that_of_the_raw_bytes() {
        // FIPS 180-4, "abc".
        assert_eq!(
            body_hash(b"abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }

    #[test]
    fn a_nonce_has_22_characters_of_the_documented_set() {
        for _ in 0..1000 {
            let nonce = Stamp::new(0).expect("random").nonce;
            assert_eq!(nonce.len(), 22);
            assert!(nonce.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)));
        }
    }

    proptest! {
        #[test]
        fn the_fields_can_be_read_back(
            timestamp in any::<i64>(),
            method in "[A-Z]{1,8}",
            path in "/[!-~]{0,40}",
            query in "[!-~]{0,40}",
            body in proptest::collection::vec(any::<u8>(), 0..80),
        ) {
            let text = String::from_utf8(payload(timestamp, &method, &path, &query, &body))
                .expect("text");
            let lines: Vec<&str> = text.split('\n').collect();
            let (timestamp, hash) = (timestamp.to_string(), body_hash(&body));
            prop_assert_eq!(lines, [&*timestamp, &*method, &*path, &*query, &*hash]);
        }
    }
}
