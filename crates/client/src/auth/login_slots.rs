//! A store with the slots of the logins that are active in this process: all credentials of one
//! login share its tokens, its refresh and its remembered refusal.

use std::{
    collections::{HashMap, HashSet},
    ops::Deref,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    login_slot::LoginSlot,
    store::{TokenStore, is_token_key, refusal_key},
};
use crate::{error::Result, os::process::shared};

/// A token store that all credentials created for it share. Made from the `Arc` of a [`TokenStore`]
/// by `.into()`, which `OAuth::new` and `LoginOptions::new` call.
#[derive(Clone)]
pub struct SharedStore {
    store: Arc<dyn TokenStore>,
    id: StoreId,
}

impl SharedStore {
    /// Creates a store with this id.
    #[doc(hidden)]
    pub fn new(store: Arc<dyn TokenStore>, id: StoreId) -> Self {
        SharedStore { store, id }
    }

    /// Returns the store itself.
    #[doc(hidden)]
    pub fn store(&self) -> Arc<dyn TokenStore> {
        self.store.clone()
    }

    /// Stores a value. New tokens make the stored refusal of earlier tokens useless, so the refusal
    /// is deleted here, for every caller: a store does not grow.
    #[doc(hidden)]
    pub fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        self.store.save(key, value)?;
        if is_token_key(key) {
            let refusal = refusal_key(key);
            // The tokens are saved. A refusal that remains is about other tokens, and harmless.
            if let Ok(Some(_)) = self.store.load(&refusal) {
                let _ = self.store.delete(&refusal);
            }
        }
        Ok(())
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
        SharedStore { store, id: StoreId::new() }
    }
}

boardlot_service::shown_as!(SharedStore, "SharedStore(..)");

/// Identifies a store among those of this process.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct StoreId(u64);

impl StoreId {
    /// Creates the id of a store that has none yet.
    pub fn new() -> Self {
        StoreId(next_number())
    }
}

impl Default for StoreId {
    fn default() -> Self {
        Self::new()
    }
}

fn next_number() -> u64 {
    static NEXT: AtomicU64 = AtomicU64::new(0);
    NEXT.fetch_add(1, Ordering::Relaxed)
}

/// The slots that this process uses, each with the credentials that use it.
#[derive(Default)]
struct InUse(Mutex<HashMap<Arc<SlotKey>, Users>>);

/// The store, and the key in it.
type SlotKey = (StoreId, String);
type Users = (Arc<LoginSlot>, HashSet<u64>);

/// The slot of one login. It is looked up at the first use in a process, because its key contains
/// the service.
pub struct OwnSlot {
    /// Identifies the credentials that have the slot.
    user: u64,
    key: OnceLock<Arc<SlotKey>>,
}

impl OwnSlot {
    /// Creates a slot that has not been used.
    pub fn new() -> Self {
        OwnSlot { user: next_number(), key: OnceLock::new() }
    }

    /// Returns the slot for this key in the store.
    pub fn get(
        &self,
        store: &SharedStore,
        key: impl FnOnce() -> Result<String>,
    ) -> Result<Arc<LoginSlot>> {
        let key = match self.key.get() {
            Some(key) => key,
            None => {
                let found = Arc::new((store.id, key()?));
                self.key.get_or_init(|| found)
            }
        };
        let in_use = shared::<InUse>()?;
        let mut in_use = in_use.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (slot, users) = in_use
            .entry(key.clone())
            .or_insert_with(|| (Arc::new(LoginSlot::new()), HashSet::new()));
        users.insert(self.user);
        Ok(slot.clone())
    }
}

impl Drop for OwnSlot {
    /// Removes the slot with its last user.
    fn drop(&mut self) {
        let (Some(key), Ok(in_use)) = (self.key.get(), shared::<InUse>()) else { return };
        let mut in_use = in_use.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_last = in_use.get_mut(key).is_some_and(|(_, users)| {
            users.remove(&self.user);
            users.is_empty()
        });
        let removed = is_last.then(|| in_use.remove(key));
        drop(in_use);
        drop(removed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::auth::store::Memory;

    fn store() -> SharedStore {
        Arc::new(Memory::default()).into()
    }

    fn slot(store: &SharedStore, key: &str) -> (OwnSlot, Arc<LoginSlot>) {
        let own = OwnSlot::new();
        let slot = own.get(store, || Ok(key.to_owned())).expect("a slot");
        (own, slot)
    }

    #[test]
    fn security_43_a_slot_is_shared_by_one_user_only() {
        let store = store();
        let (_own, alice) = slot(&store, "alice");
        assert!(Arc::ptr_eq(&alice, &slot(&store, "alice").1));
        assert!(!Arc::ptr_eq(&alice, &slot(&store, "bob").1));
        assert!(!Arc::ptr_eq(&alice, &slot(&self::store(), "alice").1));
    }

    #[tokio::test(start_paused = true)]
    async fn security_51_one_caller_at_a_time_changes_the_tokens_of_a_key() {
        let store = store();
        let ((_a, one), (_b, other)) = (slot(&store, "alice"), slot(&store, "alice"));
        let turn = one.turn().await.expect("a turn");
        assert!(other.turn().await.is_err());
        assert!(slot(&store, "bob").1.turn().await.is_ok());
        drop(turn);
        assert!(other.turn().await.is_ok());
    }

    #[test]
    fn only_active_users_occupy_memory() {
        let store = store();
        let entries = || {
            let in_use = shared::<InUse>().expect("slots");
            let in_use = in_use.0.lock().expect("a lock");
            in_use.keys().filter(|key| key.0 == store.id).count()
        };
        let (_own, active) = slot(&store, "active");
        for n in 0..1_000 {
            drop(slot(&store, &format!("user-{n}")));
        }
        assert_eq!(entries(), 1);
        assert!(Arc::ptr_eq(&active, &slot(&store, "active").1));
        assert_eq!(entries(), 1);
    }
}
