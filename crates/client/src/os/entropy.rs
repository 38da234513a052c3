//! Random numbers of the operating system: for keys, nonces, salts and other values that must not
//! be guessed.

use crate::error::{Error, Resource, Result};

/// Fails if the system has no random numbers. A thread needs some for its first hash table, and
/// panics without them.
pub fn check() -> Result<()> {
    fill(&mut [0; 16])
}

/// Fills these bytes.
pub fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| {
        Error::config(format!("the system has no random numbers: {error}"))
            .with_resource(Resource::Entropy)
    })
}
