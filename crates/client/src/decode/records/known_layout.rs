//! Records that have the keys of an earlier record, in the same order and with the same white
//! space. Nearly all records have the keys of the first one. Each key is compared in one step, and
//! most values end at a special byte that is already known.

use super::grid::{Grid, RecordLayout, marked_start};
use crate::decode::json::{ByteRange, JsonReader, KnownKey, SpecialBytes, count_digits, short_eq};

/// Reads the records of a list into a grid.
#[derive(Debug)]
pub(super) struct GridReader<'a> {
    grid: Grid,
    layouts: Vec<KnownLayout<'a>>,
    /// The index of the last record's layout.
    last: usize,
    rest: Rest,
}

/// The special bytes of the text from `start` on.
#[derive(Debug)]
struct Rest {
    start: usize,
    special_bytes: SpecialBytes,
}

/// The keys of a record, and the text after its last value.
#[derive(Debug)]
struct KnownLayout<'a> {
    keys: Vec<KnownKey<'a>>,
    tail: &'a [u8],
}

impl<'a> GridReader<'a> {
    /// Reads the first record.
    pub fn of_first(reader: &mut JsonReader<'a>, depth: usize) -> Option<Self> {
        let (text, mut grid) = (reader.text(), Grid::default());
        let layouts = vec![KnownLayout::new(text, grid.add_layout(reader, depth)?)];
        let start = reader.position();
        let special_bytes = SpecialBytes::new(text.as_bytes().get(start..)?);
        Some(GridReader { grid, layouts, last: 0, rest: Rest { start, special_bytes } })
    }

    /// Makes room for this many more records.
    pub fn reserve(&mut self, records: usize) {
        self.grid.reserve(records);
    }

    /// Reads another record. `None` if it cannot be in a grid.
    #[inline(always)]
    pub fn read(&mut self, reader: &mut JsonReader<'a>, depth: usize) -> Option<()> {
        let starts = self.grid.add_record(self.last);
        match self.layouts.get(self.last)?.read_in_steps(&self.rest, reader, starts, depth) {
            Some(()) => Some(()),
            None => self.read_other(reader, depth),
        }
    }

    /// Reads a record that does not have the layout of the last one, or that is at the end of the
    /// text.
    #[inline(never)]
    fn read_other(&mut self, reader: &mut JsonReader<'a>, depth: usize) -> Option<()> {
        let GridReader { grid, layouts, last, rest } = self;
        grid.remove_record(*last);
        // Tries the other layouts in steps, then the last layout in parts, because steps do not
        // reach the end of the text. Near the end all layouts are read in parts, which costs little
        // there.
        let is_near_end = reader.text().len() - reader.position() < 4096;
        for in_steps in [true, false] {
            for (index, layout) in layouts.iter().enumerate() {
                if (index == *last) == in_steps && (in_steps || !is_near_end) {
                    continue;
                }
                let (mut attempt, starts) = (reader.clone(), grid.add_record(index));
                let read = match in_steps {
                    true => layout.read_in_steps(rest, &mut attempt, starts, depth),
                    false => layout.read_parts(&mut attempt, starts, depth),
                };
                if read.is_some() {
                    (*last, *reader) = (index, attempt);
                    return Some(());
                }
                grid.remove_record(index);
            }
        }
        *last = layouts.len();
        layouts.push(KnownLayout::new(reader.text(), grid.add_layout(reader, depth)?));
        Some(())
    }

    /// Returns the grid of the records that were read.
    pub fn finish(self) -> Grid {
        self.grid
    }
}

impl<'a> KnownLayout<'a> {
    fn new(text: &'a str, layout: &RecordLayout) -> Self {
        let keys = layout.tokens().map(|at| KnownKey::new(text, at)).collect();
        KnownLayout { keys, tail: layout.tail(text).as_bytes() }
    }

    /// Reads a record of this layout, and stores the start of each value. Returns none if the
    /// record may have another layout.
    #[inline(never)]
    fn read_in_steps(
        &self,
        rest: &Rest,
        reader: &mut JsonReader<'_>,
        starts: &mut [u32],
        depth: usize,
    ) -> Option<()> {
        let text = reader.text().as_bytes().get(rest.start..)?;
        let mut position = reader.position().checked_sub(rest.start)?;
        for (key, start) in self.keys.iter().zip(starts) {
            let value = key.end(text, position)?;
            let special = rest.special_bytes.next(value + 1);
            *start = (rest.start + value) as u32;
            let end = match (text.get(value)?, special) {
                (b'"', Some(end)) if text.get(end) == Some(&b'"') => Some(end + 1),
                (b'0'..=b'9', _) => short_number_end(text, value),
                // The next special byte is usually the quote of the next key, with a comma before
                // it.
                (b'n' | b't' | b'f', Some(quote)) if is_literal(text, value, quote - 1) => {
                    Some(quote - 1)
                }
                _ => None,
            };
            position = match end {
                Some(end) => end,
                None => {
                    let range = other_value(reader, rest.start + value, depth)?;
                    *start = marked_start(range);
                    range.end - rest.start
                }
            };
        }
        let end = position + self.tail.len();
        let is_at_end = match self.tail {
            [brace] => text.get(position) == Some(brace),
            tail => short_eq(text.get(position..end)?, tail),
        };
        if !is_at_end {
            return None;
        }
        reader.continue_at(rest.start + end);
        Some(())
    }

    /// Reads a record in the same way, but without searching for special bytes: for the end of the
    /// text.
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
}

/// Finds the end of an integer or decimal. `None` if the number is long, has an exponent, or is
/// followed by white space.
#[inline(always)]
fn short_number_end(text: &[u8], start: usize) -> Option<usize> {
    let digits_end = |start: usize| Some(start + count_digits(text.get(start..)?.first_chunk()?));
    let mut end = digits_end(start)?;
    if text.get(start) == Some(&b'0') && end > start + 1 {
        return None;
    }
    if text.get(end) == Some(&b'.') {
        let fraction = end + 1;
        end = digits_end(fraction)?;
        (end > fraction).then_some(())?;
    }
    matches!(text.get(end), Some(b',' | b'}')).then_some(end)
}

/// Returns true if there is a literal from `start` to `end`.
#[inline(always)]
fn is_literal(text: &[u8], start: usize, end: usize) -> bool {
    matches!(text.get(start..end), Some(b"null" | b"true" | b"false"))
}

/// Reads any value, without white space before it.
#[inline(never)]
fn other_value(reader: &JsonReader<'_>, start: usize, depth: usize) -> Option<ByteRange> {
    JsonReader::new(reader.text(), start).read_value(depth).filter(|range| range.start == start)
}
