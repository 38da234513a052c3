//! The keychain of the operating system: Secret Service, Keychain, Credential Manager.
//!
//! Where it limits the size of an entry, it holds a random key, and a file encrypted with that key
//! holds the value.

use std::path::PathBuf;

use zeroize::Zeroizing;

use super::{EncryptedFile, Guard, Secret, TokenStore, digest, hold_in_state_folder, state_folder};
use crate::error::{Error, ErrorKind, Result};

/// What an entry of ours is filed under.
const SERVICE: &str = "boardlot";

/// The first byte of an entry: the value follows, or the key of its file.
const WHOLE: u8 = b'v';
const KEY_OF_FILE: u8 = b'k';

/// The keychain of the user who is logged in.
#[derive(Debug)]
pub struct Keychain {
    /// The largest entry that the keychain takes.
    max_bytes: usize,
}

impl Default for Keychain {
    fn default() -> Self {
        // The Credential Manager of Windows takes 2,560 bytes: CRED_MAX_CREDENTIAL_BLOB_SIZE.
        Keychain { max_bytes: if cfg!(windows) { 2560 } else { usize::MAX } }
    }
}

impl Keychain {
    fn file(key: &str) -> Result<PathBuf> {
        Ok(state_folder()?.join(format!("{}.tokens", digest(key))))
    }
}

impl TokenStore for Keychain {
    fn load(&self, key: &str) -> Result<Option<Secret>> {
        let Some(entry) = platform::load(key)? else { return Ok(None) };
        match entry.split_first() {
            Some((&WHOLE, value)) => Ok(Some(Secret::new(value.to_vec()))),
            Some((&KEY_OF_FILE, bytes)) => {
                let bytes: [u8; 32] = bytes.try_into().map_err(|_| foreign(key))?;
                EncryptedFile::with_key(Self::file(key)?, Zeroizing::new(bytes)).load(key)
            }
            _ => Err(foreign(key)),
        }
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        if value.len() < self.max_bytes {
            return platform::save(key, &tagged(WHOLE, value));
        }
        let known = platform::load(key)?;
        let bytes = match known.as_ref().and_then(|entry| entry.split_first()) {
            Some((&KEY_OF_FILE, bytes)) => bytes.try_into().map_err(|_| foreign(key))?,
            _ => {
                let mut bytes = [0; 32];
                getrandom::fill(&mut bytes).map_err(|error| unusable(&error))?;
                platform::save(key, &tagged(KEY_OF_FILE, &bytes))?;
                bytes
            }
        };
        EncryptedFile::with_key(Self::file(key)?, Zeroizing::new(bytes)).save(key, value)
    }

    fn delete(&self, key: &str) -> Result<()> {
        platform::delete(key)?;
        match std::fs::remove_file(Self::file(key)?) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(unusable(&error)),
            _ => Ok(()),
        }
    }

    fn lock(&self, key: &str) -> Result<Guard> {
        hold_in_state_folder("keychain", key)
    }
}

fn tagged(tag: u8, value: &[u8]) -> Secret {
    let mut entry = Secret::new(Vec::with_capacity(value.len() + 1));
    entry.push(tag);
    entry.extend_from_slice(value);
    entry
}

fn foreign(key: &str) -> Error {
    ErrorKind::Store(format!(
        "the keychain's entry '{SERVICE}', '{key}' was not written by boardlot; delete it there, \
         then log in again"
    ))
    .into()
}

fn unusable(error: &dyn std::fmt::Display) -> Error {
    ErrorKind::Store(format!(
        "the keychain cannot be used: {error}; unlock it, or use an EncryptedFileStore"
    ))
    .into()
}

/// The Secret Service over D-Bus.
#[cfg(all(unix, not(target_os = "macos")))]
mod platform {
    use std::{collections::HashMap, future::Future, time::Duration};

    use secret_service::{EncryptionType, Error as Failure, Item, SecretService};
    use tokio::time::timeout;
    use zeroize::Zeroizing;

    use super::{SERVICE, Secret, unusable};
    use crate::{error::Result, process::runtime};

    /// Long enough for a person to type the keychain's password.
    const PATIENCE: Duration = Duration::from_secs(120);
    const CONTENT_TYPE: &str = "application/octet-stream";

    pub fn load(key: &str) -> Result<Option<Secret>> {
        wait(async {
            let service = SecretService::connect(EncryptionType::Dh).await?;
            match find(&service, key).await? {
                Some(item) => Ok(Some(Zeroizing::new(item.get_secret().await?))),
                None => Ok(None),
            }
        })
    }

    pub fn save(key: &str, value: &[u8]) -> Result<()> {
        wait(async {
            let service = SecretService::connect(EncryptionType::Dh).await?;
            if let Some(item) = find(&service, key).await? {
                return item.set_secret(value, CONTENT_TYPE).await;
            }
            let collection = service.get_any_collection().await?;
            if collection.is_locked().await? {
                collection.unlock().await?;
            }
            let label = format!("{SERVICE}: {key}");
            collection.create_item(&label, attributes(key), value, true, CONTENT_TYPE).await?;
            Ok(())
        })
    }

    pub fn delete(key: &str) -> Result<()> {
        wait(async {
            let service = SecretService::connect(EncryptionType::Dh).await?;
            match find(&service, key).await? {
                Some(item) => item.delete().await,
                None => Ok(()),
            }
        })
    }

    async fn find<'a>(
        service: &'a SecretService<'a>,
        key: &str,
    ) -> std::result::Result<Option<Item<'a>>, Failure> {
        let found = service.search_items(attributes(key)).await?;
        if let Some(item) = found.unlocked.into_iter().next() {
            return Ok(Some(item));
        }
        let Some(item) = found.locked.into_iter().next() else { return Ok(None) };
        item.unlock().await?;
        Ok(Some(item))
    }

    fn attributes(key: &str) -> HashMap<&str, &str> {
        HashMap::from([("application", SERVICE), ("key", key)])
    }

    /// On this process's own runtime, whose threads a forked child makes anew; a connection of its
    /// own each time, for the same reason.
    fn wait<T>(work: impl Future<Output = std::result::Result<T, Failure>>) -> Result<T> {
        let outcome = runtime()?.block_on(async { timeout(PATIENCE, work).await });
        match outcome {
            Ok(outcome) => outcome.map_err(|error| unusable(&error)),
            Err(_) => Err(unusable(&format!("no answer within {} s", PATIENCE.as_secs()))),
        }
    }
}

#[cfg(any(target_os = "macos", windows))]
mod platform {
    use keyring::v1::{Entry, Error as Failure};
    use zeroize::Zeroizing;

    use super::{SERVICE, Secret, unusable};
    use crate::error::Result;

    pub fn load(key: &str) -> Result<Option<Secret>> {
        match entry(key)?.get_secret() {
            Ok(value) => Ok(Some(Zeroizing::new(value))),
            Err(Failure::NoEntry) => Ok(None),
            Err(error) => Err(unusable(&error)),
        }
    }

    pub fn save(key: &str, value: &[u8]) -> Result<()> {
        entry(key)?.set_secret(value).map_err(|error| unusable(&error))
    }

    pub fn delete(key: &str) -> Result<()> {
        match entry(key)?.delete_credential() {
            Ok(()) | Err(Failure::NoEntry) => Ok(()),
            Err(error) => Err(unusable(&error)),
        }
    }

    fn entry(key: &str) -> Result<Entry> {
        Entry::new(SERVICE, key).map_err(|error| unusable(&error))
    }
}
