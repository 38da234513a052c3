//! A store with the slots of the logins that are active in this process: all credentials of one login share its
//! tokens, its refresh and its remembered refusal.

use std::{
    collections::HashMap,
    ops::Deref,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use super::{
    login_slot::LoginSlot,
    store::{TokenStore, is_token_key, refusal_key},
};
use crate::{error::Result, os::process::PerProcess};

/// A token store, as all credentials share it that are created for the same one.
#[derive(Clone)]
pub struct SharedStore {
    store: Arc<dyn TokenStore>,
    slots: Arc<LoginSlots>,
}

impl SharedStore {
    /// A store with its slots.
    pub fn new(store: Arc<dyn TokenStore>, slots: Arc<LoginSlots>) -> Self {
        SharedStore { store, slots }
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
}

impl Deref for SharedStore {
    type Target = dyn TokenStore;

    fn deref(&self) -> &Self::Target {
        &*self.store
    }
}

impl<T: TokenStore + 'static> From<Arc<T>> for SharedStore {
    fn from(store: Arc<T>) -> Self {
        SharedStore { store, slots: Arc::default() }
    }
}

boardlot_service::shown_as!(SharedStore, "SharedStore(..)");

/// The slot of one login: found when it is first used in a process, as its key has the service in it.
#[derive(Default)]
pub struct OwnSlot(PerProcess<Arc<LoginSlot>>);

impl OwnSlot {
    /// The slot, which is that of this key in the store.
    pub fn get(
        &self,
        store: &SharedStore,
        key: impl FnOnce() -> Result<String>,
    ) -> Result<Arc<LoginSlot>> {
        let slot = self.0.get_or_make(|| store.slots.get(&key()?))?;
        Ok(Arc::clone(&*slot))
    }
}

/// The slots that are in use, by the key in the store.
#[derive(Default)]
pub struct LoginSlots(PerProcess<Mutex<HashMap<String, Weak<LoginSlot>>>>);

impl LoginSlots {
    fn get(&self, key: &str) -> Result<Arc<LoginSlot>> {
        let in_use = self.0.get_or_make(|| Ok(Mutex::default()))?;
        let mut in_use = in_use.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(slot) = in_use.get(key).and_then(Weak::upgrade) {
            return Ok(slot);
        }
        // Before it would grow: to twice as many as have a user, so that few calls look at all of them.
        if in_use.len() == in_use.capacity() {
            in_use.retain(|_, slot| slot.strong_count() > 0);
            let users = in_use.len();
            in_use.reserve(users);
        }
        let slot = Arc::new(LoginSlot::new());
        in_use.insert(key.to_owned(), Arc::downgrade(&slot));
        Ok(slot)
    }
}

boardlot_service::shown_as!(LoginSlots, "LoginSlots(..)");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_43_a_slot_is_shared_by_one_user_only() {
        let slots = LoginSlots::default();
        let get = |key: &str| slots.get(key).expect("a slot");
        let alice = get("alice");
        assert!(Arc::ptr_eq(&alice, &get("alice")));
        assert!(!Arc::ptr_eq(&alice, &get("bob")));
    }

    #[tokio::test(start_paused = true)]
    async fn security_51_one_caller_at_a_time_changes_the_tokens_of_a_key() {
        let slots = LoginSlots::default();
        let get = |key: &str| slots.get(key).expect("a slot");
        let (one, other) = (get("alice"), get("alice"));
        let turn = one.turn().await.expect("a turn");
        assert!(other.turn().await.is_err());
        assert!(get("bob").turn().await.is_ok());
        drop((turn, one));
        assert!(other.turn().await.is_ok());
    }

    #[test]
    fn only_active_users_occupy_memory() {
        let slots = LoginSlots::default();
        let active = slots.get("active").expect("a slot");
        for n in 0..10_000 {
            drop(slots.get(&format!("user-{n}")).expect("a slot"));
        }
        let in_use = slots.0.get().expect("made");
        let entries = in_use.lock().expect("a lock").len();
        assert!(entries < 64, "{entries}");
        assert!(Arc::ptr_eq(&active, &slots.get("active").expect("a slot")));
    }
}
