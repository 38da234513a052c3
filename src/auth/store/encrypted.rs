//! An encrypted file: AES-256-GCM under a key that Argon2id makes from a passphrase.
//!
//! Layout of format version 1, all lengths little-endian:
//!
//! | Bytes | What |
//! |---|---|
//! | 16 | `boardlot tokens\n` |
//! | 1 | format version |
//! | 16 | salt of the passphrase; stays with the file |
//! | 12 | nonce; random with each change |
//! | 4 | length of the list of keys |
//! | so many | the keys (origin and client id), each with a line feed, in order |
//! | the rest | the values, each with its length before it, encrypted; 16 bytes of tag |
//!
//! All before the values is associated data: a bit flipped anywhere is found. The costs of Argon2id
//! belong to the format version, so that a file cannot ask for absurd ones.

use std::{collections::BTreeMap, path::PathBuf, sync::Arc};

use arc_swap::ArcSwapOption;
use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, Nonce, UnboundKey};
use zeroize::Zeroizing;

use super::{CHANGE_PATIENCE, Guard, RENEWAL_PATIENCE, Secret, TokenStore, files, store_error};
use crate::error::{Error, ErrorKind, Result};

const MAGIC: &[u8; 16] = b"boardlot tokens\n";
const FORMAT_VERSION: u8 = 1;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
const FILE_MAX_BYTES: u64 = 16 << 20;

/// 64 MiB three times: the second choice of RFC 9106, on one lane.
const MEMORY_KIB: u32 = 64 * 1024;
const PASSES: u32 = 3;

type Salt = [u8; SALT_BYTES];
type Key = Zeroizing<[u8; 32]>;
type Values = BTreeMap<String, Secret>;

/// Gives the passphrase when it is needed.
pub type Passphrase = Box<dyn Fn() -> Result<Zeroizing<String>> + Send + Sync>;

/// A file with the tokens of any number of clients, under one passphrase.
pub struct EncryptedFile {
    path: PathBuf,
    source: Source,
    /// The key of the last salt, so that not every change takes the time of Argon2id.
    key: ArcSwapOption<(Salt, Key)>,
}

enum Source {
    Passphrase(Passphrase),
    /// Made by us and kept in a keychain.
    Key(Key),
}

impl EncryptedFile {
    pub fn new(path: PathBuf, passphrase: Passphrase) -> Self {
        EncryptedFile { path, source: Source::Passphrase(passphrase), key: ArcSwapOption::empty() }
    }

    /// A file under a random key.
    pub fn with_key(path: PathBuf, key: Key) -> Self {
        EncryptedFile { path, source: Source::Key(key), key: ArcSwapOption::empty() }
    }

    fn read(&self) -> Result<(Option<Salt>, Values)> {
        let Some(content) = files::read(&self.path, FILE_MAX_BYTES)? else {
            return Ok((None, Values::new()));
        };
        let parts = Parts::split(&content).map_err(|what| self.damaged(what))?;
        let key = self.key_for(&parts.salt)?;
        let mut sealed = Zeroizing::new(parts.sealed.to_vec());
        let opened = cipher(&key)?
            .open_in_place(
                Nonce::assume_unique_for_key(parts.nonce),
                Aad::from(parts.head),
                &mut sealed,
            )
            .map_err(|_| {
                // The next try may ask for another passphrase.
                self.key.store(None);
                self.damaged("the passphrase is wrong, or the file was changed")
            })?;
        let values =
            values(parts.keys, opened).ok_or_else(|| self.damaged("it is not readable"))?;
        Ok((Some(parts.salt), values))
    }

    fn write(&self, salt: Option<Salt>, values: &Values) -> Result<()> {
        let salt = match salt {
            Some(salt) => salt,
            None => random()?,
        };
        let key = self.key_for(&salt)?;
        let nonce: [u8; NONCE_BYTES] = random()?;
        let mut content = Vec::new();
        content.extend_from_slice(MAGIC);
        content.push(FORMAT_VERSION);
        content.extend_from_slice(&salt);
        content.extend_from_slice(&nonce);
        let keys: String = values.keys().map(|key| format!("{key}\n")).collect();
        content.extend_from_slice(&length(keys.len())?);
        content.extend_from_slice(keys.as_bytes());
        let size = values.values().map(|value| value.len() + 4).sum::<usize>() + TAG_BYTES;
        let mut sealed = Zeroizing::new(Vec::with_capacity(size));
        for value in values.values() {
            sealed.extend_from_slice(&length(value.len())?);
            sealed.extend_from_slice(value);
        }
        cipher(&key)?
            .seal_in_place_append_tag(
                Nonce::assume_unique_for_key(nonce),
                Aad::from(content.as_slice()),
                &mut *sealed,
            )
            .map_err(|_| ErrorKind::Store("the tokens cannot be encrypted".into()))?;
        content.extend_from_slice(&sealed);
        if content.len() as u64 > FILE_MAX_BYTES {
            return Err(store_error(&self.path, "it would grow too large", "use another file"));
        }
        files::write(&self.path, &content)
    }

