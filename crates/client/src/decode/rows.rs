//! Records over any number of pages, as one sequence.

use std::{borrow::Cow, sync::Arc};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;

use super::{
    arrow::{BatchBuilder, ColumnOptions, Columns},
    records::{PageSlice, RecordNumber, RecordRef, field_name},
    selection::Selection,
};
use crate::{api::Field, error::Result};

/// A sequence of records of one endpoint, as they were received.
///
/// ```
/// # fn print(rows: &boardlot_client::Rows) -> boardlot_client::Result<()> {
/// #[derive(serde::Deserialize)]
/// struct Dividend {
///     ex_date: String,
///     dividend_per_share: f64,
/// }
///
/// for record in rows.iter() {
///     let dividend: Dividend = record.deserialize()?;
///     println!("{}: {}", dividend.ex_date, dividend.dividend_per_share);
/// }
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Default)]
pub struct Rows {
    slices: Vec<PageSlice>,
    /// The end of each slice in the whole sequence.
    ends: Vec<usize>,
    fields: Arc<[Field]>,
    /// The name of the column of keys, if each slice has a key.
    key_name: Option<Arc<str>>,
    /// The fields to which the records are restricted; all fields if None.
    selection: Option<Selection>,
}

boardlot_service::shown_as!(Rows, |this| "Rows({} records)", this.len());

impl Rows {
    /// Makes a sequence of the records of these slices.
    #[doc(hidden)]
    pub fn new(slices: Vec<PageSlice>, fields: Arc<[Field]>) -> Self {
        let mut end = 0;
        let ends = slices
            .iter()
            .map(|slice| {
                end += slice.range.len();
                end
            })
            .collect();
        Rows { slices, ends, fields, key_name: None, selection: None }
    }

    /// Adds a column of keys.
    #[must_use]
    #[doc(hidden)]
    pub fn with_key(mut self, name: &str) -> Self {
        self.key_name = Some(name.into());
        self
    }

    /// Restricts the records to these fields.
    #[must_use]
    #[doc(hidden)]
    pub fn restricted_to(self, selection: Option<Selection>) -> Self {
        Rows { selection, ..self }
    }

    /// Restricts the records to fields that they have or that are declared for them. If
    /// `undeclared`, any field can be selected while there are no records.
    #[doc(hidden)]
    pub fn select(&self, names: Vec<String>, undeclared: bool) -> Result<Rows> {
        let mut known: Vec<String> = match &self.selection {
            Some(selection) => selection.names().map(str::to_owned).collect(),
            None => self.declared_names().map(Cow::into_owned).collect(),
        };
        if self.selection.is_none() && !names.iter().all(|name| known.contains(name)) {
            // Looks for undeclared fields only now.
            let is_any = undeclared && self.is_empty();
            known = if is_any { Vec::new() } else { self.field_names()? };
        }
        let known = known.iter().map(String::as_str);
        let selection = match self.is_empty() && self.selection.is_none() {
            true => Selection::of_declared(names, known)?,
            false => Selection::new(names, known)?,
        };
        Ok(self.clone().restricted_to(Some(selection)))
    }

    /// Returns the fields to which the records are restricted.
    #[doc(hidden)]
    pub fn selection(&self) -> Option<&Selection> {
        self.selection.as_ref()
    }

    /// Returns the names of the column of keys and of all declared fields.
    #[doc(hidden)]
    pub fn declared_names(&self) -> impl Iterator<Item = Cow<'_, str>> {
        let fields = self.fields.iter().map(|field| field_name(self.key_name(), &field.name));
        self.key_name().map(Cow::Borrowed).into_iter().chain(fields)
    }

    /// Returns the number of records.
    pub fn len(&self) -> usize {
        self.ends.last().copied().unwrap_or_default()
    }

    /// Returns true if there are no records.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the declared fields.
    #[doc(hidden)]
    pub fn fields(&self) -> &Arc<[Field]> {
        &self.fields
    }

    /// Returns the name of the column of keys.
    #[doc(hidden)]
    pub fn key_name(&self) -> Option<&str> {
        self.key_name.as_deref()
    }

    /// Returns the slices of pages.
    #[doc(hidden)]
    pub fn slices(&self) -> &[PageSlice] {
        &self.slices
    }

    /// Returns the record with this index.
    pub fn get(&self, index: usize) -> Option<RecordRef<'_>> {
        let number = self.ends.partition_point(|end| *end <= index);
        let slice = self.slices.get(number)?;
        let before = self.ends.get(number)?.checked_sub(slice.range.len())?;
        let number = RecordNumber::Whole(index);
        let index = slice.range.start + (index - before);
        Some(RecordRef { page: &slice.page, index, key: slice.key.as_deref(), number })
    }

    /// Returns the records from `start` to before `end`, sharing the pages.
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
            // An empty slice keeps the metadata of its page.
            let last = self.slices.last();
            slices.extend(last.map(|slice| PageSlice { range: 0..0, ..slice.clone() }));
        }
        self.with_slices(slices)
    }

    /// Replaces the slices and keeps the fields.
    #[must_use]
    #[doc(hidden)]
    pub fn with_slices(&self, slices: Vec<PageSlice>) -> Rows {
        Rows {
            key_name: self.key_name.clone(),
            selection: self.selection.clone(),
            ..Rows::new(slices, self.fields.clone())
        }
    }

    /// Iterates over all records.
    pub fn iter(&self) -> impl Iterator<Item = RecordRef<'_>> {
        self.first_rows().flat_map(|(first, count)| (0..count).map(move |at| first.following(at)))
    }

    /// Iterates over the slices: the first record and the number of records of each.
    #[doc(hidden)]
    pub fn first_rows(&self) -> impl Iterator<Item = (RecordRef<'_>, usize)> {
        self.slices.iter().zip(&self.ends).map(|(slice, end)| {
            let count = slice.range.len();
            let number = RecordNumber::Whole(end.saturating_sub(count));
            let index = slice.range.start;
            (RecordRef { page: &slice.page, index, key: slice.key.as_deref(), number }, count)
        })
    }

    /// Returns the records as typed Arrow columns: the fields of the endpoint's page, then all
    /// other fields of the records. There is one batch for each 2 GiB of text at most, all with one
    /// schema; the arrays are those of `arrow-array` 60.
    ///
    /// # Errors
    ///
    /// A value that is not of its field's kind, unless `options` make it null.
    pub fn record_batches(&self, options: ColumnOptions) -> Result<(SchemaRef, Vec<RecordBatch>)> {
        Columns::finish_parts(self.columns(options, || true)?)
    }

    /// Builds typed columns of the declared schema, in parts. Once `is_wanted` returns false, the
    /// remaining records are left out.
    #[doc(hidden)]
    pub fn columns(
        &self,
        options: ColumnOptions,
        is_wanted: impl Fn() -> bool,
    ) -> Result<Vec<Columns>> {
        let fields = || self.fields.iter();
        let selection = self.selection.as_ref();
        let new_part = || Columns::new(fields(), self.key_name(), selection, options).of_whole();
        let mut parts = BatchBuilder::new(new_part);
        for slice in &self.slices {
            if !is_wanted() {
                break;
            }
            parts.push_slice(slice)?;
        }
        Ok(parts.finish())
    }

    /// Returns the length of the text of all records.
    #[doc(hidden)]
    pub fn byte_length(&self) -> usize {
        self.slices.iter().map(|slice| slice.page.byte_length(&slice.range)).sum()
    }
}
