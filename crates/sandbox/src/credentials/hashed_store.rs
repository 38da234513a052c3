//! Values by secrets, of which only the hashes are stored, in bounded memory.

use std::collections::{HashMap, VecDeque};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

pub type Hash = [u8; 32];

/// Values by the hashes of secrets. Beyond the limit, the oldest is removed.
#[derive(Debug)]
pub struct HashedStore<V> {
    values: HashMap<Hash, V>,
    /// Hashes from old to new; some may have been removed.
    order: VecDeque<Hash>,
    max: usize,
}

impl<V> HashedStore<V> {
    pub fn new(max: usize) -> Self {
        HashedStore { values: HashMap::new(), order: VecDeque::new(), max }
    }

    pub fn get(&self, secret: &str) -> Option<&V> {
        self.values.get(&hash(secret))
    }

    pub fn get_mut(&mut self, secret: &str) -> Option<&mut V> {
        self.values.get_mut(&hash(secret))
    }

    pub fn insert(&mut self, secret: &str, value: V) {
        let hash = hash(secret);
        self.values.insert(hash, value);
        self.order.push_back(hash);
        while self.values.len() > self.max {
            let Some(oldest) = self.order.pop_front() else { break };
            self.values.remove(&oldest);
        }
        if self.order.len() > self.max.saturating_mul(2) {
            self.order.retain(|hash| self.values.contains_key(hash));
        }
    }

    pub fn remove(&mut self, secret: &str) -> Option<V> {
        self.values.remove(&hash(secret))
    }

    pub fn retain(&mut self, mut predicate: impl FnMut(&V) -> bool) {
        self.values.retain(|_, value| predicate(value));
    }

    pub fn clear(&mut self) {
        self.values.clear();
        self.order.clear();
    }
}

/// 256 random bits as text.
pub fn secret() -> Result<String> {
    let mut bytes = [0; 32];
    getrandom::fill(&mut bytes).map_err(|error| {
        Error::config(format!("the operating system returned no random bytes: {error}"))
    })?;
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

pub fn hash(text: &str) -> Hash {
    Sha256::digest(text).into()
}

/// Compares in constant time.
pub fn equal(left: &Hash, right: &Hash) -> bool {
    left == right
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_bounded_and_the_oldest_is_removed() {
        let mut all = HashedStore::new(10);
        for number in 0..1_000 {
            all.insert(&format!("s{number}"), number);
            if number % 3 == 0 {
                assert_eq!(all.remove(&format!("s{number}")), Some(number));
            }
            assert!(all.values.len() <= 10 && all.order.len() <= 21);
        }
        assert_eq!((all.get("s998"), all.get("s999"), all.get("s900")), (Some(&998), None, None));
        all.retain(|number| *number == 998);
        assert_eq!(all.values.len(), 1);
        all.clear();
        assert_eq!(all.get("s998"), None);
    }

    #[test]
    fn secrets_have_43_characters_and_never_repeat() {
        let drawn: std::collections::HashSet<String> =
            (0..10_000).map(|_| secret().expect("random")).collect();
        assert_eq!(drawn.len(), 10_000);
        assert!(drawn.iter().all(|text| text.len() == 43));
    }
}
