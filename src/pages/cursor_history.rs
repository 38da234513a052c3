//! The cursors that an iteration has used: following one a second time would never end.

use std::{collections::HashSet, iter::successors, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// The digest of every cursor so far.
#[derive(Debug, Default)]
pub struct CursorHistory {
    known: HashSet<CursorDigest>,
    pub used: UsedCursors,
}

/// The same as a part of a position. Each page adds one, and shares the others with the positions
/// before it.
#[derive(Debug, Clone, Default)]
pub struct UsedCursors(Option<Arc<UsedCursor>>);

#[derive(Debug)]
struct UsedCursor {
    digest: CursorDigest,
    first: CursorDigest,
    before: UsedCursors,
}

/// 48 bits of a digest: among 20,000 cursors (a million fills), the probability that two are equal is
/// one in a million.
pub type CursorDigest = u64;
const DIGEST_BITS: u32 = 48;
/// The latest cursors that a checkpoint has, those of 50,000 fills, beside the first one. With all of them, an
/// archive of ten million fills would write a megabyte for each thousand. A service that goes back further
/// than these is noticed when it does so again.
const LATEST: usize = 1_000;

impl CursorHistory {
    /// A history that continues after these.
    pub fn of(used: UsedCursors) -> Self {
        CursorHistory { known: used.iter().collect(), used }
    }

    pub fn insert(&mut self, cursor: &str) {
        let digest = digest(cursor);
        if self.known.insert(digest) {
            self.used = self.used.clone().with(digest);
        }
    }

    pub fn contains(&self, cursor: &str) -> bool {
        self.known.contains(&digest(cursor))
    }
}

impl UsedCursors {
    fn with(self, digest: CursorDigest) -> Self {
        let first = self.0.as_deref().map_or(digest, |newest| newest.first);
        UsedCursors(Some(Arc::new(UsedCursor { digest, first, before: self })))
    }

    /// The latest first.
    fn iter(&self) -> impl Iterator<Item = CursorDigest> {
        let newest = self.0.as_deref();
        successors(newest, |cursor| cursor.before.0.as_deref()).map(|cursor| cursor.digest)
    }
}

impl FromIterator<CursorDigest> for UsedCursors {
    fn from_iter<I: IntoIterator<Item = CursorDigest>>(digests: I) -> Self {
        digests.into_iter().fold(UsedCursors::default(), UsedCursors::with)
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

/// The digests of the first cursor and of the latest ones as text, each as its six bytes, in Base64.
pub fn encode(used: &UsedCursors) -> String {
    let first = used.0.iter().map(|newest| newest.first);
    let mut digests: Vec<CursorDigest> = used.iter().take(LATEST).chain(first).collect();
    digests.reverse();
    digests.dedup();
    let bytes = digests.into_iter().flat_map(|digest| digest.to_be_bytes().into_iter().skip(2));
    STANDARD_NO_PAD.encode(bytes.collect::<Vec<u8>>())
}

/// The cursors in a text that `encode` returned.
pub fn decode(text: &str) -> Result<UsedCursors> {
    let bytes = STANDARD_NO_PAD.decode(text).unwrap_or_else(|_| vec![0]);
    let (digests, rest) = bytes.as_chunks::<6>();
    if !rest.is_empty() {
        return Err(Error::config("resume is not a checkpoint: its cursors are unreadable"));
    }
    let number = |digest: &[u8; 6]| digest.iter().fold(0, |n, byte| n << 8 | u64::from(*byte));
    Ok(digests.iter().map(number).collect())
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
            let text = encode(&history(used.clone()).used);
            let read = CursorHistory::of(decode(&text).expect("its own text"));
            prop_assert!(used.iter().all(|cursor| read.contains(cursor)));
            prop_assert!(!read.contains(&other));
        }

        #[test]
        fn any_text_is_decoded_or_rejected(text in "[A-Za-z0-9+/]{0,40}") {
            if let Ok(used) = decode(&text) {
                prop_assert_eq!(used.iter().count() * 8, text.len());
            }
        }
    }

    #[test]
    fn a_million_fills_take_eight_kilobytes_however_often_they_are_resumed() {
        let mut before = history((0..20_000).map(|page| page.to_string()));
        for page in 20_000..20_010 {
            let text = encode(&before.used);
            assert_eq!(text.len(), 8 * 1_001);
            let mut after = CursorHistory::of(decode(&text).expect("its own text"));
            for known in [0, page - 1_000, page - 1] {
                assert!(after.contains(&known.to_string()), "{known}");
            }
            after.insert(&page.to_string());
            before = after;
        }
    }

    #[test]
    fn invalid_text_is_rejected() {
        for text in ["?", "A", "gA", "AAAA", "AAAA="] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
