//! Finds the quotes, backslashes and control characters of a text before it is read.

use super::byte_scanner::specials;

/// The number of bytes that one word of bits covers.
const BLOCK: usize = 64;

/// A bit for each byte of a text.
///
/// The beginning of a value depends on the end of the one before it, so the processor waits for
/// each search. Looking at the bits takes half as long as searching the bytes.
#[derive(Debug)]
pub(in crate::decode) struct SpecialBytes {
    /// The bits, each byte from its least significant bit.
    bits: Vec<u8>,
}

impl SpecialBytes {
    pub fn new(text: &[u8]) -> Self {
        let (blocks, tail) = text.as_chunks::<BLOCK>();
        let mut last = [0; BLOCK];
        for (byte, from) in last.iter_mut().zip(tail) {
            *byte = *from;
        }
        let mut bits = vec![0; (blocks.len() + 2) * size_of::<u64>()];
        let (words, _) = bits.as_chunks_mut();
        // The padding is control characters, so the end of the text is one as well. The last
        // word stays empty: `next` reads eight bytes from any byte on.
        specials(blocks.iter().chain([&last]), words);
        SpecialBytes { bits }
    }

    /// Returns the position of the first special byte from here on, if it is near.
    #[inline(always)]
    pub fn next(&self, position: usize) -> Option<usize> {
        let first = position / 8;
        let word = self.bits.get(first..first + size_of::<u64>())?.first_chunk()?;
        let bits = u64::from_le_bytes(*word) >> (position % 8);
        (bits != 0).then(|| position + bits.trailing_zeros() as usize)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::decode::json::byte_scanner::find_special;

    proptest! {
        #[test]
        fn the_next_special_byte_is_found_or_is_not_near(
            text in proptest::collection::vec(
                prop_oneof![60 => 0x23_u8..0x5b, 1 => any::<u8>()], 0..300,
            ),
            from in 0_usize..300,
        ) {
            let from = from.min(text.len());
            let found = SpecialBytes::new(&text).next(from);
            let expected = find_special(&text, from);
            match found {
                Some(position) => prop_assert_eq!(position, expected),
                None => prop_assert!(expected - from > 56),
            }
        }
    }
}
