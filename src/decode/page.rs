//! One answer's list of records: the bytes as they came, and where each record stands in them.

use std::{
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use serde_json::value::RawValue;

use super::{
    Value,
    grid::{Grid, RowValues},
    json::{Members, member, members},
    json_reader::JsonReader,
    scan::Utf8,
};
use crate::error::{Error, Result};

/// Where the list stands in an answer, for endpoints of the table and for the caller's own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RowsAt {
    /// The members to go through, from the top of the answer.
    Path(Vec<String>),
    /// The one list in this member, or the member itself.
    OnlyListOf(String),
}

/// A page of records. Values are decoded when asked for.
#[derive(Debug)]
pub struct Page {
    number: u64,
    body: Utf8,
    rows: Vec<Range<usize>>,
    grid: Option<Grid>,
    /// What stood beside the list, and in the `pagination` object.
    meta: MemberRanges,
    /// Whether it holds just the records of one window of a range of time.
    of_window: bool,
}

/// What stands beside a list of records.
#[derive(Debug, Default)]
pub(super) struct PageMetadata {
    pub members: MemberRanges,
    /// The `pagination` object at the top of the answer, and its members.
    pub pagination: Option<(Range<usize>, MemberRanges)>,
}

/// Where members stand, by their names.
pub(super) type MemberRanges = Vec<(String, Range<usize>)>;

impl Page {
    pub(super) fn new(
        body: Utf8,
        rows: Vec<Range<usize>>,
        grid: Option<Grid>,
        beside: PageMetadata,
    ) -> Page {
        let mut meta = beside.members;
        // The cursor of section 2.4 stands at the top, outside the data: the object itself, and
        // its members where the other cursor pair has its own.
        if let Some((span, members)) = beside.pagination {
            meta.retain(|(key, _)| key != "pagination");
            meta.extend(members);
            meta.push(("pagination".to_owned(), span));
        }
        static NUMBERS: AtomicU64 = AtomicU64::new(0);
        let number = NUMBERS.fetch_add(1, Ordering::Relaxed);
        Page { number, body, rows, grid, meta, of_window: false }
    }

