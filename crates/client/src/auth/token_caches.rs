//! A store with the token caches of the users who are active in this process: all credentials of one user
//! share one token, one refresh and one remembered rejection.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use sha2::{Digest, Sha256};

use super::{
    store::{TokenStore, is_token_key, refusal_key},
    token_cache::TokenCache,
};
use crate::{error::Result, os::process::PerProcess};

/// A token store, as all credentials share it that are created for the same one.
#[derive(Clone)]
pub struct SharedStore {
    store: Arc<dyn TokenStore>,
    caches: Arc<TokenCaches>,
}

impl SharedStore {
    /// A store with its caches.
    pub fn new(store: Arc<dyn TokenStore>, caches: Arc<TokenCaches>) -> Self {
        SharedStore { store, caches }
    }

    /// The store itself.
    pub fn store(&self) -> Arc<dyn TokenStore> {
        self.store.clone()
    }

    /// Stores a value. New tokens make what is known about a refusal of others useless: it is deleted here,
    /// for every caller, so that a store does not grow.
    pub fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        self.store.save(key, value)?;
        if is_token_key(key) {
            let refusal = refusal_key(key);
            // The tokens are saved: a refusal that stays is of others, and harmless.
            if let Ok(Some(_)) = self.store.load(&refusal) {
                let _ = self.store.delete(&refusal);
            }
        }
        Ok(())
    }

    /// The cache of a key, for callers with this client secret.
    pub(super) fn cache(&self, key: &str, client_secret: Option<&str>) -> Result<Arc<TokenCache>> {
        self.caches.get(key, client_secret)
    }
}

impl Deref for SharedStore {
    type Target = dyn TokenStore;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

impl<T: TokenStore + 'static> From<Arc<T>> for SharedStore {
    fn from(store: Arc<T>) -> Self {
        SharedStore { store, caches: Arc::default() }
    }
}

boardlot_service::shown_as!(SharedStore, "SharedStore(..)");

/// The caches that are in use, by the key in the store.
#[derive(Default)]
pub struct TokenCaches(PerProcess<Mutex<HashMap<CacheKey, Weak<TokenCache>>>>);

/// The key in the store, and the hash of the caller's own client secret: a wrong one of one caller is
/// rejected for that caller only.
type CacheKey = (String, Option<[u8; 32]>);

impl TokenCaches {
    fn get(&self, key: &str, client_secret: Option<&str>) -> Result<Arc<TokenCache>> {
        let turn_of = client_secret.map(|_| self.get(key, None)).transpose()?;
        let in_use = self.0.get_or_make(|| Ok(Mutex::default()))?;
        let mut in_use = in_use.lock().unwrap_or_else(PoisonError::into_inner);
        let key = (key.to_owned(), client_secret.map(|secret| Sha256::digest(secret).into()));
        if let Some(cache) = in_use.get(&key).and_then(Weak::upgrade) {
            return Ok(cache);
        }
        // Before it would grow: to twice as many as have a user, so that few calls look at all of them.
        if in_use.len() == in_use.capacity() {
            in_use.retain(|_, cache| cache.strong_count() > 0);
            let users = in_use.len();
            in_use.reserve(users);
        }
        let cache = Arc::new(TokenCache::with_turn_of(turn_of));
        in_use.insert(key, Arc::downgrade(&cache));
        Ok(cache)
    }
}

boardlot_service::shown_as!(TokenCaches, "TokenCaches(..)");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_43_a_cache_is_shared_by_one_user_only() {
        let caches = TokenCaches::default();
        let get = |key: &str, secret| caches.get(key, secret).expect("a cache");
        let alice = get("alice", None);
        assert!(Arc::ptr_eq(&alice, &get("alice", None)));
        assert!(!Arc::ptr_eq(&alice, &get("bob", None)));
        assert!(!Arc::ptr_eq(&alice, &get("alice", Some("secret"))));
    }

    #[tokio::test(start_paused = true)]
    async fn security_51_one_caller_at_a_time_changes_the_tokens_of_a_key() {
        let caches = TokenCaches::default();
        let get = |key: &str, secret| caches.get(key, secret).expect("a cache");
        let (one, other) = (get("alice", Some("one")), get("alice", Some("other")));
        let turn = one.turn().await.expect("a turn");
        assert!(other.turn().await.is_err() && get("alice", None).turn().await.is_err());
        assert!(get("bob", Some("one")).turn().await.is_ok());
        drop((turn, one));
        assert!(other.turn().await.is_ok() && get("alice", None).turn().await.is_ok());
    }

    #[test]
    fn only_active_users_occupy_memory() {
        let caches = TokenCaches::default();
        let active = caches.get("active", None).expect("a cache");
        for n in 0..10_000 {
            drop(caches.get(&format!("user-{n}"), None).expect("a cache"));
        }
        let in_use = caches.0.get().expect("made");
        let entries = in_use.lock().expect("a lock").len();
        assert!(entries < 64, "{entries}");
        assert!(Arc::ptr_eq(&active, &caches.get("active", None).expect("a cache")));
    }
}
