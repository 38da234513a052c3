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

use super::{
    CHANGE_PATIENCE, Guard, RENEWAL_PATIENCE, Secret, TokenStore, WhileWaiting, files, store_error,
};
use crate::error::{Error, ErrorKind, Result};

const MAGIC: &[u8; 16] = b"boardlot tokens\n";
const FORMAT_VERSION: u8 = 1;
const SALT_BYTES: usize = 16;
const NONCE_BYTES: usize = 12;
const TAG_BYTES: usize = 16;
const FILE_MAX_BYTES: u64 = 16 << 20;

/// 64 MiB three times: the second choice of RFC 9106, on one lane. Tests do not wait for it.
const MEMORY_KIB: u32 = if cfg!(test) { 64 } else { 64 * 1024 };
const PASSES: u32 = if cfg!(test) { 1 } else { 3 };

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
    /// Whether whoever changes the file still waits for its lock.
    tick: Box<WhileWaiting>,
}

enum Source {
    Passphrase(Passphrase),
    /// Made by us and kept in a keychain.
    Key(Key),
}

impl EncryptedFile {
    /// A file under a passphrase; `tick` is asked again and again while its lock is waited for.
    pub fn new(path: PathBuf, passphrase: Passphrase, tick: Box<WhileWaiting>) -> Self {
        let source = Source::Passphrase(passphrase);
        EncryptedFile { path, source, key: ArcSwapOption::empty(), tick }
    }

