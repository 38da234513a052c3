//! The cursors that an iteration has used: following one a second time would never end.

use std::{collections::HashMap, iter::successors, sync::Arc};

use base64::{DecodeError, Engine, engine::general_purpose::STANDARD_NO_PAD};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The digest of every cursor so far, with the number of the first page that was requested with it.
/// The number is needed because a page that is requested again is followed by the same cursor as
/// before.
#[derive(Debug, Default)]
pub struct CursorHistory(HashMap<CursorDigest, usize>);

/// The cursors of the pages before a position. Each page adds one cursor, and shares the others
/// with earlier positions.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct UsedCursors(Option<Arc<UsedCursor>>);

#[derive(Debug)]
struct UsedCursor {
    digest: CursorDigest,
    /// The first digest, and later ones: digests divisible by `SAMPLED` that are smaller than all
    /// such digests after them, a few for each doubling of the pages. The smallest digest of a
    /// cycle stays, so a cycle longer than `LATEST` is detected in its second round (Nivasch,
    /// "Cycle detection using a stack", 2004).
    milestones: Arc<[CursorDigest]>,
    before: UsedCursors,
}

/// 48 bits of a digest: among 20,000 cursors (a million fills), the probability that two are equal
/// is one in a million.
pub type CursorDigest = u64;
const DIGEST_BITS: u32 = 48;
/// Number of latest cursors in a checkpoint, beside the milestones: those of 50,000 fills. With all
/// cursors, an archive of ten million fills would write a megabyte for each thousand fills.
const LATEST: usize = 1_000;
const SAMPLED: CursorDigest = 16;
/// Maximum number of milestones: more than occur by chance, so that a service which chooses its
/// cursors cannot make them many.
const MAX_MILESTONES: usize = 100;

impl CursorHistory {
    /// Creates a history that continues after these cursors.
    pub fn of(used: &UsedCursors) -> Self {
        CursorHistory(used.iter().map(|digest| (digest, 0)).collect())
    }

    /// Notes the cursor of the page with this number. Returns the cursors of all pages up to this
    /// one; `before` are the cursors of the pages before it.
    pub fn insert(&mut self, cursor: &str, page: usize, before: &UsedCursors) -> UsedCursors {
        let digest = digest(cursor);
        let known = self.0.entry(digest).or_insert(page);
        *known = page.min(*known);
        before.clone().with(digest)
    }

    /// Returns true if this page, or one before it, was requested with the cursor.
    pub fn contains(&self, cursor: &str, page: usize) -> bool {
        self.0.get(&digest(cursor)).is_some_and(|known| *known <= page)
    }
}

impl UsedCursors {
    fn with(self, digest: CursorDigest) -> Self {
        let milestones = match self.0.as_deref().map(|newest| newest.milestones.clone()) {
            Some(before) if !digest.is_multiple_of(SAMPLED) => before,
            before => {
                let before = before.iter().flat_map(|before| before.iter().enumerate());
                let stay = before.filter(|(index, known)| *index == 0 || **known < digest);
                let stay = stay.map(|(_, known)| *known).take(MAX_MILESTONES);
                stay.chain([digest]).collect()
            }
        };
        UsedCursors(Some(Arc::new(UsedCursor { digest, milestones, before: self })))
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_none()
    }

    /// Iterates over the digests, the latest first.
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

/// Writes the digests of the milestones and of the latest cursors as text: six bytes each, in
/// Base64.
impl From<UsedCursors> for String {
    fn from(used: UsedCursors) -> String {
        let mut digests: Vec<CursorDigest> = used.iter().take(LATEST).collect();
        let milestones = used.0.iter().flat_map(|newest| newest.milestones.iter().rev());
        let older: Vec<_> = milestones.filter(|milestone| !digests.contains(milestone)).collect();
        digests.extend(older);
        digests.reverse();
        let bytes = digests.into_iter().flat_map(|digest| digest.to_be_bytes().into_iter().skip(2));
        STANDARD_NO_PAD.encode(bytes.collect::<Vec<u8>>())
    }
}

impl TryFrom<String> for UsedCursors {
    type Error = DecodeError;

