//! Tokens in the memory of this process.

use std::{
    collections::{BTreeMap, HashSet},
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Instant,
};

use arc_swap::ArcSwap;

use super::{Guard, REFRESH_LOCK_TIMEOUT, Secret, TokenStore};
use crate::{
    error::{ErrorKind, Result},
    process::PerProcess,
};

/// A store that is lost with the process. Reading and writing take no lock, because a forked child could
/// find it locked for ever.
#[derive(Default)]
pub struct Memory {
    values: ArcSwap<BTreeMap<String, Arc<Secret>>>,
    locks: PerProcess<Arc<Locks>>,
}

#[derive(Default)]
struct Locks {
    keys: Mutex<HashSet<String>>,
    released: Condvar,
}

impl TokenStore for Memory {
    fn load(&self, key: &str) -> Result<Option<Secret>> {
        Ok(self.values.load().get(key).map(|value| Secret::clone(value)))
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        let value = Arc::new(Secret::new(value.to_vec()));
        self.values.rcu(|values| {
            let mut values = BTreeMap::clone(values);
            values.insert(key.to_owned(), value.clone());
            values
        });
        Ok(())
    }

    fn delete(&self, key: &str) -> Result<()> {
        self.values.rcu(|values| {
            let mut values = BTreeMap::clone(values);
            values.remove(key);
            values
        });
        Ok(())
    }

    fn lock(&self, key: &str) -> Result<Guard> {
        let locks = Arc::clone(&*self.locks.get_or_make(|| Ok(Arc::default()))?);
        let until = Instant::now() + REFRESH_LOCK_TIMEOUT;
        let mut keys = locks.keys.lock().unwrap_or_else(PoisonError::into_inner);
        while keys.contains(key) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                let what = "another refresh has not finished; call again";
                return Err(ErrorKind::Store(what.into()).into());
            }
            keys =
                locks.released.wait_timeout(keys, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        keys.insert(key.to_owned());
        drop(keys);
        Ok(Guard::new(Release { locks, key: key.to_owned() }))
    }
}

struct Release {
    locks: Arc<Locks>,
    key: String,
}

impl Drop for Release {
    fn drop(&mut self) {
        self.locks.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        self.locks.released.notify_all();
    }
}

impl std::fmt::Debug for Memory {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("Memory(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_loaded_until_it_is_deleted() {
        let store = Memory::default();
        assert!(store.load("a").expect("loads").is_none());
        store.save("a", b"1").expect("saves");
        store.save("b", b"").expect("saves");
        assert_eq!(store.load("a").expect("loads").expect("there").as_slice(), b"1");
        assert_eq!(store.load("b").expect("loads").expect("there").as_slice(), b"");
        store.delete("a").expect("deletes");
        store.delete("a").expect("deletes nothing");
        assert!(store.load("a").expect("loads").is_none());
    }

    #[test]
    fn a_key_is_locked_by_one_at_a_time() {
        let store = Arc::new(Memory::default());
        let first = store.lock("a").expect("locked");
        let _other = store.lock("b").expect("another key is free");
        let waiting = {
            let store = store.clone();
            std::thread::spawn(move || store.lock("a").map(drop))
        };
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!waiting.is_finished());
        drop(first);
        waiting.join().expect("no panic").expect("locked after the first");
    }
}
