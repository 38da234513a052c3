//! Keys that are expected to come next.

/// A key with what is around it in a record, from the value or brace before it to its own value. It is
/// compared in one step, whatever its length.
#[derive(Debug)]
pub(in crate::decode) struct KnownKey<'a> {
    /// The first bytes, filled up with zeros, and the bits of them that count.
    bytes: [u64; WORDS],
    mask: [u64; WORDS],
    text: &'a [u8],
}

const WORDS: usize = 4;
const BYTES: usize = 8 * WORDS;

impl<'a> KnownKey<'a> {
    pub fn new(text: &'a str) -> Self {
        let text = text.as_bytes();
        let (mut bytes, mut mask) = ([0; BYTES], [0; BYTES]);
        for ((byte, mask), from) in bytes.iter_mut().zip(&mut mask).zip(text) {
            (*byte, *mask) = (*from, u8::MAX);
        }
        KnownKey { bytes: words(&bytes), mask: words(&mask), text }
    }

    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// The end of the key, if it begins at `start`. Not within the last bytes of the text.
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
            let known = KnownKey::new(&key);
            let mut text = format!("{before}{key}{after}").into_bytes();
            let (start, end) = (before.len(), before.len() + key.len());
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
            prop_assert!(text.len() == key.len() || KnownKey::new(&key).end(text, 0).is_none());
            prop_assert_eq!(KnownKey::new(&key).end(text, 80), None);
        }
    }
}
