//! Where the values of a page stand, if its records are written alike.
//!
//! Nearly all pages come so: every record has the same keys in the same order, and no white space.
//! What makes objects or columns of such a page need not read it again: the keys are looked at once,
//! and each value is cut out where the scan saw it. A page that is written otherwise has no grid and
//! is read record by record.

use std::ops::Range;

use super::{
    bytes::same,
    json_reader::Key,
    raw::{ByteRange, Raw},
};

/// More keys than this are not compared with each other.
const MOST_KEYS: usize = 128;
/// Set beside the place of a string that has escapes.
const ESCAPED: u32 = 1 << 31;

/// The keys of all records, and the place of each value.
#[derive(Debug, Default)]
pub struct Grid {
    /// From the quote to behind the colon, in the first record.
    keys: Vec<Range<usize>>,
    /// One record after another.
    starts: Vec<u32>,
}

/// The values of one record.
#[derive(Debug, Clone, Copy)]
pub struct RowValues<'a> {
    text: &'a str,
    keys: &'a [Range<usize>],
    starts: &'a [u32],
    /// Behind the last value.
    end: usize,
}

impl Grid {
    /// The keys as each record writes them.
    pub fn keys<'a>(&'a self, text: &'a str) -> impl ExactSizeIterator<Item = &'a str> {
        self.keys.iter().map(|key| text.get(key.clone()).unwrap_or_default())
    }

    /// The values of a record that stands at `row`.
    #[inline(always)]
    pub fn cells<'a>(
        &'a self,
        text: &'a str,
        index: usize,
        row: &Range<usize>,
    ) -> Option<RowValues<'a>> {
        let width = self.keys.len();
        let starts = self.starts.get(index * width..(index + 1) * width)?;
        Some(RowValues { text, keys: &self.keys, starts, end: row.end.checked_sub(1)? })
    }

    /// Leaves the records for which this says so.
    pub fn retain(&mut self, kept: &[bool]) {
        let width = self.keys.len().max(1);
        let mut place = 0;
        self.starts.retain(|_| {
            let row = place / width;
            place += 1;
            kept.get(row).copied().unwrap_or_default()
        });
    }
}

impl<'a> RowValues<'a> {
    /// The value of the key at a place.
    #[inline(always)]
    pub fn get(&self, place: usize) -> Option<Raw<'a>> {
        let start = *self.starts.get(place)?;
        let end = match (self.starts.get(place + 1), self.keys.get(place + 1)) {
            // A comma and the next key stand between.
            (Some(next), Some(key)) => ((next & !ESCAPED) as usize).checked_sub(key.len() + 1)?,
            _ => self.end,
        };
        let escaped = start & ESCAPED != 0;
        ByteRange { start: (start & !ESCAPED) as usize, end, escaped }.of(self.text)
    }
}

/// A grid while its page is scanned.
#[derive(Debug)]
pub struct GridBuilder {
    grid: Grid,
    /// How long the keys are together.
    keys_length: usize,
    /// How long the values of this record are together.
    values_length: usize,
    alike: bool,
}

impl GridBuilder {
    /// For a page of this length.
    pub fn new(length: usize) -> Self {
        GridBuilder {
            grid: Grid::default(),
            keys_length: 0,
            values_length: 0,
            alike: length < ESCAPED as usize,
        }
    }

    /// A key that is not written as in the record before.
    pub fn other_key(&mut self, first: bool, start: usize, key: &Key<'_>) {
        let plain = key.name.plain().is_some_and(|name| name.len() + 3 == key.token.len());
        self.alike &= first && plain && self.grid.keys.len() < MOST_KEYS;
        if self.alike {
            self.grid.keys.push(start..start + key.token.len());
            self.keys_length += key.token.len();
        }
    }

    #[inline(always)]
    pub fn value(&mut self, span: ByteRange) {
        if self.alike {
            let mark = if span.escaped { ESCAPED } else { 0 };
            self.grid.starts.push(span.start as u32 | mark);
            self.values_length += span.end - span.start;
        }
    }

    /// The end of a record with so many members.
    #[inline(always)]
    pub fn end(&mut self, row: &Range<usize>, members: usize) {
        // Both brackets, and a comma between any two.
        let length = self.keys_length + self.values_length + members + 1;
        self.alike &= members > 0 && members == self.grid.keys.len() && row.len() == length;
        self.values_length = 0;
    }

    /// Makes room for as many records again, times this.
    pub fn reserve(&mut self, records: usize) {
        self.grid.starts.reserve(records * self.grid.keys.len());
    }

    /// The grid, if there is one: where a name is doubled, its last value counts, which is more than
    /// a grid can tell.
    pub fn finish(self, text: &str) -> Option<Grid> {
        let keys: Vec<&str> = self.grid.keys(text).collect();
        let doubled = |(at, key): (usize, &&str)| {
            keys.iter().take(at).any(|other| same(other.as_bytes(), key.as_bytes()))
        };
        let usable = self.alike && !keys.is_empty() && !keys.iter().enumerate().any(doubled);
        usable.then_some(self.grid)
    }
}
