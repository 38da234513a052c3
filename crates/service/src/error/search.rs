//! Finds bytes in others in linear time, however repetitive both are (Knuth, Morris and Pratt, 1977).

use zeroize::Zeroizing;

/// Bytes to look for, wiped from memory when dropped.
pub struct Needle {
    bytes: Zeroizing<Vec<u8>>,
    /// For each of the bytes, how many of the first ones also end with it.
    borders: Vec<usize>,
}

impl Needle {
    pub fn new(bytes: &[u8]) -> Self {
        let mut needle = Needle {
            bytes: Zeroizing::new(bytes.to_vec()),
            borders: Vec::with_capacity(bytes.len()),
        };
        needle.borders.push(0);
        let mut matched = 0;
        for byte in bytes.iter().skip(1) {
            matched = needle.step(matched, *byte);
            needle.borders.push(matched);
        }
        needle
    }

    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Where it is in a text, each time with its end.
    pub fn find_in<'a>(&'a self, text: &'a [u8]) -> impl Iterator<Item = (usize, usize)> + 'a {
        let size = self.bytes.len();
        let mut matched = 0;
        text.iter().zip(1..).filter_map(move |(byte, end)| {
            matched = self.step(matched, *byte);
            (size > 0 && matched == size).then(|| (end - size, end))
        })
    }

    /// Where the first bytes of it are in a text, so many at least, each time with their end.
    pub fn find_beginnings<'a>(
        &'a self,
        text: &'a [u8],
        least: usize,
    ) -> impl Iterator<Item = (usize, usize)> + 'a {
        let mut matched = 0;
        // One step beyond the end, where the last match ends.
        let bytes = text.iter().copied().map(Some).chain([None]);
        bytes.enumerate().filter_map(move |(at, byte)| {
            let before = matched;
            matched = byte.map_or(0, |byte| self.step(matched, byte));
            (before >= least && matched <= before).then(|| (at - before, at))
        })
    }

    /// How many of its first bytes are at the end of a text.
    pub fn begun_in(&self, text: &[u8]) -> usize {
        text.iter().fold(0, |matched, byte| self.step(matched, *byte))
    }

    /// How many bytes match after this one, if so many did before it.
    fn step(&self, mut matched: usize, byte: u8) -> usize {
        loop {
            if self.bytes.get(matched) == Some(&byte) {
                return matched + 1;
            }
            let Some(shorter) = matched.checked_sub(1) else { return 0 };
            matched = self.borders.get(shorter).copied().unwrap_or_default();
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::Needle;

    proptest! {
        #[test]
        fn it_is_found_wherever_a_plain_search_finds_it(
            text in "[ab]{0,60}",
            wanted in "[ab]{1,8}",
        ) {
            let needle = Needle::new(wanted.as_bytes());
            let found: Vec<_> = needle.find_in(text.as_bytes()).map(|(from, _)| from).collect();
            let expected: Vec<_> =
                (0..text.len()).filter(|&at| text.get(at..).is_some_and(|rest| rest.starts_with(&wanted))).collect();
            prop_assert_eq!(found, expected);
            let begun = (0..=wanted.len()).rev().find(|&size| wanted.get(..size).is_some_and(|begun| text.ends_with(begun)));
            prop_assert_eq!(Some(needle.begun_in(text.as_bytes())), begun);
        }
    }

    #[test]
    fn nothing_is_found_nowhere() {
        assert_eq!(Needle::new(b"").find_in(b"text").count(), 0);
        assert_eq!(Needle::new(b"").begun_in(b"text"), 0);
    }
}
