//! Authorization of requests: keys and their signatures, tokens and their scopes.

pub mod keys;
pub mod scopes;
pub mod tokens;
pub mod verify;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use boardlot_service::error::{Error, Result};

/// An id of 128 random bits, behind a prefix.
pub fn random_id(prefix: &str) -> Result<String> {
    Ok(format!("{prefix}{}", random::<16>()?))
}

/// A secret of 256 random bits.
pub fn random_secret() -> Result<String> {
    random::<32>()
}

fn random<const BYTES: usize>() -> Result<String> {
    let mut bytes = [0; BYTES];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::config(format!("the operating system returned no random bytes: {error}"))
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}
