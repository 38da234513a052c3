//! Token stores: where tokens are kept between runs. Each store fails closed: it does not store
//! tokens that it cannot store safely, and leaves a store unchanged that it cannot read.

mod encrypted;
mod files;
mod keychain;
mod keys;
mod memory;
mod sealed;
mod state_folder;

use std::{ops::Deref, path::Path, time::Duration};

use zeroize::Zeroizing;

pub use encrypted::{EncryptedFileStore, EncryptedFileStore as EncryptedFile, Passphrase};
pub use files::{InterruptCheck, open_private, write as replace_private};
pub use keychain::{KeychainStore, KeychainStore as Keychain};
pub use keys::{is_token_key, refusal_key, registration_key, token_key, user_key};
pub use memory::{MemoryStore, MemoryStore as Memory};
pub use state_folder::digest;

use crate::error::{Error, ErrorKind, Result};

/// Time to wait for another process to finish changing a file.
const CHANGE_LOCK_TIMEOUT: Duration = Duration::from_secs(20);
/// Time to wait for another process to finish a refresh, with its retries.
pub(super) const REFRESH_LOCK_TIMEOUT: Duration = Duration::from_secs(60);

/// A store of the tokens of logins between runs: secrets by key. The stores of this crate are
/// [`KeychainStore`](crate::KeychainStore), [`EncryptedFileStore`](crate::EncryptedFileStore) and
/// [`MemoryStore`](crate::MemoryStore).
///
/// A store of your own compares keys exactly. A key is one line of text, such as
/// `https://api.example.com client-id`: it is not a file name. Every method may block: it is called
/// on a thread for such work. Only the stores of this crate let the processes that share them take
/// turns to refresh a token.
///
/// ```
/// use boardlot_client::{Error, ErrorKind, Result, Secret, TokenStore};
/// use std::{fs, io, path::PathBuf};
///
/// /// One file for each key. It encrypts nothing.
/// struct FolderStore(PathBuf);
///
/// impl FolderStore {
///     fn path(&self, key: &str) -> PathBuf {
///         let name: String = key.bytes().map(|byte| format!("{byte:02x}")).collect();
///         self.0.join(name)
///     }
/// }
///
/// /// Returns none for a file that does not exist.
/// fn found<T>(outcome: io::Result<T>) -> Result<Option<T>> {
///     match outcome {
///         Ok(value) => Ok(Some(value)),
///         Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
///         Err(error) => Err(Error::from(ErrorKind::Store(error.to_string()))),
///     }
/// }
///
/// impl TokenStore for FolderStore {
///     fn load(&self, key: &str) -> Result<Option<Secret>> {
///         Ok(found(fs::read(self.path(key)))?.map(Secret::new))
///     }
///
///     fn save(&self, key: &str, value: &[u8]) -> Result<()> {
///         let error = |error: io::Error| ErrorKind::Store(error.to_string()).into();
///         fs::write(self.path(key), value).map_err(error)
///     }
///
///     fn delete(&self, key: &str) -> Result<()> {
///         found(fs::remove_file(self.path(key))).map(|_| ())
///     }
/// }
/// # let store = FolderStore(std::env::temp_dir());
/// # assert!(store.load("no such key").unwrap().is_none());
/// # store.delete("no such key").unwrap();
/// ```
pub trait TokenStore: Send + Sync {
    /// Returns the value of a key, if there is one.
    fn load(&self, key: &str) -> Result<Option<Secret>>;
    /// Stores a value, replacing an earlier one.
    fn save(&self, key: &str, value: &[u8]) -> Result<()>;
    /// Deletes a key; an unknown key is not an error.
    fn delete(&self, key: &str) -> Result<()>;
    /// Returns the reason why there is no token under a key.
    #[doc(hidden)]
    fn why_empty(&self, _key: &str) -> &'static str {
        "the store has no token"
    }
    /// Makes every other process that refreshes the value of the key wait until the guard is
    /// released, on the thread that took it. Within a process, the credentials of a key take turns.
    /// By default, no other process has the store.
    #[doc(hidden)]
    fn lock(&self, _key: &str) -> Result<Guard> {
        Ok(Guard::new(()))
    }

    /// Runs work that takes a lock, uses the store and releases the lock, all on this thread: a
    /// store may keep something for its thread in the meantime.
    #[doc(hidden)]
    fn on_one_thread(&self, work: Box<dyn FnOnce() + Send + '_>) {
        work();
    }
}

/// Bytes that are wiped from memory when they are dropped, and not shown by `{:?}`.
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Zeroizing<Vec<u8>>);

boardlot_service::shown_as!(Secret, "Secret(..)");

impl Secret {
    /// Wraps these bytes.
    pub fn new(bytes: Vec<u8>) -> Self {
        Secret(Zeroizing::new(bytes))
    }
}

impl From<Zeroizing<Vec<u8>>> for Secret {
    fn from(bytes: Zeroizing<Vec<u8>>) -> Self {
        Secret(bytes)
    }
}

impl Deref for Secret {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.0
    }
}

/// Releases a lock: by [`Guard::release`], or when it is dropped.
pub struct Guard(Option<Box<Release>>);

/// Function that releases a lock; its argument is true if a change under the lock has failed.
type Release = dyn FnOnce(bool) -> Result<()> + Send;

impl Guard {
    /// Creates a guard that drops `lock` with itself.
    pub fn new(lock: impl Send + 'static) -> Self {
        Self::released_by(move |_| {
            drop(lock);
            Ok(())
        })
    }

    /// Creates a guard that this function releases; its argument is true if a change has failed.
    pub fn released_by(release: impl FnOnce(bool) -> Result<()> + Send + 'static) -> Self {
        Guard(Some(Box::new(release)))
    }

    /// Releases the lock. An error means that changes under it may be lost.
    pub fn release(mut self, failed: bool) -> Result<()> {
        self.0.take().map_or(Ok(()), |release| release(failed))
    }
}

impl Drop for Guard {
    fn drop(&mut self) {
        if let Some(release) = self.0.take() {
            let _ = release(true);
        }
    }
}

boardlot_service::shown_as!(Guard, "Guard(..)");

/// Returns the error of a lock that is not released in time.
pub(super) fn still_locked() -> Error {
    ErrorKind::Store("another refresh has not finished; call again".into()).into()
}

/// Returns the error of the system about a file, with a remedy.
fn io_error(path: &Path, error: &std::io::Error, remedy: &str) -> Error {
    store_error(path, error, remedy).caused_by(error)
}

/// Returns the error of a file, with a remedy.
fn store_error(path: &Path, what: impl std::fmt::Display, remedy: &str) -> Error {
    let error: Error = ErrorKind::Store(format!("{}: {what}; {remedy}", path.display())).into();
    error.with_advice("Stored tokens are unchanged.".to_owned())
}
