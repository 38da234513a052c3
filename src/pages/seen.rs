//! The cursors of a walk so far: one that comes again would go round for ever.

use std::collections::{HashSet, VecDeque};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use sha2::{Digest, Sha256};

use crate::error::{Error, Result};

/// The cursors by their digests: all of them in memory, the last in their order for a checkpoint.
#[derive(Debug, Default)]
pub struct Seen {
    all: HashSet<Mark>,
    last: VecDeque<Mark>,
}

/// Of a million cursors two have the same once in 37 million walks.
type Mark = [u8; 8];

/// A checkpoint stays small.
const WRITTEN_MAX: usize = 128;

impl Seen {
    /// What `up_to` wrote.
    pub fn read(text: &str) -> Result<Self> {
        let bytes = STANDARD_NO_PAD.decode(text).ok();
        let marks = bytes.as_ref().map(|bytes| bytes.as_chunks::<8>());
        let Some((marks, [])) = marks else {
            return Err(Error::config("resume is no checkpoint: its cursors cannot be read"));
        };
        Ok(Seen { all: marks.iter().copied().collect(), last: marks.iter().copied().collect() })
    }

    /// The last cursors up to this one, for a checkpoint at its page: those behind it are to come
    /// again.
    pub fn up_to(&self, cursor: &str) -> String {
        let mark = mark(cursor);
        let end = self.last.iter().position(|other| *other == mark);
        let count = end.map_or(self.last.len(), |end| end + 1);
        STANDARD_NO_PAD.encode(self.last.iter().take(count).copied().collect::<Vec<_>>().concat())
    }

    pub fn insert(&mut self, cursor: &str) {
        let mark = mark(cursor);
        if self.all.insert(mark) {
            if self.last.len() == WRITTEN_MAX {
                self.last.pop_front();
            }
            self.last.push_back(mark);
        }
    }

    pub fn contains(&self, cursor: &str) -> bool {
        self.all.contains(&mark(cursor))
    }
}

fn mark(cursor: &str) -> Mark {
    let digest = Sha256::digest(cursor.as_bytes());
    digest.first_chunk().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn seen(cursors: &[&str]) -> Seen {
        let mut seen = Seen::default();
        cursors.iter().for_each(|cursor| seen.insert(cursor));
        seen
    }

    #[test]
    fn a_checkpoint_knows_the_cursors_before_it_and_none_behind_it() {
        let read = Seen::read(&seen(&["a", "b", "c"]).up_to("b")).expect("a text of its own");
        assert!(read.contains("a") && read.contains("b") && !read.contains("c"));
    }

    #[test]
    fn a_page_that_was_not_read_yet_is_behind_all_that_were() {
        let read = Seen::read(&seen(&["a", "b"]).up_to("c")).expect("a text of its own");
        assert!(read.contains("b") && !read.contains("c"));
    }

    #[test]
    fn a_checkpoint_stays_small() {
        let mut seen = Seen::default();
        (0..100_000).for_each(|number: u32| seen.insert(&number.to_string()));
        assert!(seen.contains("0"));
        let text = seen.up_to("99999");
        assert!(text.len() < 1_400, "{}", text.len());
        assert!(Seen::read(&text).expect("a text of its own").contains("99990"));
    }

    #[test]
    fn anything_else_is_refused() {
        for text in ["x", "AAAA", "?", "AAAAAAAAAAAAAA"] {
            assert!(Seen::read(text).is_err(), "{text}");
        }
    }
}
