//! The cursors that an iteration has used: one that comes again would lead round for ever.

use std::collections::HashSet;

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// Every cursor so far, by its digest, in the order of use.
#[derive(Debug, Default)]
pub struct CursorHistory {
    known: HashSet<Mark>,
    used: Vec<Mark>,
}

/// 48 bits of a digest: of 20,000 cursors (a million fills) two are equal by chance once in a
/// million iterations.
pub type Mark = u64;
const MARK_BITS: u32 = 48;

impl CursorHistory {
    pub fn of(used: Vec<Mark>) -> Self {
        CursorHistory { known: used.iter().copied().collect(), used }
    }

    pub fn insert(&mut self, cursor: &str) {
        let mark = mark(cursor);
        if self.known.insert(mark) {
            self.used.push(mark);
        }
    }

    pub fn contains(&self, cursor: &str) -> bool {
        self.known.contains(&mark(cursor))
    }

    pub fn used(&self) -> &[Mark] {
        &self.used
    }
}

fn mark(cursor: &str) -> Mark {
    let digest = Sha256::digest(cursor.as_bytes());
    let first = digest.first_chunk().copied().unwrap_or_default();
    u64::from_be_bytes(first) >> (u64::BITS - MARK_BITS)
}

/// All marks as text: sorted, each as its distance from the one before, seven bits a byte. That takes
/// about seven characters a page.
pub fn encode(marks: &[Mark]) -> String {
    let mut sorted = marks.to_vec();
    sorted.sort_unstable();
    sorted.dedup();
    let mut bytes = Vec::with_capacity(5 * sorted.len());
    let mut before = 0;
    for mark in sorted {
        let mut distance = mark - before;
        before = mark;
        while distance >= 0x80 {
            bytes.push(distance as u8 | 0x80);
            distance >>= 7;
        }
        bytes.push(distance as u8);
    }
    STANDARD_NO_PAD.encode(bytes)
}

/// What `encode` wrote.
pub fn decode(text: &str) -> Result<Vec<Mark>> {
    let unreadable = || Error::config("resume is not a checkpoint: its cursors are unreadable");
    let bytes = STANDARD_NO_PAD.decode(text).map_err(|_| unreadable())?;
    let mut marks = Vec::with_capacity(bytes.len() / 5);
    let (mut mark, mut distance, mut shift) = (0_u64, 0_u64, 0);
    for byte in bytes {
        distance |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 != 0 {
            shift += 7;
            if shift > MARK_BITS {
                return Err(unreadable());
            }
            continue;
        }
        mark += distance;
        if mark >> MARK_BITS != 0 {
            return Err(unreadable());
        }
        marks.push(mark);
        (distance, shift) = (0, 0);
    }
    if shift == 0 { Ok(marks) } else { Err(unreadable()) }
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
        fn every_cursor_is_known_after_a_checkpoint_and_no_other(
            used in proptest::collection::hash_set("[a-z]{1,9}", 0..300),
            other in "[A-Z]{1,9}",
        ) {
            let text = encode(history(used.clone()).used());
            let read = CursorHistory::of(decode(&text).expect("its own text"));
            prop_assert!(used.iter().all(|cursor| read.contains(cursor)));
            prop_assert!(!read.contains(&other));
        }

        #[test]
        fn any_text_is_read_or_refused(text in "[A-Za-z0-9+/]{0,40}") {
            if let Ok(marks) = decode(&text) {
                prop_assert!(marks.is_sorted());
            }
        }
    }

    #[test]
    fn a_million_fills_take_140_kilobytes() {
        let history = history((0..20_000).map(|page| page.to_string()));
        assert_eq!(history.used().len(), 20_000);
        let text = encode(history.used());
        assert!(text.len() < 140_000, "{}", text.len());
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["?", "A", "gA", "/////////////w", "AAAA="] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