    /// A file under a random key.
    pub fn with_key(path: PathBuf, key: Key) -> Self {
        let (source, tick) = (Source::Key(key), Box::new(|| Ok(())));
        EncryptedFile { path, source, key: ArcSwapOption::empty(), tick }
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
        let _lock = files::Lock::acquire(&self.beside(".lock"), CHANGE_PATIENCE, &self.tick)?;
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
    fn lock(&self, _key: &str) -> Result<Guard> {
        let lock = self.beside(".refresh.lock");
        files::Lock::acquire(&lock, RENEWAL_PATIENCE, &self.tick).map(Guard::new)
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

#[cfg(test)]
mod tests {
    use std::fs;

    use proptest::prelude::*;

    use super::*;

    /// A folder of its own that goes with the test.
    struct Folder(PathBuf);

    impl Folder {
        fn new(name: &str) -> Self {
            let name = format!("boardlot-{name}-{}", std::process::id());
            let folder = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&folder);
            Folder(folder)
        }

        fn path(&self) -> PathBuf {
            self.0.join("tokens")
        }

        fn store(&self, passphrase: &str) -> EncryptedFile {
            let passphrase = Zeroizing::new(passphrase.to_owned());
            let ask = Box::new(move || Ok(passphrase.clone()));
            EncryptedFile::new(self.path(), ask, Box::new(|| Ok(())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn refused(store: &EncryptedFile, path: &std::path::Path) {
        let before = fs::read(path).ok();
        for outcome in [store.load("a").map(drop), store.save("a", b"new")] {
            let error = outcome.expect_err("refused");
            assert!(matches!(error.kind.as_ref(), ErrorKind::Store(_)), "{error}");
            assert!(error.to_string().contains("boardlot-"), "{error}");
        }
        assert_eq!(fs::read(path).ok(), before);
    }

    #[test]
    fn values_come_back_by_another_store_and_are_not_readable() {
        let folder = Folder::new("back");
        let store = folder.store("p");
        assert!(store.load("a").expect("loads").is_none());
        store.save("a", b"secret-1").expect("saves");
        store.save("https://x c", b"").expect("saves");
        let again = folder.store("p");
        assert_eq!(again.load("a").expect("loads").expect("there").as_slice(), b"secret-1");
        assert_eq!(again.load("https://x c").expect("loads").expect("there").as_slice(), b"");
        let before = fs::read(folder.path()).expect("a file");
        assert!(!before.windows(6).any(|bytes| bytes == b"secret"));
        store.save("a", b"secret-1").expect("saves");
        assert_ne!(fs::read(folder.path()).expect("a file"), before);
        again.delete("a").expect("deletes");
        again.delete("a").expect("deletes nothing");
        assert!(store.load("a").expect("loads").is_none());
    }

    #[test]
    fn any_flipped_bit_and_any_cut_is_refused() {
        let folder = Folder::new("flip");
        folder.store("p").save("a", b"value").expect("saves");
        let good = fs::read(folder.path()).expect("a file");
        let store = folder.store("p");
        for bit in 0..good.len() * 8 {
            let mut bad = good.clone();
            bad[bit / 8] ^= 1 << (bit % 8);
            fs::write(folder.path(), bad).expect("written");
            refused(&store, &folder.path());
        }
        for length in 0..good.len() {
            fs::write(folder.path(), &good[..length]).expect("written");
            refused(&store, &folder.path());
        }
        fs::write(folder.path(), good).expect("written");
        refused(&folder.store("q"), &folder.path());
        assert!(store.load("a").expect("loads").is_some());
    }

    #[cfg(unix)]
    #[test]
    fn what_others_can_touch_is_refused() {
        use std::os::unix::fs::{PermissionsExt, symlink};
        let folder = Folder::new("touch");
        let (store, path) = (folder.store("p"), folder.path());
        store.save("a", b"value").expect("saves");
        let mode = |path: &std::path::Path| {
            fs::metadata(path).expect("there").permissions().mode() & 0o777
        };
        assert_eq!((mode(&path), mode(&folder.0)), (0o600, 0o700));
        for bits in [0o640, 0o604, 0o620, 0o601] {
            fs::set_permissions(&path, fs::Permissions::from_mode(bits)).expect("set");
            refused(&store, &path);
        }
        fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).expect("set");
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o770)).expect("set");
        refused(&store, &path);
        fs::set_permissions(&folder.0, fs::Permissions::from_mode(0o700)).expect("set");
        let target = folder.0.join("target");
        fs::rename(&path, &target).expect("renamed");
        symlink(&target, &path).expect("linked");
        refused(&store, &path);
        fs::remove_file(&path).expect("removed");
        fs::create_dir(&path).expect("made");
        refused(&store, &path);
    }

    #[test]
    fn changes_of_many_threads_are_all_kept() {
        let folder = Folder::new("many");
        std::thread::scope(|scope| {
            for thread in 0..4 {
                let folder = &folder;
                scope.spawn(move || {
                    let store = folder.store("p");
                    for change in 0..10 {
                        store.save(&format!("{thread}-{change}"), b"x").expect("saves");
                    }
                });
            }
        });
        assert_eq!(folder.store("p").read().expect("reads").1.len(), 40);
    }

    #[test]
    fn a_key_out_of_a_keychain_needs_no_passphrase() {
        let folder = Folder::new("key");
        let store = |byte| EncryptedFile::with_key(folder.path(), Zeroizing::new([byte; 32]));
        store(1).save("a", b"value").expect("saves");
        assert!(store(1).load("a").expect("loads").is_some());
        refused(&store(2), &folder.path());
    }

    proptest! {
        #[test]
        fn any_values_come_back(
            values in proptest::collection::btree_map(
                "[^\n\0]{1,20}",
                proptest::collection::vec(any::<u8>(), 0..60),
                0..6,
            ),
        ) {
            let folder = Folder::new("any");
            let store = folder.store("p");
            let values: Values =
                values.into_iter().map(|(key, value)| (key, Secret::new(value))).collect();
            fs::create_dir_all(&folder.0).expect("made");
            store.write(None, &values).expect("written");
            prop_assert!(store.read().expect("read").1 == values);
        }

        #[test]
        fn any_bytes_are_taken_apart_or_refused(
            bytes in proptest::collection::vec(any::<u8>(), 0..120),
        ) {
            let whole = [MAGIC.as_slice(), &[FORMAT_VERSION], &bytes].concat();
            for bytes in [&bytes, &whole] {
                if let Ok(parts) = Parts::split(bytes) {
                    prop_assert_eq!(parts.head.len() + parts.sealed.len(), bytes.len());
                    let _ = values(parts.keys, parts.sealed);
                }
            }
        }
    }
}
