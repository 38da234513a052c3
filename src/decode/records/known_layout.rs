//! Records that have the keys of the first one, in the same order and with the same white space: nearly
//! all of them. Each key is compared in one step, and most values end at a special byte that has been
//! found.

use super::grid::{Grid, marked_start};
use crate::decode::json::{ByteRange, JsonReader, KnownKey, SpecialBytes, count_digits, short_eq};

/// The keys of the first record, and the special bytes of the text after it.
#[derive(Debug)]
pub(super) struct KnownLayout<'a> {
    keys: Vec<KnownKey<'a>>,
    /// The text after the last value.
    tail: &'a [u8],
    /// The text from here on.
    start: usize,
    special_bytes: SpecialBytes,
}

impl<'a> KnownLayout<'a> {
    /// The layout of the first record, for the records from `start` on.
    pub fn new(text: &'a str, first: &Grid, start: usize) -> Option<Self> {
        let keys = first.tokens(text).map(KnownKey::new).collect();
        let special_bytes = SpecialBytes::new(text.as_bytes().get(start..)?);
        Some(KnownLayout { keys, tail: first.tail(text).as_bytes(), start, special_bytes })
    }

    /// Reads a record of this layout, and sets where its values begin.
    #[inline(always)]
    pub fn read(
        &self,
        reader: &mut JsonReader<'_>,
        starts: &mut [u32],
        depth: usize,
    ) -> Option<()> {
        self.read_in_steps(reader, starts, depth).or_else(|| self.read_parts(reader, starts, depth))
    }

    /// The same without searching for special bytes: for the end of the text.
    #[inline(never)]
    fn read_parts(
        &self,
        reader: &mut JsonReader<'_>,
        starts: &mut [u32],
        depth: usize,
    ) -> Option<()> {
        for (key, start) in self.keys.iter().zip(starts) {
            let position = reader.position() + key.text().len();
            let value = reader.read_if(key.text()).then(|| reader.read_value(depth))??;
            *start = marked_start(value);
            (value.start == position).then_some(())?;
        }
        reader.read_if(self.tail).then_some(())
    }

    /// Reads the record, or nothing if it may be of another layout.
    #[inline(never)]
    fn read_in_steps(
        &self,
        reader: &mut JsonReader<'_>,
        starts: &mut [u32],
        depth: usize,
    ) -> Option<()> {
        let text = reader.text().as_bytes().get(self.start..)?;
        let mut position = reader.position().checked_sub(self.start)?;
        for (key, start) in self.keys.iter().zip(starts) {
            let value = key.end(text, position)?;
            let special = self.special_bytes.next(value + 1);
            *start = (self.start + value) as u32;
            position = match (text.get(value)?, special) {
                (b'"', Some(end)) if text.get(end) == Some(&b'"') => end + 1,
                // The next special byte is mostly the quote of the next key: before it is a comma.
                (b'1'..=b'9', Some(quote)) if is_integer(text, value, quote - 1) => quote - 1,
                (b'n' | b't' | b'f', Some(quote)) if is_literal(text, value, quote - 1) => {
                    quote - 1
                }
                _ => {
                    let range = other_value(reader, self.start + value, depth)?;
                    *start = marked_start(range);
                    range.end - self.start
                }
            };
        }
        let end = position + self.tail.len();
        if !short_eq(text.get(position..end)?, self.tail) {
            return None;
        }
        reader.continue_at(self.start + end);
        Some(())
    }
}

/// Returns true if there are only digits from `start` to `end`. May be false for a long integer.
#[inline(always)]
fn is_integer(text: &[u8], start: usize, end: usize) -> bool {
    let digits = text.get(start..).and_then(<[u8]>::first_chunk).map_or(0, count_digits);
    start + digits >= end
}

/// Returns true if there is a literal from `start` to `end`.
#[inline(always)]
fn is_literal(text: &[u8], start: usize, end: usize) -> bool {
    matches!(text.get(start..end), Some(b"null" | b"true" | b"false"))
}

/// Any value, without white space before it.
#[inline(never)]
fn other_value(reader: &JsonReader<'_>, start: usize, depth: usize) -> Option<ByteRange> {
    JsonReader::new(reader.text(), start).read_value(depth).filter(|range| range.start == start)
}
