//! Random numbers. Each part of the data has a seeded stream of its own, named by a label, so that
//! it does not depend on the order of requests.

use base64::{Engine, engine::general_purpose::URL_SAFE_NO_PAD};
use boardlot_service::error::{Error, Resource, Result};
use chacha20::{
    ChaCha8Rng,
    rand_core::{Rng, SeedableRng},
};
use sha2::{Digest, Sha256};

/// One stream of random numbers.
#[derive(Debug)]
pub struct SeededRng(ChaCha8Rng);

impl SeededRng {
    pub fn new(seed: u64, label: &str) -> Self {
        let mut hasher = Sha256::new();
        hasher.update(seed.to_le_bytes());
        hasher.update(label.as_bytes());
        SeededRng(ChaCha8Rng::from_seed(hasher.finalize().into()))
    }

    /// Creates a stream for secrets, seeded by the operating system.
    pub fn unpredictable() -> Result<Self> {
        let mut seed = [0; 32];
        getrandom::fill(&mut seed).map_err(|error| {
            Error::config(format!("the system has no random numbers: {error}"))
                .with_resource(Resource::Entropy)
        })?;
        Ok(SeededRng(ChaCha8Rng::from_seed(seed)))
    }

    /// Returns a secret of 256 random bits.
    pub fn secret(&mut self) -> String {
        URL_SAFE_NO_PAD.encode(self.bytes())
    }

    /// Returns 256 random bits.
    pub fn bytes(&mut self) -> [u8; 32] {
        let mut bytes = [0; 32];
        self.0.fill_bytes(&mut bytes);
        bytes
    }

    /// Returns the generator, for libraries that draw numbers themselves.
    pub fn source(&mut self) -> &mut ChaCha8Rng {
        &mut self.0
    }

    /// Returns a number from 0 to `count - 1`; 0 if `count` is 0.
    pub fn below(&mut self, count: u64) -> u64 {
        ((u128::from(self.0.next_u64()) * u128::from(count)) >> 64) as u64
    }

    /// Returns a number from `low` to `high`, both included.
    pub fn between(&mut self, low: i64, high: i64) -> i64 {
        low + self.below((high - low).max(0) as u64 + 1) as i64
    }

    pub fn chance(&mut self, probability: f64) -> bool {
        let unit = (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64;
        unit < probability
    }
}
