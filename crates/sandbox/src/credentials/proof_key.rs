//! The challenge of an authorization request and the verifier of its exchange (RFC 7636).

use std::ops::RangeInclusive;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::hashed_store::{Hash, equal};

/// A verifier has 43 to 128 characters (section 4.1).
const VERIFIER_CHARACTERS: RangeInclusive<usize> = 43..=128;

/// The challenge of a client, decoded; `None` if it is not a SHA-256 hash.
pub fn challenge(text: &str) -> Option<Hash> {
    URL_SAFE_NO_PAD.decode(text).ok()?.try_into().ok()
}

/// Whether this is a verifier, and that of the challenge.
pub fn fits(verifier: &str, challenge: &Hash) -> bool {
    is_verifier(verifier) && equal(challenge, &Sha256::digest(verifier).into())
}

fn is_verifier(text: &str) -> bool {
    VERIFIER_CHARACTERS.contains(&text.len())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte))
}
