//! The keychain of the operating system: Secret Service, Keychain, Credential Manager.
//!
//! If the keychain limits the size of an entry, a larger value is stored in a file, encrypted with
//! a random key that is stored in the keychain.

use std::path::PathBuf;

use zeroize::Zeroizing;

use super::{
    EncryptedFileStore, Guard, Secret, TokenStore,
    state_folder::{digest, lock_in_state_folder},
};
use crate::{
    error::{Advice, Error, ErrorKind, Result},
    os::{atomic_file, entropy, texts::state_folder},
};

/// The service name of our entries.
const SERVICE: &str = "boardlot";

/// First byte of an entry: the value follows, or the key of the file that holds the value.
const VALUE: u8 = b'v';
const FILE_KEY: u8 = b'k';

/// The keychain of the user who is logged in to this machine: Secret Service on Linux, Keychain on
/// macOS, Credential Manager on Windows.
#[derive(Debug)]
pub struct KeychainStore;

/// The largest entry that a keychain accepts: for the Credential Manager of Windows,
/// CRED_MAX_CREDENTIAL_BLOB_SIZE.
const MAX_BYTES: usize = if cfg!(windows) { 2560 } else { usize::MAX };

impl KeychainStore {
    fn file(key: &str) -> Result<PathBuf> {
        Ok(state_folder()?.join(format!("{}.tokens", digest(key))))
    }
}

impl TokenStore for KeychainStore {
    fn load(&self, key: &str) -> Result<Option<Secret>> {
        let Some(entry) = platform::load(key)? else { return Ok(None) };
        match entry.split_first() {
            Some((&VALUE, value)) => Ok(Some(Secret::new(value.to_vec()))),
            Some((&FILE_KEY, bytes)) => {
                let bytes: [u8; 32] = bytes.try_into().map_err(|_| not_ours(key))?;
                EncryptedFileStore::with_key(Self::file(key)?, Zeroizing::new(bytes)).load(key)
            }
            _ => Err(not_ours(key)),
        }
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        if value.len() < MAX_BYTES {
            return platform::save(key, &tagged(VALUE, value));
        }
        let known = platform::load(key)?;
        let bytes = match known.as_ref().and_then(|entry| entry.split_first()) {
            Some((&FILE_KEY, bytes)) => bytes.try_into().map_err(|_| not_ours(key))?,
            _ => {
                let mut bytes = [0; 32];
                entropy::fill(&mut bytes)?;
                platform::save(key, &tagged(FILE_KEY, &bytes))?;
                bytes
            }
        };
        EncryptedFileStore::with_key(Self::file(key)?, Zeroizing::new(bytes)).save(key, value)
    }

    fn delete(&self, key: &str) -> Result<()> {
        platform::delete(key)?;
        let file = Self::file(key)?;
        atomic_file::remove(&file).map_err(|error| unavailable(&error))
    }

    fn lock(&self, key: &str) -> Result<Guard> {
        lock_in_state_folder("keychain", key)
    }
}

fn tagged(tag: u8, value: &[u8]) -> Zeroizing<Vec<u8>> {
    let mut entry = Zeroizing::new(Vec::with_capacity(value.len() + 1));
    entry.push(tag);
    entry.extend_from_slice(value);
    entry
}

fn not_ours(key: &str) -> Error {
    ErrorKind::Store(format!(
        "the keychain's entry '{SERVICE}', '{key}' was not written by boardlot; delete it there, \
         then log in again"
    ))
    .into()
}

fn unavailable(error: &(dyn std::error::Error + 'static)) -> Error {
    let problem = Error::from(ErrorKind::Store(format!("the keychain cannot be used: {error}")));
    problem.with_advice(Advice::LockedKeychain).caused_by(error)
}

/// The Secret Service over D-Bus.
#[cfg(all(unix, not(target_os = "macos")))]
mod platform {
    use boardlot_secret_service::Entry;

    use super::{SERVICE, Secret, unavailable};
    use crate::error::Result;

    pub fn load(key: &str) -> Result<Option<Secret>> {
        let found = entry(key).load().map_err(|error| unavailable(&error))?;
        Ok(found.map(Secret::from))
    }

    pub fn save(key: &str, value: &[u8]) -> Result<()> {
        entry(key).save(value).map_err(|error| unavailable(&error))
    }

    pub fn delete(key: &str) -> Result<()> {
        entry(key).delete().map_err(|error| unavailable(&error))
    }

    fn entry(key: &str) -> Entry<'_> {
        Entry { application: SERVICE, key }
    }
}

#[cfg(any(target_os = "macos", windows))]
mod platform {
    use keyring::v1::{Entry, Error as Failure};

    use super::{SERVICE, Secret, unavailable};
    use crate::error::Result;

    pub fn load(key: &str) -> Result<Option<Secret>> {
        match entry(key)?.get_secret() {
            Ok(value) => Ok(Some(Secret::new(value))),
            Err(Failure::NoEntry) => Ok(None),
            Err(error) => Err(unavailable(&error)),
        }
    }

    pub fn save(key: &str, value: &[u8]) -> Result<()> {
        entry(key)?.set_secret(value).map_err(|error| unavailable(&error))
    }

    pub fn delete(key: &str) -> Result<()> {
        match entry(key)?.delete_credential() {
            Ok(()) | Err(Failure::NoEntry) => Ok(()),
            Err(error) => Err(unavailable(&error)),
        }
    }

    fn entry(key: &str) -> Result<Entry> {
        Entry::new(SERVICE, key).map_err(|error| unavailable(&error))
    }
}

/// Tests with the keychain of the user who runs them. `tests/login/test_keyring.py` tests the
/// keychain of Linux.
#[cfg(all(test, any(target_os = "macos", windows)))]
mod tests {
    use super::*;

    #[test]
    fn a_small_and_a_large_value_come_back_until_they_are_deleted() {
        let (keychain, key) = (KeychainStore, format!("test {}", std::process::id()));
        assert!(keychain.load(&key).expect("loads").is_none());
        // The second length is more than the Credential Manager of Windows accepts.
        for length in [10, 10_000] {
            let value = vec![b'x'; length];
            keychain.save(&key, &value).expect("saves");
            assert_eq!(keychain.load(&key).expect("loads").expect("there").to_vec(), value);
        }
        keychain.delete(&key).expect("deletes");
        keychain.delete(&key).expect("deletes nothing");
        assert!(keychain.load(&key).expect("loads").is_none());
    }
}
