//! Locks by key within one process.

use std::{
    collections::HashSet,
    sync::{Arc, Condvar, Mutex, PoisonError},
    time::Instant,
};

use super::{Guard, REFRESH_LOCK_TIMEOUT, still_locked};
use crate::{error::Result, os::process::PerProcess};

/// The keys that are locked now.
#[derive(Default)]
pub struct KeyLocks(PerProcess<Arc<Locked>>);

#[derive(Default)]
struct Locked {
    keys: Mutex<HashSet<String>>,
    released: Condvar,
}

impl KeyLocks {
    /// Waits until no other thread has locked the key.
    pub fn lock(&self, key: &str) -> Result<Guard> {
        let locked = Arc::clone(&*self.0.get_or_make(|| Ok(Arc::default()))?);
        let until = Instant::now() + REFRESH_LOCK_TIMEOUT;
        let mut keys = locked.keys.lock().unwrap_or_else(PoisonError::into_inner);
        while keys.contains(key) {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(still_locked());
            }
            keys =
                locked.released.wait_timeout(keys, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        keys.insert(key.to_owned());
        drop(keys);
        Ok(Guard::new(Release { locked, key: key.to_owned() }))
    }
}

boardlot_service::shown_as!(KeyLocks, "KeyLocks(..)");

struct Release {
    locked: Arc<Locked>,
    key: String,
}

impl Drop for Release {
    fn drop(&mut self) {
        self.locked.keys.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.key);
        self.locked.released.notify_all();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_locked_by_one_at_a_time() {
        let locks = Arc::new(KeyLocks::default());
        let first = locks.lock("a").expect("locked");
        let _other = locks.lock("b").expect("another key is free");
        let waiting = {
            let locks = locks.clone();
            std::thread::spawn(move || locks.lock("a").map(drop))
        };
        std::thread::sleep(std::time::Duration::from_millis(50));
        assert!(!waiting.is_finished());
        drop(first);
        waiting.join().expect("no panic").expect("locked after the first");
    }
}
