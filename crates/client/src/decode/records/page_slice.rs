//! Consecutive records of one page, and single records.

use std::{fmt, ops::Range, sync::Arc};

use serde::Deserialize;

use super::page::Page;
use crate::{
    decode::json::Members,
    error::{Error, Result},
};

/// Consecutive records of one page.
#[derive(Debug, Clone)]
pub struct PageSlice {
    /// The page.
    pub page: Arc<Page>,
    /// The indices of the records in the page.
    pub range: Range<usize>,
    /// The key of `fetch_many` that the records belong to.
    pub key: Option<Arc<str>>,
}

impl PageSlice {
    /// The records.
    pub fn iter(&self) -> impl Iterator<Item = RecordRef<'_>> {
        self.range.clone().map(|index| RecordRef {
            page: &self.page,
            index,
            key: self.key.as_deref(),
            number: RecordNumber::InPage(index),
        })
    }
}

impl From<Page> for PageSlice {
    fn from(page: Page) -> Self {
        PageSlice { range: 0..page.len(), page: Arc::new(page), key: None }
    }
}

/// A record, which is decoded when it is read.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    /// The page.
    #[doc(hidden)]
    pub page: &'a Page,
    /// The index in the page.
    #[doc(hidden)]
    pub index: usize,
    /// The key of `fetch_many` that the record belongs to.
    #[doc(hidden)]
    pub key: Option<&'a str>,
    /// The number to show in errors.
    #[doc(hidden)]
    pub number: RecordNumber,
}

/// The number of a record in error messages, counted from 0.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordNumber {
    /// Among all records.
    Whole(usize),
    /// Among the records of one window of a time range: windows are fetched concurrently.
    InWindow(usize),
    /// Among the records of one page.
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

impl RecordNumber {
    fn following(self, count: usize) -> Self {
        match self {
            RecordNumber::Whole(number) => RecordNumber::Whole(number + count),
            RecordNumber::InWindow(number) => RecordNumber::InWindow(number + count),
            RecordNumber::InPage(number) => RecordNumber::InPage(number + count),
        }
    }
}

impl<'a> RecordRef<'a> {
    /// Returns the number of the record that is `count` records later in the same slice.
    #[must_use]
    #[doc(hidden)]
    pub fn following(self, count: usize) -> Self {
        RecordRef { index: self.index + count, number: self.number.following(count), ..self }
    }

    /// Returns the JSON text of the record, as it was received.
    pub fn text(&self) -> &'a str {
        self.page.row_text(self.index)
    }

    /// Returns the members of the record, each value as its own JSON text.
    #[doc(hidden)]
    pub fn members(&self) -> Result<Members<'a>> {
        self.page.row(self.index)
    }

    /// Deserializes the record into a type, which may borrow texts without escapes from the page.
    pub fn deserialize<T: Deserialize<'a>>(&self) -> Result<T> {
        serde_json::from_str(self.text()).map_err(|error| {
            Error::conversion(format!("{} does not fit the type: {error}", self.number))
        })
    }

    /// Returns the error for a record that is not valid JSON.
    #[doc(hidden)]
    pub fn invalid(&self, error: &serde_json::Error) -> Error {
        self.page.invalid_record(self.index, error)
    }
}
