//! The positions of all values of a page whose records have a known layout.
//!
//! Nearly all pages have one layout, and some have a few: every record has the same keys in the
//! same order, with the same white space. Making objects or columns of such a page needs no second
//! parse: the keys are compared once, and each value is cut out at the position that the scan
//! found. Other pages have no grid, and their records are split into members one by one.

use std::ops::Range;

use crate::decode::json::{ByteRange, JsonReader, Raw};

/// Maximum number of keys, since each key is compared with all others. Larger records are left to
/// the slow path.
const MAX_KEYS: usize = 128;
/// Maximum number of layouts; a page with more has no grid. A record may be read once for each
/// layout, and a hostile page must not cost much more than any other.
const MAX_LAYOUTS: usize = 3;
/// The bit that marks the position of a string with escapes.
const ESCAPED: u32 = 1 << 31;

/// The keys of all records, and the position of each value.
#[derive(Debug, Default)]
pub(super) struct Grid {
    layouts: Vec<RecordLayout>,
    /// The start of each value, one record after another.
    starts: Vec<u32>,
    /// The layout of each record, and the index of its first value in `starts`.
    records: Vec<(u32, u32)>,
}

/// The keys and white space that records share, in the first of them.
#[derive(Debug, Default)]
pub(super) struct RecordLayout {
    keys: Vec<GridKey>,
    /// The text after the last value, up to and including the closing brace.
    tail: Range<usize>,
}

/// A key, which has no escapes.
#[derive(Debug)]
struct GridKey {
    /// The name, between its quotes.
    name: Range<usize>,
    /// The key with all text around it: from the brace or value before it to its own value.
    token: Range<usize>,
}

/// The values of one record, in the order of its keys.
#[derive(Debug, Clone, Copy)]
pub struct RowValues<'a> {
    text: &'a str,
    /// The index of the record's layout among the layouts of the page.
    layout: usize,
    keys: &'a [GridKey],
    starts: &'a [u32],
    /// The end of the last value.
    end: usize,
}

impl Grid {
    /// Reads a record with a layout of its own. `None` if the record cannot be in a grid: the last
    /// value of a repeated name counts, which a grid cannot express.
    pub fn add_layout(
        &mut self,
        reader: &mut JsonReader<'_>,
        depth: usize,
    ) -> Option<&RecordLayout> {
        let text = reader.text();
        let mut layout = RecordLayout { keys: Vec::with_capacity(16), tail: 0..0 };
        let first = self.starts.len();
        // A name is compared only if an earlier one had the same length and some of the same bytes.
        let mut seen = [false; 256];
        let mut has_like = |name: &str| {
            let byte = |at: usize| name.as_bytes().get(at).map_or(0, |byte| usize::from(*byte));
            let (middle, last) = (byte(name.len() / 2), byte(name.len().wrapping_sub(1)));
            let slot = seen.get_mut((name.len() * 31 + byte(0) + middle * 7 + last * 13) % 256);
            slot.is_none_or(|slot| std::mem::replace(slot, true))
        };
        let mut end = reader.position();
        let mut has_next = reader.begin_container(b'{', b'}')?;
        while has_next {
            let start = reader.position() + 1;
            let name = reader.read_key()?.plain_text()?;
            let value = reader.read_value(depth)?;
            let is_repeated = has_like(name) && layout.names(text).any(|known| known == name);
            if is_repeated || layout.keys.len() == MAX_KEYS {
                return None;
            }
            layout.keys.push(GridKey { name: start..start + name.len(), token: end..value.start });
            self.starts.push(marked_start(value));
            end = value.end;
            has_next = reader.has_next(b'}')?;
        }
        layout.tail = end..reader.position();
        let is_fit = !layout.keys.is_empty() && text.len() < ESCAPED as usize;
        (is_fit && self.layouts.len() < MAX_LAYOUTS).then_some(())?;
        self.records.push((self.layouts.len() as u32, first as u32));
        self.layouts.push(layout);
        self.layouts.last()
    }

    /// Makes room for this many more records.
    pub fn reserve(&mut self, records: usize) {
        self.starts.reserve(records * self.width(0));
        self.records.reserve(records);
    }

    /// Returns the slots for the values of one more record of this layout.
    #[inline(always)]
    pub fn add_record(&mut self, layout: usize) -> &mut [u32] {
        let start = self.starts.len();
        self.records.push((layout as u32, start as u32));
        self.starts.resize(start + self.width(layout), 0);
        self.starts.get_mut(start..).unwrap_or_default()
    }

    /// Removes the last record, which turned out not to have this layout.
    pub fn remove_record(&mut self, layout: usize) {
        self.starts.truncate(self.starts.len() - self.width(layout));
        self.records.pop();
    }

    #[inline(always)]
    fn width(&self, layout: usize) -> usize {
        self.layouts.get(layout).map_or(0, |layout| layout.keys.len())
    }

    /// Returns the values of the record at `range`.
    #[inline(always)]
    pub fn row_values<'a>(
        &'a self,
        text: &'a str,
        index: usize,
        range: &Range<usize>,
    ) -> Option<RowValues<'a>> {
        let (layout, start) = *self.records.get(index)?;
        let (layout, start) = (layout as usize, start as usize);
        let RecordLayout { keys, tail } = self.layouts.get(layout)?;
        let starts = self.starts.get(start..start + keys.len())?;
        let end = range.end.checked_sub(tail.len())?;
        Some(RowValues { text, layout, keys, starts, end })
    }

    /// Removes the records whose flag is false.
    pub fn retain(&mut self, kept: &[bool]) {
        let mut kept = kept.iter();
        self.records.retain(|_| kept.next().copied().unwrap_or_default());
    }
}

impl RecordLayout {
    /// Returns the positions of the keys with the text around them.
    pub fn tokens(&self) -> impl Iterator<Item = Range<usize>> {
        self.keys.iter().map(|key| key.token.clone())
    }

    /// Returns the text after the last value of each record.
    pub fn tail<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.tail.clone()).unwrap_or_default()
    }

    fn names<'a>(&'a self, text: &'a str) -> impl ExactSizeIterator<Item = &'a str> + Clone {
        self.keys.iter().map(|key| text.get(key.name.clone()).unwrap_or_default())
    }
}

impl<'a> RowValues<'a> {
    /// Returns the index of the record's layout among the layouts of its page.
    #[inline(always)]
    pub fn layout(&self) -> usize {
        self.layout
    }

    /// Returns the names of the record's keys.
    pub fn names(&self) -> impl ExactSizeIterator<Item = &'a str> + Clone + use<'a> {
        let text = self.text;
        self.keys.iter().map(move |key| text.get(key.name.clone()).unwrap_or_default())
    }

    /// Returns the value of the key with this index.
    #[inline(always)]
    pub fn get(&self, key: usize) -> Option<Raw<'a>> {
        let start = *self.starts.get(key)?;
        let end = match (self.starts.get(key + 1), self.keys.get(key + 1)) {
            // Only the next key is between the two values.
            (Some(next), Some(key)) => ((next & !ESCAPED) as usize).checked_sub(key.token.len())?,
            _ => self.end,
        };
        let escaped = start & ESCAPED != 0;
        ByteRange { start: (start & !ESCAPED) as usize, end, escaped }.of(self.text)
    }
}

/// Returns the start of a value, as a grid stores it.
#[inline(always)]
pub(super) fn marked_start(range: ByteRange) -> u32 {
    range.start as u32 | if range.escaped { ESCAPED } else { 0 }
}
