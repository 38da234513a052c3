//! Token stores: where the tokens lie between runs. Each fails closed: what cannot be kept safely
//! is not kept, and a store that cannot be read is left as it is.

mod encrypted;
mod files;
mod keychain;
mod memory;

use std::{
    path::{Path, PathBuf},
    time::Duration,
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use etcetera::BaseStrategy;
use sha2::{Digest, Sha256};
use zeroize::Zeroizing;

pub use encrypted::{EncryptedFile, Passphrase};
pub use files::WhileWaiting;
pub use keychain::Keychain;
pub use memory::Memory;

use crate::error::{Error, ErrorKind, Result};

/// How long to wait for another process to finish a change of a file.
const CHANGE_PATIENCE: Duration = Duration::from_secs(20);
/// How long to wait for another process to finish a refresh, with its retries.
const RENEWAL_PATIENCE: Duration = Duration::from_secs(60);

/// A place for secrets, by key. All of it may block: call it where blocking is fine.
pub trait TokenStore: Send + Sync {
    /// The value of a key, if there is one.
    fn load(&self, key: &str) -> Result<Option<Secret>>;
    /// Keeps a value, in the place of an earlier one.
    fn save(&self, key: &str, value: &[u8]) -> Result<()>;
    /// Forgets a key; one that is not there is fine.
    fn delete(&self, key: &str) -> Result<()>;
    /// Holds back every other process and thread that wants to renew what lies under the key, until
    /// the guard is dropped.
    fn lock(&self, key: &str) -> Result<Guard>;
}

/// Bytes that are wiped from memory when they are dropped.
pub type Secret = Zeroizing<Vec<u8>>;

/// Lets go of what was held when it is dropped.
#[expect(dead_code, reason = "held for its drop")]
pub struct Guard(Box<dyn Send>);

impl Guard {
    pub fn new(held: impl Send + 'static) -> Self {
        Guard(Box::new(held))
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

/// The key under which a service's last registration lies, so that a new login finds it.
pub fn registration_key(origin: &str) -> String {
    origin.to_owned()
}

/// Holds a lock file in the user's state folder, for a store that has no folder of its own.
pub fn hold_in_state_folder(store: &str, key: &str) -> Result<Guard> {
    let name = format!("{}.lock", digest(&format!("{store}\n{key}")));
    let path = state_folder()?.join(name);
    files::Lock::acquire(&path, RENEWAL_PATIENCE, &|| Ok(())).map(Guard::new)
}

fn state_folder() -> Result<PathBuf> {
    let strategy = etcetera::choose_base_strategy()
        .map_err(|error| ErrorKind::Store(format!("there is no home folder: {error}")))?;
    Ok(strategy.state_dir().unwrap_or_else(|| strategy.data_dir()).join("boardlot"))
}

fn digest(text: &str) -> String {
    let hash = Sha256::digest(text);
    URL_SAFE_NO_PAD.encode(hash.get(..16).unwrap_or(&hash))
}

/// What went wrong with a file, and the way out.
fn store_error(path: &Path, what: impl std::fmt::Display, way_out: &str) -> Error {
    ErrorKind::Store(format!("{}: {what}; {way_out}", path.display())).into()
}
