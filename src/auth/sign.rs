//! The headers of a signed request (section 5.2). Clock and nonce are passed in.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};

use super::KeyPair;
use crate::{
    canonical_request::payload,
    error::{Error, Result},
};

/// The header with the key's id.
pub const X_API_KEY: &str = "x-api-key";
/// The header with the signature, or with a bearer token.
pub const AUTHORIZATION: &str = "authorization";
/// The header with the time of the signature.
pub const X_TIMESTAMP: &str = "x-timestamp";
/// The header with the nonce.
pub const X_NONCE: &str = "x-nonce";

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
    use super::*;

    #[test]
    fn a_nonce_has_22_characters_of_the_documented_set() {
        for _ in 0..1000 {
            let nonce = Stamp::new(0).expect("random").nonce;
            assert_eq!(nonce.len(), 22);
            assert!(nonce.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b)));
        }
    }
}
