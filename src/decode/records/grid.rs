//! The positions of all values of a page whose records have a uniform layout.
//!
//! Nearly all pages do: every record has the same keys in the same order, with the same white space.
//! Such a page need not be parsed again to make objects or columns of it: the keys are compared once,
//! and each value is cut out where the scan found it. Other pages have no grid, and their records are
//! split into members one by one.

use std::ops::Range;

use crate::decode::json::{ByteRange, JsonReader, Raw};

/// Records with more keys are left to the slow path: each key is compared with all others.
const MAX_KEYS: usize = 128;
/// The bit that marks the position of a string with escapes.
const ESCAPED: u32 = 1 << 31;

/// The keys of all records, and the position of each value.
#[derive(Debug)]
pub(super) struct Grid {
    keys: Vec<GridKey>,
    /// The text after the last value, through the closing brace, in the first record.
    tail: Range<usize>,
    /// The start of each value, one record after another.
    starts: Vec<u32>,
}

/// A key, which has no escapes, in the first record.
#[derive(Debug)]
struct GridKey {
    /// Between its quotes.
    name: Range<usize>,
    /// With everything around it: from the brace or the value before it to its own value.
    token: Range<usize>,
}

/// The values of one record, in the order of its keys.
#[derive(Debug, Clone, Copy)]
pub struct RowValues<'a> {
    text: &'a str,
    keys: &'a [GridKey],
    starts: &'a [u32],
    /// The end of the last value.
    end: usize,
}

impl Grid {
    /// Reads the first record, whose layout the others must have. `None` if there is no grid of such
    /// records: the last value of a repeated name counts, which a grid cannot express.
    pub fn of_first(reader: &mut JsonReader<'_>, depth: usize) -> Option<Self> {
        let text = reader.text();
        let mut grid = Grid { keys: Vec::with_capacity(16), tail: 0..0, starts: Vec::new() };
        let mut end = reader.position();
        let mut has_next = reader.begin_container(b'{', b'}')?;
        while has_next {
            let start = reader.position() + 1;
            let name = reader.read_key()?.plain_text()?;
            let value = reader.read_value(depth)?;
            let is_repeated = grid.names(text).any(|known| known == name);
            if is_repeated || grid.keys.len() == MAX_KEYS {
                return None;
            }
            grid.keys.push(GridKey { name: start..start + name.len(), token: end..value.start });
            grid.starts.push(marked_start(value));
            end = value.end;
            has_next = reader.has_next(b'}')?;
        }
        grid.tail = end..reader.position();
        (!grid.keys.is_empty() && text.len() < ESCAPED as usize).then_some(grid)
    }

    /// Makes room for this many more records.
    pub fn reserve(&mut self, records: usize) {
        self.starts.reserve(records * self.keys.len());
    }

    /// The slots for the values of one more record.
    #[inline(always)]
    pub fn add_record(&mut self) -> &mut [u32] {
        let start = self.starts.len();
        self.starts.resize(start + self.keys.len(), 0);
        self.starts.get_mut(start..).unwrap_or_default()
    }

    /// The keys with what is around them.
    pub fn tokens<'a>(&self, text: &'a str) -> impl Iterator<Item = &'a str> {
        self.keys.iter().map(|key| text.get(key.token.clone()).unwrap_or_default())
    }

    /// The text after the last value of each record.
    pub fn tail<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.tail.clone()).unwrap_or_default()
    }

    /// The names of the keys.
    pub fn names<'a>(&'a self, text: &'a str) -> impl ExactSizeIterator<Item = &'a str> + Clone {
        self.keys.iter().map(|key| text.get(key.name.clone()).unwrap_or_default())
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
        let end = range.end.checked_sub(self.tail.len())?;
        Some(RowValues { text, keys: &self.keys, starts, end })
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
            // Only the next key is in between.
            (Some(next), Some(key)) => ((next & !ESCAPED) as usize).checked_sub(key.token.len())?,
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
