//! The cursors that an iteration has used: following one a second time would never end.

use std::{collections::HashSet, iter::successors, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// The digest of every cursor so far.
#[derive(Debug, Default)]
pub struct CursorHistory {
    known: HashSet<CursorDigest>,
    used: UsedCursors,
}

/// The same as a part of a position. Each page adds one, and shares the others with the positions
/// before it.
#[derive(Debug, Clone, Default)]
pub struct UsedCursors(Option<Arc<UsedCursor>>);

#[derive(Debug)]
struct UsedCursor {
    digest: CursorDigest,
    before: UsedCursors,
}

/// 48 bits of a digest: among 20,000 cursors (a million fills), the probability that two are equal is
/// one in a million.
pub type CursorDigest = u64;
const DIGEST_BITS: u32 = 48;

impl CursorHistory {
    /// A history that continues after these.
    pub fn of(used: UsedCursors) -> Self {
        CursorHistory { known: used.iter().collect(), used }
    }

    pub fn insert(&mut self, cursor: &str) {
        let digest = digest(cursor);
        if self.known.insert(digest) {
            self.used =
                UsedCursors(Some(Arc::new(UsedCursor { digest, before: self.used.clone() })));
        }
    }

    pub fn contains(&self, cursor: &str) -> bool {
        self.known.contains(&digest(cursor))
    }

    pub fn used(&self) -> &UsedCursors {
        &self.used
    }
}

impl UsedCursors {
    /// The latest first.
    fn iter(&self) -> impl Iterator<Item = CursorDigest> {
        let newest = self.0.as_deref();
        successors(newest, |cursor| cursor.before.0.as_deref()).map(|cursor| cursor.digest)
    }
}

impl FromIterator<CursorDigest> for UsedCursors {
    fn from_iter<I: IntoIterator<Item = CursorDigest>>(digests: I) -> Self {
        let add = |before, digest| UsedCursors(Some(Arc::new(UsedCursor { digest, before })));
        digests.into_iter().fold(UsedCursors::default(), add)
    }
}

impl PartialEq for UsedCursors {
    fn eq(&self, other: &Self) -> bool {
        self.iter().eq(other.iter())
    }
}

impl Eq for UsedCursors {}

/// Drops the cursors without recursion, whose depth would be the number of pages.
impl Drop for UsedCursors {
    fn drop(&mut self) {
        let mut next = self.0.take();
        while let Some(mut cursor) = next.and_then(Arc::into_inner) {
            next = cursor.before.0.take();
        }
    }
}

fn digest(cursor: &str) -> CursorDigest {
    let sha256 = Sha256::digest(cursor.as_bytes());
    let first = sha256.first_chunk().copied().unwrap_or_default();
    u64::from_be_bytes(first) >> (u64::BITS - DIGEST_BITS)
}

/// All digests as text: sorted, each as the difference from the previous one in LEB128, in Base64. This
/// takes about seven characters per page.
pub fn encode(used: &UsedCursors) -> String {
    let mut sorted: Vec<CursorDigest> = used.iter().collect();
    sorted.sort_unstable();
    sorted.dedup();
    let mut bytes = Vec::with_capacity(5 * sorted.len());
    let mut previous = 0;
    for digest in sorted {
        let mut difference = digest - previous;
        previous = digest;
        while difference >= 0x80 {
            bytes.push(difference as u8 | 0x80);
            difference >>= 7;
        }
        bytes.push(difference as u8);
    }
    STANDARD_NO_PAD.encode(bytes)
}

/// The cursors in a text that `encode` returned.
pub fn decode(text: &str) -> Result<UsedCursors> {
    let unreadable = || Error::config("resume is not a checkpoint: its cursors are unreadable");
    let bytes = STANDARD_NO_PAD.decode(text).map_err(|_| unreadable())?;
    let mut digests = Vec::with_capacity(bytes.len() / 5);
    let (mut digest, mut difference, mut shift) = (0_u64, 0_u64, 0);
    for byte in bytes {
        difference |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 != 0 {
            shift += 7;
            if shift > DIGEST_BITS {
                return Err(unreadable());
            }
            continue;
        }
        digest += difference;
        if digest >> DIGEST_BITS != 0 {
            return Err(unreadable());
        }
        digests.push(digest);
        (difference, shift) = (0, 0);
    }
    if shift == 0 { Ok(digests.into_iter().collect()) } else { Err(unreadable()) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn history(cursors: impl IntoIterator<Item = String>) -> CursorHistory {
        let mut history = CursorHistory::default();
        cursors.into_iter().for_each(|cursor| history.insert(&cursor));
        history
    }

    proptest! {
        #[test]
        fn only_used_cursors_are_known_after_a_checkpoint(
            used in proptest::collection::hash_set("[a-z]{1,9}", 0..300),
            other in "[A-Z]{1,9}",
        ) {
            let text = encode(history(used.clone()).used());
            let read = CursorHistory::of(decode(&text).expect("its own text"));
            prop_assert!(used.iter().all(|cursor| read.contains(cursor)));
            prop_assert!(!read.contains(&other));
        }

        #[test]
        fn any_text_is_decoded_or_rejected(text in "[A-Za-z0-9+/]{0,40}") {
            if let Ok(used) = decode(&text) {
                // The latest, which is the largest, first.
                prop_assert!(used.iter().is_sorted_by(|later, earlier| later >= earlier));
            }
        }
    }

    #[test]
    fn a_million_fills_take_140_kilobytes() {
        let history = history((0..20_000).map(|page| page.to_string()));
        assert_eq!(history.used().iter().count(), 20_000);
        let text = encode(history.used());
        assert!(text.len() < 140_000, "{}", text.len());
    }

    #[test]
    fn invalid_text_is_rejected() {
        for text in ["?", "A", "gA", "/////////////w", "AAAA="] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