    /// Reads, changes and writes under the lock, so that no process loses another's change.
    fn change(&self, key: &str, change: impl FnOnce(&mut Values) -> bool) -> Result<()> {
        if key.is_empty() || key.contains(['\n', '\0']) {
            return Err(Error::config("a key of a store is a text of one line"));
        }
        // Refused before the lock file is made, and before anybody is asked for a passphrase.
        files::read(&self.path, FILE_MAX_BYTES)?;
        let _lock = files::Lock::acquire(&self.beside(".lock"), CHANGE_PATIENCE)?;
        let (salt, mut values) = self.read()?;
        if change(&mut values) { self.write(salt, &values) } else { Ok(()) }
    }

    fn key_for(&self, salt: &Salt) -> Result<Key> {
        let ask = match &self.source {
            Source::Key(key) => return Ok(key.clone()),
            Source::Passphrase(ask) => ask,
        };
        if let Some(known) = &*self.key.load()
            && known.0 == *salt
        {
            return Ok(known.1.clone());
        }
        let passphrase = ask()?;
        if passphrase.is_empty() {
            return Err(Error::config("the passphrase is empty; give one that is hard to guess"));
        }
        let mut key = Key::default();
        let costs = Params::new(MEMORY_KIB, PASSES, 1, Some(key.len())).and_then(|costs| {
            Argon2::new(Algorithm::Argon2id, Version::V0x13, costs).hash_password_into(
                passphrase.as_bytes(),
                salt,
                key.as_mut(),
            )
        });
        costs.map_err(|error| store_error(&self.path, error, "free some memory and call again"))?;
        self.key.store(Some(Arc::new((*salt, key.clone()))));
        Ok(key)
    }

    fn damaged(&self, what: impl std::fmt::Display) -> Error {
        let way_out = "give the right passphrase; the file was left as it is: if it is lost, move \
                       it away and log in again";
        store_error(&self.path, what, way_out)
    }

    fn beside(&self, ending: &str) -> PathBuf {
        files::with_ending(&self.path, ending)
    }
}

impl TokenStore for EncryptedFile {
    fn load(&self, key: &str) -> Result<Option<Secret>> {
        Ok(self.read()?.1.remove(key))
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        self.change(key, |values| {
            values.insert(key.to_owned(), Secret::new(value.to_vec()));
            true
        })
    }

    fn delete(&self, key: &str) -> Result<()> {
        if files::read(&self.path, FILE_MAX_BYTES)?.is_none() {
            return Ok(());
        }
        self.change(key, |values| values.remove(key).is_some())
    }

    /// Another file than that of `change`, which is needed while this one is held.
    fn hold(&self, _key: &str) -> Result<Guard> {
        files::Lock::acquire(&self.beside(".refresh.lock"), RENEWAL_PATIENCE).map(Guard::new)
    }
}

impl std::fmt::Debug for EncryptedFile {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "EncryptedFile({})", self.path.display())
    }
}

/// A file's content, taken apart but not yet believed.
struct Parts<'a> {
    head: &'a [u8],
    salt: Salt,
    nonce: [u8; NONCE_BYTES],
    keys: &'a [u8],
    sealed: &'a [u8],
}

impl<'a> Parts<'a> {
    fn split(content: &'a [u8]) -> Result<Self, String> {
        let short = || "it is no token store, or was cut off".to_owned();
        let rest = content.strip_prefix(MAGIC.as_slice()).ok_or_else(short)?;
        let (&[version], rest) = rest.split_first_chunk().ok_or_else(short)?;
        if version != FORMAT_VERSION {
            return Err(format!(
                "it is of format version {version}, and this release reads {FORMAT_VERSION}"
            ));
        }
        let (&salt, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let (&nonce, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let (&size, rest) = rest.split_first_chunk().ok_or_else(short)?;
        let size = usize::try_from(u32::from_le_bytes(size)).unwrap_or(usize::MAX);
        let (keys, sealed) = rest.split_at_checked(size).ok_or_else(short)?;
        let head = content.get(..content.len() - sealed.len()).ok_or_else(short)?;
        Ok(Parts { head, salt, nonce, keys, sealed })
    }
}

fn values(keys: &[u8], mut opened: &[u8]) -> Option<Values> {
    let keys = std::str::from_utf8(keys).ok()?;
    let mut values = Values::new();
    for key in keys.split_terminator('\n') {
        let (&size, rest) = opened.split_first_chunk()?;
        let size = usize::try_from(u32::from_le_bytes(size)).ok()?;
        let (value, rest) = rest.split_at_checked(size)?;
        values.insert(key.to_owned(), Secret::new(value.to_vec()));
        opened = rest;
    }
    opened.is_empty().then_some(values)
}

fn cipher(key: &Key) -> Result<LessSafeKey> {
    UnboundKey::new(&AES_256_GCM, key.as_ref())
        .map(LessSafeKey::new)
        .map_err(|_| ErrorKind::Store("AES-256-GCM is not available".into()).into())
}

fn length(number: usize) -> Result<[u8; 4]> {
    u32::try_from(number)
        .map(u32::to_le_bytes)
        .map_err(|_| ErrorKind::Store("a value is too large for the store".into()).into())
}

fn random<const N: usize>() -> Result<[u8; N]> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| ErrorKind::Store(format!("the system gives no random bytes: {error}")))?;
    Ok(bytes)
}
