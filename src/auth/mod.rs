//! Who we are: keys, the signature over the five lines, bearer tokens.

mod key;
mod sign;

pub use key::{Algorithm, KeyPair, generate};
pub use sign::{AUTHORIZATION, SignedHeaders, Stamp, X_API_KEY, X_NONCE, X_TIMESTAMP};
pub use sign::{body_hash, payload};
