//! Records to Arrow columns, typed by the record's schema.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema};

use super::{
    PageSlice,
    column_builder::{Column, finish_all},
    fields::FieldColumns,
    json::Members,
    raw::Raw,
    rows::{RecordNumber, renamed},
    undeclared::{settle, too_many},
    values::PushError,
};
use crate::{
    api::{Field, Kind},
    error::{Error, Result},
};

/// What the columns shall look like.
#[derive(Debug, Clone, Copy, Default)]
pub struct ColumnOptions {
    pub decimals: Decimals,
    pub invalid: InvalidValues,
    pub strings: Strings,
}

/// What decimal strings become.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Decimals {
    #[default]
    Float64,
    /// Exact: 38 digits, 18 of them behind the point.
    Decimal,
    /// As sent.
    Text,
}

/// What becomes of a value that its column's type cannot hold.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum InvalidValues {
    #[default]
    Raise,
    Null,
}

/// Which of Arrow's string layouts to use: each library has one that costs it no copy.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Strings {
    #[default]
    Utf8,
    Large,
    View,
}

/// Columns of any length: longer ones than these parts would be copied again and again as they grow.
#[derive(Debug)]
pub struct BatchBuilder<Make> {
    make: Make,
    full: Vec<Columns>,
    growing: Columns,
}

/// How many rows a part has at least, or else bytes of records, unless it is the last.
const PART_ROWS: usize = 1 << 16;
const PART_BYTES: usize = 1 << 26;
/// The most text that one array of 32-bit offsets can hold.
const MOST_TEXT: usize = i32::MAX as usize;

impl<Make: Fn() -> Columns> BatchBuilder<Make> {
    /// `make` makes the empty columns of each part.
    pub fn new(make: Make) -> Self {
        BatchBuilder { growing: make(), full: Vec::new(), make }
    }

    pub fn push_slice(&mut self, slice: &PageSlice) -> Result<()> {
        if self.growing.rows() >= PART_ROWS || self.growing.bytes >= PART_BYTES {
            let mut next = (self.make)();
            next.rows_before = self.growing.rows_before + self.growing.rows();
            let before = &self.growing.fields.declared;
            for (column, before) in next.fields.declared.iter_mut().zip(before) {
                column.make_room_like(before);
            }
            self.full.push(std::mem::replace(&mut self.growing, next));
        }
        self.growing.push_slice(slice)
    }

    pub fn finish(mut self) -> Vec<Columns> {
        self.full.push(self.growing);
        self.full
    }
}

/// Builds one batch of columns, a record at a time.
#[derive(Debug)]
pub struct Columns {
    options: ColumnOptions,
    /// The key of `fetch_many`, before the others.
    key: Option<Column>,
    fields: FieldColumns,
    /// How long the records are together.
    bytes: usize,
    /// In the parts before this one.
    rows_before: usize,
    /// Whether these are all records there are, and not just those of a window.
    whole: bool,
}

