//! Proof Key for Code Exchange (RFC 7636) and the `state` of an attempt.

use aws_lc_rs::constant_time::verify_slices_are_equal;
use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

use crate::{error::Result, os::entropy};

/// The only method that the service supports: the challenge is the hash of the verifier.
pub const CHALLENGE_METHOD: &str = "S256";

/// The secrets of one login attempt.
pub struct Attempt {
    /// The code verifier, sent when the code is exchanged.
    pub verifier: Zeroizing<String>,
    /// The state, sent with the authorization request and returned by the callback.
    pub state: Zeroizing<String>,
}

impl Attempt {
    /// Creates a verifier of 32 random bytes, as 43 characters, and a state of the same length.
    pub fn new() -> Result<Self> {
        Ok(Attempt { verifier: random_string()?, state: random_string()? })
    }

    /// Returns true if the verifier has the form of RFC 7636, section 4.1. A verifier from a
    /// session may not.
    pub fn has_valid_verifier(&self) -> bool {
        (43..=128).contains(&self.verifier.len())
            && self.verifier.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b))
    }

    /// Returns the challenge to send for the verifier.
    pub fn challenge(&self) -> String {
        challenge(&self.verifier)
    }

    /// Returns true if a callback belongs to this attempt. Compares in constant time.
    pub fn has_state(&self, state: &str) -> bool {
        same(state.as_bytes(), self.state.as_bytes())
    }

    /// Returns true if a text is the verifier, because a caller has swapped the two. Compares in
    /// constant time.
    pub fn has_verifier(&self, text: &str) -> bool {
        same(text.as_bytes(), self.verifier.as_bytes())
    }
}

boardlot_service::shown_as!(Attempt, "Attempt(...)");

/// BASE64URL(SHA256(verifier)), without padding.
pub fn challenge(verifier: &str) -> String {
    URL_SAFE_NO_PAD.encode(Sha256::digest(verifier.as_bytes()))
}

/// Compares in constant time for a given length.
pub fn same(one: &[u8], other: &[u8]) -> bool {
    verify_slices_are_equal(one, other).is_ok()
}

/// Returns 256 bits straight from the operating system, as 43 characters of the unreserved set.
fn random_string() -> Result<Zeroizing<String>> {
    let mut bytes = Zeroizing::new([0u8; 32]);
    entropy::fill(bytes.as_mut())?;
    Ok(Zeroizing::new(URL_SAFE_NO_PAD.encode(bytes.as_ref())))
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn the_challenge_is_that_of_rfc_7636_appendix_b() {
        let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../tests/vectors/signing.json");
        let text = std::fs::read_to_string(file).expect("the vectors");
        let vectors: serde_json::Value = serde_json::from_str(&text).expect("JSON");
        let vectors = vectors["pkce"].as_array().expect("a list");
        assert!(!vectors.is_empty());
        for vector in vectors {
            let verifier = vector["verifier"].as_str().expect("text");
            assert_eq!(challenge(verifier), vector["challenge"].as_str().expect("text"));
        }
    }

    #[test]
    fn verifiers_are_unique_and_match_the_grammar() {
        let mut seen = HashSet::new();
        for _ in 0..100_000 {
            let verifier = random_string().expect("random").to_string();
            assert_eq!(verifier.len(), 43);
            assert!(verifier.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._~".contains(&b)));
            assert!(seen.insert(verifier));
        }
    }

    #[test]
    fn only_its_own_state_is_accepted() {
        let attempt = Attempt::new().expect("random");
        assert!(attempt.has_state(&attempt.state));
        let longer = format!("{}x", *attempt.state);
        for state in ["", "x", &longer, &*attempt.verifier] {
            assert!(!attempt.has_state(state));
        }
        assert_eq!(format!("{attempt:?}"), "Attempt(...)");
    }
}
