//! The positions of all values of a page whose records have a uniform layout.
//!
//! Nearly all pages do: every record has the same keys in the same order, without white space. Such
//! a page need not be parsed again to make objects or columns of it: the keys are compared once, and
//! each value is cut out where the scan found it. Other pages have no grid and are read record by
//! record.

use std::ops::Range;

use crate::decode::json::{ByteRange, Key, Raw, short_eq};

/// Pages with more keys have no grid: each key is compared with all others.
const MAX_KEYS: usize = 128;
/// The bit that marks the position of a string with escapes.
const ESCAPED: u32 = 1 << 31;

/// The keys of all records, and the position of each value.
#[derive(Debug)]
pub(super) struct Grid {
    /// Each key through its colon, in the first record.
    keys: Vec<Range<usize>>,
    /// The start of each value, one record after another.
    starts: Vec<u32>,
}

/// The values of one record, in the order of its keys.
#[derive(Debug, Clone, Copy)]
pub struct RowValues<'a> {
    text: &'a str,
    keys: &'a [Range<usize>],
    starts: &'a [u32],
    /// The end of the last value.
    end: usize,
}

impl Grid {
    /// The keys through their colons.
    pub fn keys<'a>(&'a self, text: &'a str) -> impl ExactSizeIterator<Item = &'a str> {
        self.keys.iter().map(|key| text.get(key.clone()).unwrap_or_default())
    }

    /// The values of the record that is at `range`.
    #[inline(always)]
    pub fn row_values<'a>(
        &'a self,
        text: &'a str,
        index: usize,
        range: &Range<usize>,
    ) -> Option<RowValues<'a>> {
        let width = self.keys.len();
        let starts = self.starts.get(index * width..(index + 1) * width)?;
        Some(RowValues { text, keys: &self.keys, starts, end: range.end.checked_sub(1)? })
    }

    /// Removes the records whose flag is false.
    pub fn retain(&mut self, kept: &[bool]) {
        let width = self.keys.len().max(1);
        let mut index = 0;
        self.starts.retain(|_| {
            let row = index / width;
            index += 1;
            kept.get(row).copied().unwrap_or_default()
        });
    }
}

impl<'a> RowValues<'a> {
    /// The value of the key with this index.
    #[inline(always)]
    pub fn get(&self, key: usize) -> Option<Raw<'a>> {
        let start = *self.starts.get(key)?;
        let end = match (self.starts.get(key + 1), self.keys.get(key + 1)) {
            // A comma and the next key are in between.
            (Some(next), Some(key)) => ((next & !ESCAPED) as usize).checked_sub(key.len() + 1)?,
            _ => self.end,
        };
        let escaped = start & ESCAPED != 0;
        ByteRange { start: (start & !ESCAPED) as usize, end, escaped }.of(self.text)
    }
}

/// The start of a value, as a grid stores it.
#[inline(always)]
pub(super) fn marked_start(range: ByteRange) -> u32 {
    range.start as u32 | if range.escaped { ESCAPED } else { 0 }
}

/// Builds a grid while its page is scanned.
#[derive(Debug)]
pub(super) struct GridBuilder {
    starts: Vec<u32>,
    key_count: usize,
    /// The length of all keys through their colons.
    keys_length: usize,
    /// The length of the values of the current record.
    values_length: usize,
    is_uniform: bool,
}

impl GridBuilder {
    pub fn new(text_length: usize) -> Self {
        GridBuilder {
            starts: Vec::new(),
            key_count: 0,
            keys_length: 0,
            values_length: 0,
            is_uniform: text_length < ESCAPED as usize,
        }
    }

    /// Adds a key that differs from that of the previous record.
    pub fn add_key(&mut self, key: &Key<'_>, is_first_record: bool) {
        let is_compact =
            key.name.plain_text().is_some_and(|name| name.len() + 3 == key.token.len());
        self.is_uniform &= is_first_record && is_compact && self.key_count < MAX_KEYS;
        self.key_count += 1;
        self.keys_length += key.token.len();
    }

    #[inline(always)]
    pub fn add_value(&mut self, range: ByteRange) {
        if self.is_uniform {
            self.starts.push(marked_start(range));
            self.values_length += range.end - range.start;
        }
    }

    /// Returns true if all records so far have the same keys, and no white space.
    pub fn is_uniform(&self) -> bool {
        self.is_uniform
    }

    /// The slots for the values of one more record like the first, unless the page is not uniform.
    #[inline(always)]
    pub fn add_record(&mut self) -> Option<&mut [u32]> {
        if !self.is_uniform {
            return None;
        }
        let start = self.starts.len();
        self.starts.resize(start + self.key_count, 0);
        self.starts.get_mut(start..)
    }

    /// Takes back what `add_record` added.
    pub fn remove_record(&mut self) {
        self.starts.truncate(self.starts.len() - self.key_count);
    }

    /// Ends a record with this many members.
    #[inline(always)]
    pub fn end_record(&mut self, range: &Range<usize>, members: usize) {
        // Two brackets, and a comma between members.
        let length = self.keys_length + self.values_length + members + 1;
        self.is_uniform &= members > 0 && members == self.key_count && range.len() == length;
        self.values_length = 0;
    }

    /// Makes room for this many more records like the first.
    pub fn reserve(&mut self, records: usize) {
        self.starts.reserve(records * self.key_count);
    }

    /// The grid of records with these keys. There is none if a name is duplicated: its last value
    /// counts, which a grid cannot express.
    pub fn finish(self, text: &str, keys: impl Iterator<Item = Range<usize>>) -> Option<Grid> {
        if !self.is_uniform || self.key_count == 0 {
            return None;
        }
        let grid = Grid { keys: keys.collect(), starts: self.starts };
        let tokens: Vec<&str> = grid.keys(text).collect();
        let is_duplicate = |(index, token): (usize, &&str)| {
            tokens.iter().take(index).any(|other| short_eq(other.as_bytes(), token.as_bytes()))
        };
        let has_duplicates = tokens.iter().enumerate().any(is_duplicate);
        (!has_duplicates).then_some(grid)
    }
}
