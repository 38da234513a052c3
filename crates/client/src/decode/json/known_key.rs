//! Keys that are expected to come next.

use std::ops::Range;

/// A key with the text around it in a record, from the value or brace before it to its own value.
/// It is compared in one step, whatever its length.
#[derive(Debug)]
pub(in crate::decode) struct KnownKey<'a> {
    /// The first bytes and the bytes behind them, and a mask of the bits that count.
    bytes: [u64; WORDS],
    mask: [u64; WORDS],
    text: &'a [u8],
}

const WORDS: usize = 4;
const BYTES: usize = 8 * WORDS;

impl<'a> KnownKey<'a> {
    /// Creates the key at this position of a text.
    pub fn new(text: &'a str, at: Range<usize>) -> Self {
        let bytes = text.as_bytes();
        let key = bytes.get(at.clone()).unwrap_or_default();
        // The bytes behind the key are masked: copying a key alone costs as much as comparing it
        // ten times.
        let chunk = bytes.get(at.start..).and_then(<[u8]>::first_chunk).copied();
        let chunk = chunk
            .unwrap_or_else(|| std::array::from_fn(|index| key.get(index).copied().unwrap_or(0)));
        let mask = std::array::from_fn(|word| match key.len().saturating_sub(8 * word) {
            8.. => u64::MAX,
            counted => (1 << (8 * counted)) - 1,
        });
        KnownKey { bytes: words(&chunk), mask, text: key }
    }

    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns the end of the key if it begins at `start`; never within the last bytes of the text.
    #[inline(always)]
    pub fn end(&self, text: &[u8], start: usize) -> Option<usize> {
        let chunk = words(text.get(start..)?.first_chunk::<BYTES>()?);
        let known = chunk.iter().zip(&self.bytes).zip(&self.mask);
        let differs = known.fold(0, |all, ((ours, theirs), mask)| all | ((ours ^ theirs) & mask));
        let end = start + self.text.len();
        let is_equal = differs == 0
            && (self.text.len() <= BYTES || text.get(start + BYTES..end) == self.text.get(BYTES..));
        is_equal.then_some(end)
    }
}

#[inline(always)]
fn words(bytes: &[u8; BYTES]) -> [u64; WORDS] {
    let mut words = [0; WORDS];
    for (word, chunk) in words.iter_mut().zip(bytes.as_chunks::<8>().0) {
        *word = u64::from_le_bytes(*chunk);
    }
    words
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn only_the_same_key_is_found(
            key in "[a-c]{0,70}", before in "[a-c]{0,5}", after in "[a-c]{32,40}", at in 0_usize..70,
        ) {
            let known = KnownKey::new(&key, 0..key.len());
            let text = format!("{before}{key}{after}");
            let (start, end) = (before.len(), before.len() + key.len());
            let within = KnownKey::new(&text, start..end);
            prop_assert_eq!(within.end(text.as_bytes(), start), Some(end));
            prop_assert_eq!(within.mask, known.mask);
            let mut text = text.clone().into_bytes();
            prop_assert_eq!(known.end(&text, start), Some(end));
            if at < key.len() {
                text[start + at] ^= 1;
                prop_assert_eq!(known.end(&text, start), None);
            }
            // The same difference in two words.
            if at + 8 < key.len() {
                text[start + at + 8] ^= 1;
                prop_assert_eq!(known.end(&text, start), None);
            }
        }

        #[test]
        fn no_key_is_found_beyond_the_text(key in "[a-c]{0,70}", cut in 0_usize..70) {
            let text = &key.as_bytes()[..cut.min(key.len())];
            let known = KnownKey::new(&key, 0..key.len());
            prop_assert!(text.len() == key.len() || known.end(text, 0).is_none());
            prop_assert_eq!(known.end(text, 80), None);
        }
    }
}
