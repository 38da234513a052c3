//! Records over any number of pages, as one sequence.

use std::{borrow::Cow, fmt, ops::Range, sync::Arc};

use super::{BatchBuilder, ColumnOptions, Columns, Page, json::Members};
use crate::{
    api::Field,
    error::{Error, Result},
};

/// A sequence of records: pieces of pages, with the fields that are declared for them.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    slices: Vec<PageSlice>,
    /// The index in the whole sequence at which each piece ends.
    ends: Vec<usize>,
    fields: Arc<[&'static Field]>,
    /// The name of the column that stands before the others, where each piece has a key.
    key_name: Option<&'static str>,
}

/// Consecutive records of one page.
#[derive(Debug, Clone)]
pub struct PageSlice {
    pub page: Arc<Page>,
    pub range: Range<usize>,
    pub key: Option<Arc<str>>,
}

/// One record: its place, and the key of its piece.
#[derive(Debug, Clone, Copy)]
pub struct RowAt<'a> {
    pub page: &'a Page,
    pub index: usize,
    pub key: Option<&'a str>,
    pub number: RecordNumber,
}

/// Which record of what the caller has an error is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordNumber {
    /// Of all records.
    Whole(usize),
    /// Of those of one window of a range of time: windows are read side by side.
    InWindow(usize),
    InPage(usize),
}

impl fmt::Display for RecordNumber {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordNumber::Whole(number) => write!(out, "record {number}"),
            RecordNumber::InWindow(number) => write!(out, "record {number} of its window"),
            RecordNumber::InPage(number) => write!(out, "record {number} of its page"),
        }
    }
}

/// The name that a record's own field has beside the key's column: one that is named like that
/// column, perhaps with underscores behind, gets another underscore, so that no two names meet.
pub fn renamed<'a>(key_name: Option<&str>, name: &'a str) -> Cow<'a, str> {
    match key_name.and_then(|key| name.strip_prefix(key)) {
        Some(rest) if rest.bytes().all(|byte| byte == b'_') => Cow::Owned(format!("{name}_")),
        _ => Cow::Borrowed(name),
    }
}

impl Rows {
    pub fn new(slices: Vec<PageSlice>, fields: Arc<[&'static Field]>) -> Self {
        let mut end = 0;
        let ends = slices
            .iter()
            .map(|slice| {
                end += slice.range.len();
                end
            })
            .collect();
        Rows { slices, ends, fields, key_name: None }
    }

    #[must_use]
    pub fn with_key(mut self, name: &'static str) -> Self {
        self.key_name = Some(name);
        self
    }

    pub fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub fn fields(&self) -> &[&'static Field] {
        &self.fields
    }

    pub fn key_name(&self) -> Option<&'static str> {
        self.key_name
    }

    pub fn slices(&self) -> &[PageSlice] {
        &self.slices
    }

    pub fn get(&self, index: usize) -> Option<RowAt<'_>> {
        let at = self.ends.partition_point(|end| *end <= index);
        let slice = self.slices.get(at)?;
        let before = self.ends.get(at)?.checked_sub(slice.range.len())?;
        let number = RecordNumber::Whole(index);
        let index = slice.range.start + (index - before);
        Some(RowAt { page: &slice.page, index, key: slice.key.as_deref(), number })
    }

    /// The records from `start` up to `end`, sharing the pages.
    #[must_use]
    pub fn slice(&self, start: usize, end: usize) -> Rows {
        let mut slices = Vec::new();
        let first = self.ends.partition_point(|end| *end <= start);
        let mut offset =
            first.checked_sub(1).and_then(|at| self.ends.get(at)).map_or(0, |end| *end);
        for slice in self.slices.iter().skip(first) {
            if offset >= end {
                break;
            }
            let (from, to) = (start.max(offset), end.min(offset + slice.range.len()));
            if from < to {
                let base = slice.range.start;
                let range = base + (from - offset)..base + (to - offset);
                slices.push(PageSlice { range, ..slice.clone() });
            }
            offset += slice.range.len();
        }
        if slices.is_empty() {
            // What stood beside the list stays.
            let last = self.slices.last();
            slices.extend(last.map(|slice| PageSlice { range: 0..0, ..slice.clone() }));
        }
        self.with_slices(slices)
    }

    /// Other pieces with the same fields.
    #[must_use]
    pub fn with_slices(&self, slices: Vec<PageSlice>) -> Rows {
        Rows { key_name: self.key_name, ..Rows::new(slices, self.fields.clone()) }
    }

    pub fn iter(&self) -> impl Iterator<Item = RowAt<'_>> {
        let rows = self
            .slices
            .iter()
            .flat_map(|slice| slice.range.clone().map(move |index| (slice, index)));
        rows.enumerate().map(|(number, (slice, index))| RowAt {
            page: &slice.page,
            index,
            key: slice.key.as_deref(),
            number: RecordNumber::Whole(number),
        })
    }

    /// Typed columns of the declared schema, in parts. `going_on` is asked now and then; once it
    /// says no, the rest is left out.
    pub fn columns(
        &self,
        options: ColumnOptions,
        going_on: impl Fn() -> bool,
    ) -> Result<Vec<Columns>> {
        let fields = || self.fields.iter().copied();
        let make = || Columns::new(fields(), self.key_name, options).of_whole();
        let mut parts = BatchBuilder::new(make);
        for slice in &self.slices {
            if !going_on() {
                break;
            }
            parts.push_slice(slice)?;
        }
        Ok(parts.finish())
    }

    /// How long the records are together.
    pub fn bytes(&self) -> usize {
        self.slices.iter().map(|slice| slice.page.bytes_of(&slice.range)).sum()
    }
}

impl<'a> RowAt<'a> {
    pub fn members(&self) -> Result<Members<'a>> {
        self.page.row(self.index)
    }

    pub fn broken(&self, error: &serde_json::Error) -> Error {
        self.page.broken(self.index, error)
    }
}