    fn try_from(text: String) -> Result<UsedCursors, DecodeError> {
        let bytes = STANDARD_NO_PAD.decode(text)?;
        let (digests, rest) = bytes.as_chunks::<6>();
        let number = |digest: &[u8; 6]| digest.iter().fold(0, |n, byte| n * 256 + u64::from(*byte));
        match rest.len() {
            0 => Ok(digests.iter().map(number).collect()),
            length => Err(DecodeError::InvalidLength(length)),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// The pages that were read with these cursors.
    #[derive(Default)]
    struct Pages {
        history: CursorHistory,
        used: UsedCursors,
        count: usize,
    }

    impl Pages {
        fn of(cursors: impl IntoIterator<Item = String>) -> Self {
            let mut pages = Pages::default();
            cursors.into_iter().for_each(|cursor| pages.insert(&cursor));
            pages
        }

        fn resumed(&self) -> Self {
            let used = decode(&self.encode()).expect("its own text");
            Pages { history: CursorHistory::of(&used), used, count: 0 }
        }

        fn insert(&mut self, cursor: &str) {
            self.used = self.history.insert(cursor, self.count, &self.used);
            self.count += 1;
        }

        fn contains(&self, cursor: &str) -> bool {
            self.history.contains(cursor, self.count)
        }

        fn encode(&self) -> String {
            self.used.clone().into()
        }
    }

    fn decode(text: &str) -> Result<UsedCursors, DecodeError> {
        text.to_owned().try_into()
    }

    proptest! {
        #[test]
        fn only_used_cursors_are_known_after_a_checkpoint(
            used in proptest::collection::hash_set("[a-z]{1,9}", 0..300),
            other in "[A-Z]{1,9}",
        ) {
            let read = Pages::of(used.clone()).resumed();
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
    fn a_million_fills_take_nine_kilobytes_however_often_they_are_resumed() {
        let mut before = Pages::of((0..20_000).map(|page| page.to_string()));
        for page in 20_000..20_010 {
            let text = before.encode();
            assert!(text.len() < 8 * 1_101, "{}", text.len());
            let mut after = before.resumed();
            for known in [0, page - 1_000, page - 1] {
                assert!(after.contains(&known.to_string()), "{known}");
            }
            after.insert(&page.to_string());
            before = after;
        }
    }

    #[test]
    fn a_circle_is_noticed_in_its_second_round_however_often_it_is_resumed() {
        for (lead, circle) in [(0, 1_001), (1, 1_501), (700, 3_000), (5_000, 1_200), (3, 20_000)] {
            let page = |page: usize| match page.checked_sub(lead) {
                Some(within) => format!("circle {}", within % circle),
                None => format!("lead {page}"),
            };
            let mut pages = Pages::default();
            let noticed = (0..lead + 2 * circle).find(|number| {
                if number % 400 == 0 {
                    pages = pages.resumed();
                }
                let is_known = pages.contains(&page(*number));
                pages.insert(&page(*number));
                is_known
            });
            assert!(noticed.is_some_and(|at| at >= lead + circle), "{lead} {circle}: {noticed:?}");
        }
    }

    #[test]
    fn a_page_that_is_requested_again_is_followed_by_its_own_cursor_and_not_by_an_earlier_one() {
        let pages = Pages::of(["a", "b", "c"].map(str::to_owned));
        assert!(!pages.history.contains("c", 1), "the cursor after the page with \"b\"");
        assert!(pages.history.contains("b", 1) && pages.history.contains("a", 1));
    }

    #[test]
    fn milestones_are_the_first_digest_and_each_sampled_one_that_is_smaller_than_those_after_it() {
        let milestones = |digests: [CursorDigest; 6]| {
            let used: UsedCursors = digests.into_iter().collect();
            used.0.as_ref().map(|newest| newest.milestones.to_vec()).unwrap_or_default()
        };
        assert_eq!(milestones([80, 160, 48, 7, 96, 64]), [80, 48, 64]);
        assert_eq!(milestones([7, 160, 48, 48, 64, 65]), [7, 48, 64]);
        assert!(UsedCursors::default().is_empty());
    }

    #[test]
    fn invalid_text_is_rejected() {
        for text in ["?", "A", "gA", "AAAA", "AAAA="] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
