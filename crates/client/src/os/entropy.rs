//! Random numbers of the operating system: for keys, nonces, salts and whatever else must not be guessed.

use crate::error::{Error, NO_ENTROPY, Result};

/// An error if there are none. A thread needs some for its first hash table, and panics without.
pub fn check() -> Result<()> {
    fill(&mut [0; 16])
}

/// Fills these bytes.
pub fn fill(bytes: &mut [u8]) -> Result<()> {
    getrandom::fill(bytes).map_err(|error| Error::config(format!("{NO_ENTROPY}: {error}")))
}