impl Columns {
    /// Columns for these fields, all of them present even where no record ever comes.
    pub fn new<'a>(
        fields: impl Iterator<Item = &'a Field> + Clone,
        key: Option<&str>,
        options: ColumnOptions,
    ) -> Self {
        Columns {
            options,
            key: key.map(|name| Column::new(name, Kind::Text, options)),
            fields: FieldColumns::new(fields, options, &|name| renamed(key, name).into_owned()),
            bytes: 0,
            rows_before: 0,
            whole: false,
        }
    }

    /// The same for records that are all at hand: their numbers are those in the whole.
    #[must_use]
    pub fn of_whole(self) -> Self {
        Columns { whole: true, ..self }
    }

    pub fn rows(&self) -> usize {
        self.fields.rows
    }

    /// Appends records straight from their page's text.
    pub fn push_slice(&mut self, slice: &PageSlice) -> Result<()> {
        let bytes = slice.page.bytes_of(&slice.range);
        if bytes > MOST_TEXT {
            return Err(too_long(bytes));
        }
        self.bytes += bytes;
        let places = slice.page.keys().and_then(|keys| self.fields.places(keys));
        let key = slice.key.as_deref();
        for index in slice.range.clone() {
            let place = self.rows_before + self.rows();
            let number = match slice.page.is_of_window() && !self.whole {
                true => RecordNumber::InWindow(place),
                false => RecordNumber::Whole(place),
            };
            let mut outcome = Ok(());
            let push = pushing(number, self.options.invalid, &mut outcome);
            if let (Some(places), Some(cells)) = (&places, slice.page.cells(index)) {
                self.fields.push_cells(&cells, places, push);
            } else {
                let mut reader = slice.page.reader(index);
                let text = reader.text();
                if self.fields.split(&mut reader).is_some() {
                    self.fields.push_split(text, push);
                } else {
                    self.push(key, &slice.page.row(index)?)?;
                    continue;
                }
            }
            outcome?;
            self.push_key(key);
        }
        Ok(())
    }

    /// Appends a record by its members: the simple way, which the fast one is held against.
    pub fn push(&mut self, key: Option<&str>, record: &Members<'_>) -> Result<()> {
        let number = RecordNumber::Whole(self.rows_before + self.rows());
        let mut outcome = Ok(());
        let push = pushing(number, self.options.invalid, &mut outcome);
        if !self.fields.push_members(record, push) {
            return Err(too_many(self.fields.other_names().len(), self.rows() + 1));
        }
        self.push_key(key);
        outcome
    }

    fn push_key(&mut self, key: Option<&str>) {
        if let Some(column) = &mut self.key {
            column.push_text(key.unwrap_or_default());
        }
    }

    pub fn finish(self) -> Result<RecordBatch> {
        let (schema, mut batches) = Self::finish_parts(vec![self])?;
        Ok(batches.pop().unwrap_or_else(|| RecordBatch::new_empty(schema)))
    }

    /// Several parts of one result, made with the same fields: a batch each, all of one schema.
    pub fn finish_parts(mut parts: Vec<Columns>) -> Result<(Arc<Schema>, Vec<RecordBatch>)> {
        if let Some(first) = parts.first() {
            let options = first.options;
            let key = first.key.as_ref().map(|column| column.name.clone());
            let rename = |name: &str| renamed(key.as_deref(), name).into_owned();
            let bytes = parts.iter().map(|part| part.bytes).sum();
            let mut fields: Vec<&mut FieldColumns> =
                parts.iter_mut().map(|part| &mut part.fields).collect();
            settle(&mut fields, bytes, options, &rename)?;
        }
        let mut batches: Vec<RecordBatch> = Vec::with_capacity(parts.len());
        for part in parts {
            let schema = batches.first().map(RecordBatch::schema);
            batches.push(part.batch(schema).map_err(|error| {
                Error::protocol(format!("the columns do not fit: {error}"), b"")
            })?);
        }
        let schema = batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
        Ok((schema, batches))
    }

    /// With the schema of the parts before, and not just an equal one.
    fn batch(self, schema: Option<Arc<Schema>>) -> Result<RecordBatch, ArrowError> {
        let rows = self.rows();
        let (fields, arrays) = finish_all(self.key.into_iter().chain(self.fields.declared))?;
        let schema = schema.unwrap_or_else(|| Arc::new(Schema::new(fields)));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, arrays, &options)
    }
}

/// Gives a declared column of a record its cell, or notes the error that the record is.
#[inline(always)]
fn pushing<'t>(
    number: RecordNumber,
    invalid: InvalidValues,
    outcome: &mut Result<()>,
) -> impl FnMut(&mut Column, Option<Raw<'t>>) {
    move |column, value| match value.map_or(Err(PushError::Missing), |value| column.push(value)) {
        Ok(()) => {}
        Err(PushError::Missing) => column.push_nulls(1),
        Err(absent) => {
            if absent == PushError::Invalid {
                column.push_nulls(1);
            }
            if absent == PushError::TooMany {
                *outcome = Err(too_many(super::members::MOST_UNDECLARED, 1));
            } else if invalid == InvalidValues::Raise && outcome.is_ok() {
                *outcome =
                    Err(type_mismatch(&column.name, number, value.map_or("", |value| value.json)));
            }
        }
    }
}

/// A value that is not of its field's kind, with the ways to read it all the same.
pub fn type_mismatch(field: &str, number: RecordNumber, value: &str) -> Error {
    let shown: String = value.chars().take(64).collect();
    Error::protocol(
        format!(
            "{field} of {number} is {shown}, which its declared type cannot hold; read it as \
             sent from the records, or take invalid='null'"
        ),
        b"",
    )
}

