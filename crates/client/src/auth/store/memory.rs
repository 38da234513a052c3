//! Tokens in the memory of this process.

use std::{
    collections::BTreeMap,
    hash::{DefaultHasher, Hash, Hasher},
    sync::Arc,
};

use arc_swap::ArcSwap;

use super::{Secret, TokenStore};
use crate::error::Result;

/// A change copies one shard, so its cost does not grow with every user of an application.
const SHARDS: usize = 64;

/// A store that is lost with the process.
// Reading and writing take no lock, because a forked child could find it locked forever.
pub struct MemoryStore([ArcSwap<Values>; SHARDS]);

type Values = BTreeMap<Arc<str>, Arc<Secret>>;

impl Default for MemoryStore {
    fn default() -> Self {
        MemoryStore(std::array::from_fn(|_| ArcSwap::default()))
    }
}

impl MemoryStore {
    fn shard(&self, key: &str) -> impl Iterator<Item = &ArcSwap<Values>> {
        let mut hasher = DefaultHasher::new();
        key.hash(&mut hasher);
        let number = usize::try_from(hasher.finish() % SHARDS as u64).unwrap_or_default();
        self.0.get(number).into_iter()
    }

    fn change(&self, key: &str, change: impl Fn(&mut Values)) {
        for shard in self.shard(key) {
            shard.rcu(|values| {
                let mut values = Values::clone(values);
                change(&mut values);
                values
            });
        }
    }
}

impl TokenStore for MemoryStore {
    fn why_empty(&self, _key: &str) -> &'static str {
        "the store has no token; a MemoryStore belongs to one process alone: if another worker logged in, \
         use a store that all workers share"
    }

    fn load(&self, key: &str) -> Result<Option<Secret>> {
        let mut shard = self.shard(key);
        Ok(shard.find_map(|values| values.load().get(key).map(|value| Secret::clone(value))))
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        let (name, value) = (Arc::<str>::from(key), Arc::new(Secret::new(value.to_vec())));
        self.change(key, |values| {
            values.insert(name.clone(), value.clone());
        });
        Ok(())
    }

    fn delete(&self, key: &str) -> Result<()> {
        self.change(key, |values| {
            values.remove(key);
        });
        Ok(())
    }
}

boardlot_service::shown_as!(MemoryStore, "MemoryStore(..)");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_saved_is_loaded_until_it_is_deleted() {
        let store = MemoryStore::default();
        assert!(store.load("a").expect("loads").is_none());
        store.save("a", b"1").expect("saves");
        store.save("b", b"").expect("saves");
        assert_eq!(store.load("a").expect("loads").expect("there").to_vec(), b"1");
        assert_eq!(store.load("b").expect("loads").expect("there").to_vec(), b"");
        store.delete("a").expect("deletes");
        store.delete("a").expect("deletes nothing");
        assert!(store.load("a").expect("loads").is_none());
    }

    #[test]
    fn many_keys_are_kept_separate() {
        let store = MemoryStore::default();
        for n in 0..1_000 {
            store.save(&format!("key-{n}"), format!("{n}").as_bytes()).expect("saves");
        }
        store.delete("key-7").expect("deletes");
        for n in 0..1_000 {
            let found = store.load(&format!("key-{n}")).expect("loads");
            let expected = (n != 7).then(|| format!("{n}").into_bytes());
            assert_eq!(found.map(|value| value.to_vec()), expected);
        }
    }
}
