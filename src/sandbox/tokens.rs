//! Access tokens: only their hashes are kept. The OAuth endpoints will add theirs here.

use std::{
    collections::HashMap,
    sync::Mutex,
    time::{Duration, Instant},
};

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use sha2::{Digest, Sha256};

use super::lock;

#[derive(Debug, Default)]
pub struct Tokens(Mutex<HashMap<[u8; 32], Instant>>);

impl Tokens {
    /// A fresh access token with 256 random bits.
    pub fn add(&self, lifetime: Duration) -> String {
        let mut bytes = [0; 32];
        if getrandom::fill(&mut bytes).is_err() {
            // No randomness, no access: nothing is stored, so this token opens nothing.
            return String::new();
        }
        let token = URL_SAFE_NO_PAD.encode(bytes);
        let now = Instant::now();
        let mut known = lock(&self.0);
        known.retain(|_, until| *until > now);
        if let Some(until) = now.checked_add(lifetime) {
            known.insert(hash(&token), until);
        }
        token
    }

    pub fn is_valid(&self, token: &str) -> bool {
        lock(&self.0).get(&hash(token)).is_some_and(|until| *until > Instant::now())
    }
}

fn hash(token: &str) -> [u8; 32] {
    Sha256::digest(token).into()
}
