//! One response's list of records: the bytes as they were received, and the position of each
//! record.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use super::{
    grid::{Grid, RowValues},
    utf8::Utf8Bytes,
};
use crate::{
    decode::{
        json::{Members, Raw, Value, find_member, parse_members},
        scalars,
    },
    error::{Error, Result},
};

/// A page of records. Values are decoded on demand.
pub struct Page {
    id: u64,
    body: Utf8Bytes,
    rows: Vec<Range<usize>>,
    grid: Option<Grid>,
    /// The members next to the list, and the members of the `pagination` object.
    meta: MemberRanges,
    /// True if there is a `pagination` object at the top level.
    has_pagination: bool,
    says_more: Option<&'static str>,
    is_window: bool,
}

boardlot_service::shown_as!(Page, |this| "Page({} records)", this.len());

/// The content of a response besides its list of records.
#[derive(Debug, Default)]
pub(super) struct PageMetadata {
    /// The other members of the object that has the list.
    pub siblings: MemberRanges,
    /// The top-level `pagination` object, and its members.
    pub pagination: Option<(Range<usize>, MemberRanges)>,
    /// The member, if any, that says that there are more records than these.
    pub says_more: Option<&'static str>,
}

/// The positions of members by their names, each name once.
pub(super) type MemberRanges = Vec<(String, Range<usize>)>;

/// A page without records.
impl Default for Page {
    fn default() -> Self {
        Page::new(Utf8Bytes::default(), Vec::new(), None, PageMetadata::default())
    }
}

impl Page {
    pub(super) fn new(
        body: Utf8Bytes,
        rows: Vec<Range<usize>>,
        grid: Option<Grid>,
        metadata: PageMetadata,
    ) -> Page {
        static NEXT_ID: AtomicU64 = AtomicU64::new(0);
        let (mut meta, says_more) = (metadata.siblings, metadata.says_more);
        // The cursor of section 2.4 is at the top level, outside the data. The `pagination` object
        // and its members are listed with the members next to the list.
        let has_pagination = metadata.pagination.is_some();
        if let Some((range, members)) = metadata.pagination {
            meta.retain(|(key, _)| key != "pagination");
            meta.extend(members);
            meta.push(("pagination".to_owned(), range));
        }
        let id = NEXT_ID.fetch_add(1, Ordering::Relaxed);
        Page { id, body, rows, grid, meta, has_pagination, says_more, is_window: false }
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Returns true if there are no records.
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns a number that no other page of this process has.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Returns the members of a record, each value as its own JSON text.
    pub fn row(&self, index: usize) -> Result<Members<'_>> {
        parse_members(self.row_text(index)).map_err(|error| self.invalid_record(index, &error))
    }

    /// Returns the values of a record by its layout; none if the page has no grid.
    #[inline(always)]
    pub fn row_values(&self, index: usize) -> Option<RowValues<'_>> {
        self.grid.as_ref()?.row_values(self.body.as_str(), index, self.rows.get(index)?)
    }

    /// Returns the length of the text of these records.
    pub fn byte_length(&self, records: &Range<usize>) -> usize {
        match (self.rows.get(records.start), self.rows.get(records.end.wrapping_sub(1))) {
            (Some(first), Some(last)) => last.end.saturating_sub(first.start),
            _ => 0,
        }
    }

    /// Returns the member of the response, if any, that says that there are more records than
    /// these.
    pub fn says_more(&self) -> Option<&'static str> {
        self.says_more
    }

    /// Returns true if the page has only the records of one window of a time range.
    pub fn is_window(&self) -> bool {
        self.is_window
    }

    /// Keeps only the records whose flag is true: the records of a window.
    pub fn retain(&mut self, kept: &[bool]) {
        self.is_window = true;
        if let Some(grid) = &mut self.grid {
            grid.retain(kept);
        }
        let mut kept = kept.iter();
        self.rows.retain(|_| kept.next().copied().unwrap_or_default());
    }

    /// Returns a member of a record if it is an integer.
    pub fn integer(&self, index: usize, name: &str) -> Result<Option<i64>> {
        if let Some(values) = self.row_values(index)
            && let Some(at) = values.names().position(|known| known == name)
        {
            return Ok(values.get(at).and_then(|raw| scalars::integer(raw).ok()));
        }
        let row = self.row(index)?;
        Ok(find_member(&row, name).and_then(|raw| scalars::integer(Raw::new(raw.get())).ok()))
    }

    /// Iterates over the members next to the list, and the members of the `pagination` object.
    pub fn meta(&self) -> impl Iterator<Item = (&str, Value<'_>)> {
        self.meta.iter().map(|(name, range)| (name.as_str(), self.value(range)))
    }

    /// Returns a member next to the list.
    pub fn meta_member(&self, name: &str) -> Option<Value<'_>> {
        let (_, range) = self.meta.iter().find(|(key, _)| key == name)?;
        Some(self.value(range))
    }

    /// Returns a member of the `pagination` object.
    pub fn pagination(&self, name: &str) -> Option<Value<'_>> {
        let pagination = self.has_pagination.then(|| self.meta_member("pagination"))??;
        pagination.get(name).cloned()
    }

    /// Returns the text or number at a path of member names from the top of the response.
    pub fn text_at(&self, path: &[String]) -> Option<String> {
        let (last, parents) = path.split_last()?;
        let mut members = parse_members(self.body.as_str()).ok()?;
        for name in parents {
            members = parse_members(find_member(&members, name)?.get()).ok()?;
        }
        match Value::parse(find_member(&members, last)?.get()).ok()? {
            Value::Text(text) => Some(text.into_owned()),
            Value::Number(text) => Some(text.to_owned()),
            _ => None,
        }
    }

    /// Returns the body of the response.
    pub fn body(&self) -> &[u8] {
        self.body.bytes()
    }

    /// Returns the error for a record that is not valid JSON.
    pub fn invalid_record(&self, index: usize, error: &serde_json::Error) -> Error {
        Error::protocol(format!("record {index} is not valid JSON: {error}"), self.body())
    }

    /// Returns the text of a record, as it was received.
    pub fn row_text(&self, index: usize) -> &str {
        self.rows.get(index).map_or("", |range| self.text(range))
    }

    fn value(&self, range: &Range<usize>) -> Value<'_> {
        Value::parse(self.text(range)).unwrap_or(Value::Null)
    }

    fn text(&self, range: &Range<usize>) -> &str {
        // All ranges are of parts of this text.
        self.body.as_str().get(range.clone()).unwrap_or_default()
    }
}