fn too_long(bytes: usize) -> Error {
    Error::protocol(
        format!("records of {bytes} bytes in one page are too long for columns; ask for less"),
        b"",
    )
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, cast::AsArray, types::Decimal128Type};
    use arrow_schema::DataType;

    use super::*;
    use crate::decode::json::members;

    const FIELDS: &[Field] = &[
        Field::text("code", ""),
        Field::decimal("price", ""),
        Field::millis("listed", ""),
        Field::date("day", ""),
        Field::object("pair", &[Field::text("base", "")], ""),
    ];

    fn batch(options: ColumnOptions, records: &[&str]) -> Result<RecordBatch> {
        let mut columns = Columns::new(FIELDS.iter(), None, options);
        for record in records {
            columns.push(None, &members(record).expect("json"))?;
        }
        columns.finish()
    }

    #[test]
    fn an_empty_result_has_every_declared_column() {
        let batch = batch(ColumnOptions::default(), &[]).expect("batch");
        assert_eq!((batch.num_rows(), batch.num_columns()), (0, 5));
        assert_eq!(batch.column(1).data_type(), &DataType::Float64);
    }

    #[test]
    fn none_has_its_own_word_for_each_kind() {
        let batch = batch(
            ColumnOptions::default(),
            &[
                r#"{"code":"","price":"","listed":0,"day":"--"}"#,
                r#"{"price":"0.10","listed":1,"day":"1970/01/02","pair":{"base":"BTC"}}"#,
                r#"{"price":null,"listed":"","day":""}"#,
            ],
        )
        .expect("batch");
        assert_eq!(batch.column(0).null_count(), 2, "an empty text is a text");
        for column in 1..5 {
            assert_eq!(batch.column(column).null_count(), 2, "column {column}");
            assert!(batch.column(column).is_valid(1), "column {column}");
        }
    }

    #[test]
    fn decimals_are_exact_when_asked_for() {
        let options = ColumnOptions { decimals: Decimals::Decimal, ..Default::default() };
        let record = r#"{"price":"-12345678901234567890.123456789012345678"}"#;
        let batch = batch(options, &[record]).expect("batch");
        let cells = batch.column(1).as_primitive::<Decimal128Type>();
        assert_eq!(cells.value(0), -12_345_678_901_234_567_890_123_456_789_012_345_678);
    }

    #[test]
    fn a_value_that_does_not_fit_is_told_and_never_lost_in_silence() {
        let record = r#"{"code":"a","day":"soon"}"#;
        let error = batch(ColumnOptions::default(), &[record]).expect_err("refused").to_string();
        assert!(error.contains("day of record 0 is \"soon\""), "{error}");
        let options = ColumnOptions { invalid: InvalidValues::Null, ..Default::default() };
        assert_eq!(batch(options, &[record]).expect("batch").column(3).null_count(), 1);
    }

    #[test]
    fn a_value_within_an_object_is_told_or_null_like_any_other() {
        const NESTED: &[Field] = &[Field::object("pair", &[Field::date("since", "")], "")];
        let columns = |invalid| {
            let options = ColumnOptions { invalid, ..Default::default() };
            let mut columns = Columns::new(NESTED.iter(), None, options);
            columns.push(None, &members(r#"{"pair":{"since":"soon"}}"#).expect("json"))?;
            columns.finish()
        };
        let error = columns(InvalidValues::Raise).expect_err("refused").to_string();
        assert!(error.contains("pair of record 0"), "{error}");
        let batch = columns(InvalidValues::Null).expect("batch");
        assert!(batch.column(0).is_valid(0));
        assert!(batch.column(0).as_struct().column(0).is_null(0));
    }

    #[test]
    fn unknown_fields_become_columns_behind_the_declared_ones() {
        let batch = batch(
            ColumnOptions::default(),
            &[r#"{"n":1,"m":1}"#, r#"{"n":2,"m":1.5,"o":{"a":[1]}}"#, r#"{"t":"x","f":true}"#],
        )
        .expect("batch");
        let schema = batch.schema();
        let extra: Vec<(&str, &DataType)> = schema
            .fields()
            .iter()
            .skip(5)
            .map(|field| (field.name().as_str(), field.data_type()))
            .collect();
        assert_eq!(
            extra,
            [
                ("n", &DataType::Int64),
                ("m", &DataType::Float64),
                ("o", &DataType::Utf8),
                ("t", &DataType::Utf8),
                ("f", &DataType::Boolean)
            ]
        );
        assert_eq!(batch.column(7).as_string::<i32>().value(1), r#"{"a":[1]}"#);
    }
}
