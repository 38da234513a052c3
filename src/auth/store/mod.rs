//! Token stores: where tokens are stored between runs. Each fails closed: tokens that cannot be stored
//! safely are not stored, and a store that cannot be read is left unchanged.

mod encrypted;
mod files;
mod keychain;
mod memory;
mod sealed;
mod state_folder;

use std::{path::Path, time::Duration};

use zeroize::Zeroizing;

pub use encrypted::{EncryptedFile, Passphrase};
pub use files::WhileWaiting;
pub use keychain::Keychain;
pub use memory::Memory;
pub use state_folder::lock_in_state_folder;

use crate::error::{Error, ErrorKind, Result};

/// How long to wait for another process to finish changing a file.
const CHANGE_LOCK_TIMEOUT: Duration = Duration::from_secs(20);
/// How long to wait for another process to finish a refresh, with its retries.
const REFRESH_LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// Secrets by key. Every method may block.
pub trait TokenStore: Send + Sync {
    /// The value of a key, if there is one.
    fn load(&self, key: &str) -> Result<Option<Secret>>;
    /// Stores a value, replacing an earlier one.
    fn save(&self, key: &str, value: &[u8]) -> Result<()>;
    /// Deletes a key; an unknown key is not an error.
    fn delete(&self, key: &str) -> Result<()>;
    /// Makes every other process and thread that refreshes the value of the key wait until the guard
    /// is dropped.
    fn lock(&self, key: &str) -> Result<Guard>;
}

/// Bytes that are wiped from memory when they are dropped.
pub type Secret = Zeroizing<Vec<u8>>;

/// Releases a lock when it is dropped.
#[expect(dead_code, reason = "held for its drop")]
pub struct Guard(Box<dyn Send>);

impl Guard {
    /// A guard that drops `lock` with itself.
    pub fn new(lock: impl Send + 'static) -> Self {
        Guard(Box::new(lock))
    }
}

impl std::fmt::Debug for Guard {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Guard(..)")
    }
}

/// The key of a client's tokens: the service's address, and the client.
pub fn token_key(origin: &str, client_id: &str) -> String {
    format!("{origin} {client_id}")
}

/// The key of a service's last registration, so that a new login finds it.
pub fn registration_key(origin: &str) -> String {
    origin.to_owned()
}

/// An error of a file, with what to do about it.
fn store_error(path: &Path, what: impl std::fmt::Display, remedy: &str) -> Error {
    ErrorKind::Store(format!("{}: {what}; {remedy}", path.display())).into()
}
