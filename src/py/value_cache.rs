//! Immutable Python objects that are reused for equal texts.

use pyo3::prelude::*;

use crate::decode::short_eq;

/// The recent values of a field: a market, a status, a broker or a quantity often is the same object
/// again. For texts that rarely repeat, such as ids, the search stops.
#[derive(Default)]
pub struct ValueCache {
    /// Each text has one place, which depends on its bytes. Empty until the first text.
    entries: Vec<Entry>,
    lookups: u32,
    hits: u32,
}

#[derive(Default)]
struct Entry {
    text: [u8; ValueCache::MAX_LENGTH],
    length: u8,
    object: Option<Py<PyAny>>,
}

impl ValueCache {
    /// A power of two.
    const ENTRIES: usize = 128;
    const MAX_LENGTH: usize = 31;
    /// The number of lookups after which the hit rate decides whether to continue.
    const TRIAL: u32 = 256;

    /// The object of a text: the one that was made for it before, or what `make` returns.
    #[inline(always)]
    pub fn get<'py, E>(
        &mut self,
        py: Python<'py>,
        text: &str,
        make: impl FnOnce() -> Result<Bound<'py, PyAny>, E>,
    ) -> Result<Bound<'py, PyAny>, E> {
        if text.len() > Self::MAX_LENGTH
            || (self.lookups >= Self::TRIAL && self.hits < self.lookups / 4)
        {
            return make();
        }
        if self.lookups == u32::MAX {
            (self.lookups, self.hits) = (self.lookups / 2, self.hits / 2);
        }
        self.lookups += 1;
        let place = place(text.as_bytes());
        if let Some(entry) = self.entries.get(place)
            && let Some(known) = entry.text.get(..usize::from(entry.length))
            && let Some(object) = &entry.object
            && short_eq(known, text.as_bytes())
        {
            self.hits += 1;
            return Ok(object.bind(py).clone());
        }
        let object = make()?;
        self.insert(place, text, object.clone().unbind());
        Ok(object)
    }

    #[inline(never)]
    fn insert(&mut self, place: usize, text: &str, object: Py<PyAny>) {
        if self.entries.is_empty() {
            self.entries.resize_with(Self::ENTRIES, Entry::default);
        }
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

/// The place of a text. Texts of a field mostly differ in their last bytes.
#[inline(always)]
fn place(text: &[u8]) -> usize {
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
    let spread = (last ^ text.len() as u64).wrapping_mul(SPREAD);
    (spread >> (u64::BITS - ValueCache::ENTRIES.trailing_zeros())) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_texts_of_a_field_have_different_places() {
        let mut places: Vec<usize> =
            (0..32).map(|stock| place(format!("HK.{:05}", stock * 61 + 1).as_bytes())).collect();
        assert!(places.iter().all(|place| *place < ValueCache::ENTRIES));
        places.sort_unstable();
        places.dedup();
        assert!(places.len() > 20, "{places:?}");
        assert_ne!(place(b""), place(b"\0"));
    }
}