    /// Finds the list in an answer that is known to be valid JSON of moderate depth: the general
    /// path, for what `scan` leaves to it.
    pub(super) fn find(body: &Utf8, top: &Members<'_>, at: &RowsAt) -> Result<Page> {
        let (text, bytes) = (body.as_str(), body.bytes());
        let missing = |what: &str| {
            Error::protocol(format!("the answer has no list of records {what}"), bytes)
        };
        let (list, beside) = match at {
            RowsAt::Path(path) => {
                descend(top, path).ok_or_else(|| missing(&format!("at '{}'", path.join("."))))?
            }
            RowsAt::OnlyListOf(name) => {
                only_list(top, name).ok_or_else(|| missing(&format!("in '{name}'")))?
            }
        };
        let items: Vec<&RawValue> = serde_json::from_str(list.get())
            .map_err(|_| missing("where it should stand: there is something else"))?;
        let mut rows = Vec::with_capacity(items.len());
        for (index, item) in items.into_iter().enumerate() {
            if !item.get().starts_with('{') {
                return Err(Error::protocol(format!("record {index} is no object"), bytes));
            }
            rows.push(span(text, item.get()));
        }
        let spans = |members: Members<'_>| -> MemberRanges {
            let spans = members.into_iter().filter(|(_, value)| !std::ptr::eq(*value, list));
            spans.map(|(key, value)| (key.into_owned(), span(text, value.get()))).collect()
        };
        let pagination = member(top, "pagination").map(|value| {
            (span(text, value.get()), spans(members(value.get()).unwrap_or_default()))
        });
        let page = Page::new(
            body.clone(),
            rows,
            None,
            PageMetadata { members: spans(beside), pagination },
        );
        page.check_escapes(text)?;
        Ok(page)
    }

    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// No other page of this process has the same.
    pub fn number(&self) -> u64 {
        self.number
    }

    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The members of a record, each value as its own JSON text.
    pub fn row(&self, index: usize) -> Result<Members<'_>> {
        members(self.text(&self.span(index))).map_err(|error| self.broken(index, &error))
    }

    /// A cursor before a record, which reads faster than `row`.
    pub fn reader(&self, index: usize) -> JsonReader<'_> {
        JsonReader::new(self.body.as_str(), self.span(index).start)
    }

    /// The keys of every record as they are written, where all are written alike.
    pub fn keys(&self) -> Option<impl ExactSizeIterator<Item = &str>> {
        self.grid.as_ref().map(|grid| grid.keys(self.body.as_str()))
    }

    /// The values of a record, in the order of those keys.
    #[inline(always)]
    pub fn cells(&self, index: usize) -> Option<RowValues<'_>> {
        self.grid.as_ref()?.cells(self.body.as_str(), index, self.rows.get(index)?)
    }

    fn span(&self, index: usize) -> Range<usize> {
        self.rows.get(index).cloned().unwrap_or_default()
    }

    /// How long these records are together, with what stands between them.
    pub fn bytes_of(&self, records: &Range<usize>) -> usize {
        match (self.rows.get(records.start), self.rows.get(records.end.wrapping_sub(1))) {
            (Some(first), Some(last)) => last.end.saturating_sub(first.start),
            _ => 0,
        }
    }

    pub fn is_of_window(&self) -> bool {
        self.of_window
    }

    /// Leaves the records for which this says so: those of a window.
    pub fn retain(&mut self, kept: &[bool]) {
        self.of_window = true;
        if let Some(grid) = &mut self.grid {
            grid.retain(kept);
        }
        let mut kept = kept.iter();
        self.rows.retain(|_| kept.next().copied().unwrap_or_default());
    }

    /// A member of a record, where it is an integer.
    pub fn integer(&self, index: usize, name: &str) -> Result<Option<i64>> {
        let value = member(&self.row(index)?, name).map(|raw| Value::parse(raw.get()));
        Ok(value.and_then(|value| value.ok()?.as_integer()))
    }

    /// What stood beside the list.
    pub fn meta(&self) -> impl Iterator<Item = (&str, Value<'_>)> {
        self.meta.iter().map(|(name, span)| {
            (name.as_str(), Value::parse(self.text(span)).unwrap_or(Value::Null))
        })
    }

    /// One member of the answer's `pagination` object.
    pub fn pagination(&self, name: &str) -> Option<Value<'_>> {
        match self.meta_member("pagination")? {
            Value::Object(members) => {
                members.into_iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// One member of what stood beside the list.
    pub fn meta_member(&self, name: &str) -> Option<Value<'_>> {
        let (_, span) = self.meta.iter().find(|(key, _)| key == name)?;
        Some(Value::parse(self.text(span)).unwrap_or(Value::Null))
    }

    /// The text or number at a place of the answer, from its top.
    pub fn text_at(&self, path: &[String]) -> Option<String> {
        let top = members(self.body.as_str()).ok()?;
        let (value, _) = descend(&top, path)?;
        match Value::parse(value.get()).ok()? {
            Value::Text(text) => Some(text.into_owned()),
            Value::Number(text) => Some(text.to_owned()),
            _ => None,
        }
    }

    pub fn body(&self) -> &[u8] {
        self.body.bytes()
    }

    /// The error for a record that cannot be decoded after all.
    pub fn broken(&self, index: usize, error: &serde_json::Error) -> Error {
        Error::protocol(format!("record {index} is broken: {error}"), self.body())
    }

    fn text(&self, span: &Range<usize>) -> &str {
        // The spans were cut from this very text.
        self.body.as_str().get(span.clone()).unwrap_or_default()
    }

    /// Splitting an answer does not look into escapes. Where there are any, every record is read
    /// once now, so that a lone surrogate is an error of this page and not of a later access.
    fn check_escapes(&self, text: &str) -> Result<()> {
        if !text.contains("\\u") {
            return Ok(());
        }
        for (name, span) in &self.meta {
            Value::parse(self.text(span)).map_err(|error| {
                Error::protocol(format!("'{name}' of the answer is broken: {error}"), self.body())
            })?;
        }
        for (index, span) in self.rows.iter().enumerate() {
            Value::parse(self.text(span)).map_err(|error| self.broken(index, &error))?;
        }
        Ok(())
    }
}

/// The place of a part of the text within it.
fn span(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}

/// The list at a path, and the members that it stands among.
fn descend<'a>(top: &Members<'a>, path: &[String]) -> Option<(&'a RawValue, Members<'a>)> {
    let (last, parents) = path.split_last()?;
    let mut level = top.clone();
    for name in parents {
        level = members(member(&level, name)?.get()).ok()?;
    }
    let list = member(&level, last)?;
    Some((list, level))
}

fn only_list<'a>(top: &Members<'a>, name: &str) -> Option<(&'a RawValue, Members<'a>)> {
    let data = member(top, name)?;
    if data.get().starts_with('[') {
        return Some((data, Members::new()));
    }
    let level = members(data.get()).ok()?;
    let mut lists = level.iter().filter(|(_, value)| value.get().starts_with('['));
    let list = lists.next()?.1;
    lists.next().is_none().then_some((list, level))
}
