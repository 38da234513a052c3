//! What authorizes a request: keys and their signatures, tokens and their scopes.

pub mod keys;
pub mod scopes;
pub mod tokens;
pub mod verify;

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use boardlot_service::error::{Error, Result};

/// 256 random bits in text, behind a prefix.
pub fn random_text(prefix: &str) -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::config(format!("the operating system returned no random bytes: {error}"))
    })?;
    Ok(format!("{prefix}{}", URL_SAFE_NO_PAD.encode(bytes)))
}
