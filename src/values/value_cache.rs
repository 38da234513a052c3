//! Immutable Python objects that are reused for equal texts.

use super::hit_rate::HitRate;
use crate::prelude::*;
use boardlot_client::extension::decode::short_eq;

/// The recent values of a field: a market, a status, a broker or a quantity is often the same
/// object again. For texts that rarely repeat, such as ids, the search stops.
#[derive(Default)]
pub struct ValueCache {
    /// Each text has one index, which depends on its bytes. The number of entries is a power of
    /// two: none until the first text, and few until it is known that more entries pay off.
    entries: Vec<Entry>,
    lookups: HitRate,
}

#[derive(Default)]
struct Entry {
    text: [u8; ValueCache::MAX_LENGTH],
    length: u8,
    object: Option<Py<PyAny>>,
}

impl ValueCache {
    const FEW_ENTRIES: usize = 8;
    const ENTRIES: usize = 128;
    /// The number of lookups after which there are more entries.
    const GROWTH: u32 = 64;
    const MAX_LENGTH: usize = 31;

    /// Returns the object of a text: the one that was made before, or the result of `make`.
    #[inline(always)]
    pub fn get<'py, E>(
        &mut self,
        py: Python<'py>,
        text: &str,
        make: impl FnOnce() -> Result<Bound<'py, PyAny>, E>,
    ) -> Result<Bound<'py, PyAny>, E> {
        if text.len() > Self::MAX_LENGTH || !self.lookups.is_worthwhile() {
            return make();
        }
        let hash = hash(text.as_bytes());
        if let Some(entry) = self.entries.get(place(hash, self.entries.len()))
            && let Some(known) = entry.text.get(..usize::from(entry.length))
            && let Some(object) = &entry.object
            && short_eq(known, text.as_bytes())
        {
            self.lookups.record(true);
            return Ok(object.bind(py).clone());
        }
        self.lookups.record(false);
        let object = make()?;
        self.insert(hash, text, object.clone().unbind());
        Ok(object)
    }

    #[inline(never)]
    fn insert(&mut self, hash: u64, text: &str, object: Py<PyAny>) {
        let entries =
            if self.lookups.attempts < Self::GROWTH { Self::FEW_ENTRIES } else { Self::ENTRIES };
        if self.entries.len() < entries {
            self.entries.clear();
            self.entries.resize_with(entries, Entry::default);
        }
        let place = place(hash, self.entries.len());
        let Some(entry) = self.entries.get_mut(place) else { return };
        if let (Some(known), Ok(length)) =
            (entry.text.get_mut(..text.len()), u8::try_from(text.len()))
        {
            known.copy_from_slice(text.as_bytes());
            entry.length = length;
            entry.object = Some(object);
        }
    }
}

/// Hashes a text. Texts of a field mostly differ in their last bytes.
#[inline(always)]
fn hash(text: &[u8]) -> u64 {
    /// An odd number without a pattern: the fraction of the golden ratio.
    const SPREAD: u64 = 0x9e37_79b9_7f4a_7c15;
    let last = match (text.last_chunk::<8>(), text.last_chunk::<4>()) {
        (Some(last), _) => u64::from_le_bytes(*last),
        (None, Some(last)) => {
            let first = text.first_chunk::<4>().copied().unwrap_or_default();
            u64::from(u32::from_le_bytes(*last)) << 32 | u64::from(u32::from_le_bytes(first))
        }
        (None, None) => text.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)),
    };
    (last ^ text.len() as u64).wrapping_mul(SPREAD)
}

/// Returns the index of a text among this many entries, by the upper bits of its hash.
#[inline(always)]
fn place(hash: u64, entries: usize) -> usize {
    hash.rotate_left(ValueCache::ENTRIES.trailing_zeros()) as usize & entries.wrapping_sub(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place_of(text: &str) -> usize {
        place(hash(text.as_bytes()), ValueCache::ENTRIES)
    }

    #[test]
    fn the_texts_of_a_field_have_different_places() {
        let mut places: Vec<usize> =
            (0..32).map(|stock| place_of(&format!("HK.{:05}", stock * 61 + 1))).collect();
        assert!(places.iter().all(|place| *place < ValueCache::ENTRIES));
        places.sort_unstable();
        places.dedup();
        assert!(places.len() > 20, "{places:?}");
        assert_ne!(hash(b""), hash(b"\0"));
    }
}
