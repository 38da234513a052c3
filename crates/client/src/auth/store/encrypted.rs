//! Tokens in an encrypted file, under a passphrase or a key.

use std::{
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use arc_swap::ArcSwapOption;
use argon2::{Algorithm, Argon2, Params, Version};
use zeroize::Zeroizing;

use super::{
    CHANGE_LOCK_TIMEOUT, Guard, InterruptCheck, REFRESH_LOCK_TIMEOUT, Secret, TokenStore, files,
    keys::lock_slot,
    sealed::{Key, Salt, Sealed, Values, random, seal},
    store_error,
};
use crate::{
    error::{Error, Result},
    os::lock::FileLock,
};

const FILE_MAX_BYTES: u64 = 16 << 20;

/// The second recommendation of RFC 9106: 64 MiB, three passes; here with one lane. Small in tests.
const MEMORY_KIB: u32 = if cfg!(test) { 64 } else { 64 * 1024 };
const PASSES: u32 = if cfg!(test) { 1 } else { 3 };

/// Returns the passphrase when it is needed.
pub type Passphrase = Box<dyn Fn() -> Result<Zeroizing<String>> + Send + Sync>;

/// A file with the tokens of any number of clients, encrypted under one passphrase.
///
/// ```
/// use boardlot_client::EncryptedFileStore;
///
/// let passphrase = || Ok("from the environment, or from a prompt".to_owned().into());
/// let store = EncryptedFileStore::under("tokens.boardlot", passphrase);
/// # let _ = store;
/// ```
pub struct EncryptedFileStore {
    path: PathBuf,
    source: KeySource,
    /// The key of the last salt, so that Argon2id does not run for every change.
    key: ArcSwapOption<(Salt, Key)>,
    interrupt_check: Box<InterruptCheck>,
}

enum KeySource {
    Passphrase(Passphrase),
    /// A random key that is stored in a keychain.
    Key(Key),
}

impl EncryptedFileStore {
    /// Creates a store in the file at `path`, encrypted under a passphrase, which is requested when
    /// it is needed. The first login creates the file.
    pub fn under(
        path: impl Into<PathBuf>,
        passphrase: impl Fn() -> Result<Zeroizing<String>> + Send + Sync + 'static,
    ) -> Self {
        Self::new(path.into(), Box::new(passphrase), Box::new(|| Ok(())))
    }

    /// A file under a passphrase. `interrupt_check` is called repeatedly while waiting for its
    /// lock.
    #[doc(hidden)]
    pub fn new(
        path: PathBuf,
        passphrase: Passphrase,
        interrupt_check: Box<InterruptCheck>,
    ) -> Self {
        let source = KeySource::Passphrase(passphrase);
        EncryptedFileStore { path, source, key: ArcSwapOption::empty(), interrupt_check }
    }

    /// A file under a random key.
    #[doc(hidden)]
    pub fn with_key(path: PathBuf, key: Key) -> Self {
        let (source, interrupt_check) = (KeySource::Key(key), Box::new(|| Ok(())));
        EncryptedFileStore { path, source, key: ArcSwapOption::empty(), interrupt_check }
    }

    fn read(&self) -> Result<(Option<Salt>, Values)> {
        let Some(content) = files::read(&self.path, FILE_MAX_BYTES)? else {
            return Ok((None, Values::new()));
        };
        let sealed = Sealed::parse(&content).map_err(|why| self.unreadable(&why))?;
        let key = self.key_for(&sealed.salt)?;
        let Some(plaintext) = sealed.decrypt(&key)? else {
            // The next attempt may ask for another passphrase.
            self.key.store(None);
            return Err(self.unreadable("the passphrase is wrong, or the file was changed"));
        };
        let values = sealed.values(&plaintext);
        Ok((Some(sealed.salt), values.ok_or_else(|| self.unreadable("its content is malformed"))?))
    }

    fn write(&self, salt: Option<Salt>, values: &Values) -> Result<()> {
        let salt = salt.map_or_else(random, Ok)?;
        let content = seal(&salt, &self.key_for(&salt)?, values)?;
        if content.len() as u64 > FILE_MAX_BYTES {
            return Err(store_error(&self.path, "the file would be too large", "use another file"));
        }
        files::write(&self.path, &content)
    }

    /// Reads, changes and writes under the lock, so that no process loses another process's change.
    fn change(&self, key: &str, change: impl FnOnce(&mut Values) -> bool) -> Result<()> {
        if key.is_empty() || key.contains(['\n', '\0']) {
            return Err(Error::argument("key", "not valid", "a non-empty string of one line"));
        }
        // Fails here, before the lock file is created and before the passphrase is requested.
        files::read(&self.path, FILE_MAX_BYTES)?;
        let _lock = self.file_lock(".lock", CHANGE_LOCK_TIMEOUT)?;
        let (salt, mut values) = self.read()?;
        if change(&mut values) { self.write(salt, &values) } else { Ok(()) }
    }

    fn key_for(&self, salt: &Salt) -> Result<Key> {
        let ask = match &self.source {
            KeySource::Key(key) => return Ok(key.clone()),
            KeySource::Passphrase(ask) => ask,
        };
        if let Some(known) = &*self.key.load()
            && known.0 == *salt
        {
            return Ok(known.1.clone());
        }
        let passphrase = ask()?;
        if passphrase.is_empty() {
            let expected = "a passphrase that is hard to guess";
            return Err(Error::argument("passphrase", "empty", expected));
        }
        let mut key = Key::default();
        Params::new(MEMORY_KIB, PASSES, 1, Some(key.len()))
            .and_then(|costs| {
                Argon2::new(Algorithm::Argon2id, Version::V0x13, costs).hash_password_into(
                    passphrase.as_bytes(),
                    salt,
                    key.as_mut(),
                )
            })
            .map_err(|error| store_error(&self.path, error, "free some memory and call again"))?;
        self.key.store(Some(Arc::new((*salt, key.clone()))));
        Ok(key)
    }

    fn unreadable(&self, why: &str) -> Error {
        let remedy = "pass the right passphrase; if it is lost, move the file away and log in again (the \
                      file was left unchanged)";
        store_error(&self.path, why, remedy)
    }

    fn file_lock(&self, suffix: &str, max_wait: Duration) -> Result<FileLock> {
        let mut path = self.path.as_os_str().to_owned();
        path.push(suffix);
        files::lock(Path::new(&path), max_wait, &self.interrupt_check)
    }
}

impl TokenStore for EncryptedFileStore {
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

    /// Locks another file than `change` does, which takes its lock while this one is held.
    fn lock(&self, key: &str) -> Result<Guard> {
        let suffix = match lock_slot(key).as_str() {
            "" => ".refresh.lock".to_owned(),
            slot => format!(".refresh-{slot}.lock"),
        };
        self.file_lock(&suffix, REFRESH_LOCK_TIMEOUT).map(Guard::new)
    }
}

boardlot_service::shown_as!(
    EncryptedFileStore,
    |this| "EncryptedFileStore({})",
    this.path.display()
);

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::error::ErrorKind;

    /// A folder that is deleted when the test ends.
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

        fn store(&self, passphrase: &str) -> EncryptedFileStore {
            let passphrase = Zeroizing::new(passphrase.to_owned());
            let ask = Box::new(move || Ok(passphrase.clone()));
            EncryptedFileStore::new(self.path(), ask, Box::new(|| Ok(())))
        }
    }

    impl Drop for Folder {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn refused(store: &EncryptedFileStore, path: &std::path::Path) {
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
        assert_eq!(again.load("a").expect("loads").expect("there").to_vec(), b"secret-1");
        assert_eq!(again.load("https://x c").expect("loads").expect("there").to_vec(), b"");
        let before = fs::read(folder.path()).expect("a file");
        assert!(!before.windows(6).any(|bytes| bytes == b"secret"));
        store.save("a", b"secret-1").expect("saves");
        assert_ne!(fs::read(folder.path()).expect("a file"), before);
        again.delete("a").expect("deletes");
        again.delete("a").expect("deletes nothing");
        assert!(store.load("a").expect("loads").is_none());
    }

    #[test]
    fn any_flipped_bit_and_any_cut_is_rejected() {
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
    fn what_others_can_touch_is_rejected() {
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
        crate::os::atomic_file::remove(&path).expect("removed");
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
        let store = |byte| EncryptedFileStore::with_key(folder.path(), Zeroizing::new([byte; 32]));
        store(1).save("a", b"value").expect("saves");
        assert!(store(1).load("a").expect("loads").is_some());
        refused(&store(2), &folder.path());
    }
}
