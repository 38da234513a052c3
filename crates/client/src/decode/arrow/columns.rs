//! Builds the typed Arrow columns of records, by the schema of the records.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{ArrowError, Schema};

use super::{
    errors::{page_too_large, too_sparse, type_mismatch},
    field_columns::{Column, FieldColumns, PushValue, finish_all},
    field_matcher::MAX_UNDECLARED,
    options::{ColumnOptions, InvalidValues},
    scalar_builder::Capacity,
    stream_columns::{StreamColumns, StreamPage},
    undeclared_columns::add_undeclared_columns,
};
use crate::{
    api::{Field, Kind},
    decode::{
        json::Raw,
        records::{KEY_DOC, PageSlice, RecordNumber},
        scalars::PushError,
        selection::Selection,
    },
    error::{Advice, Error, Result},
};

/// Builds one batch of columns, record by record.
#[derive(Debug)]
pub struct Columns {
    options: ColumnOptions,
    /// The keys of `fetch_many`, the first column.
    key: Option<Column>,
    key_name: Option<String>,
    /// The fields that become columns, in this order; all fields if None.
    selection: Option<Selection>,
    fields: FieldColumns,
    /// The length of all records.
    bytes: usize,
    /// The number of rows in the parts before this one.
    rows_before: usize,
    /// True if these are all records, and not only the records of a window.
    is_whole: bool,
}

/// Maximum length of a text in an array with 32-bit offsets.
const MAX_PAGE_BYTES: usize = i32::MAX as usize;

impl Columns {
    /// Creates columns for the selected ones of these fields. All of them will be present, even
    /// without any record.
    pub fn new<'a>(
        fields: impl Iterator<Item = &'a Field> + Clone,
        key_name: Option<&str>,
        selection: Option<&Selection>,
        options: ColumnOptions,
    ) -> Self {
        let is_selected = |name: &str| selection.is_none_or(|selection| selection.contains(name));
        let key = |name: &str| {
            let column = Column::new(name.to_owned(), Kind::Text, options, Capacity::default());
            column.with_metadata("", KEY_DOC)
        };
        Columns {
            options,
            key: key_name.filter(|name| is_selected(name)).map(key),
            key_name: key_name.map(str::to_owned),
            selection: selection.cloned(),
            fields: FieldColumns::new(fields, key_name, selection, options),
            bytes: 0,
            rows_before: 0,
            is_whole: false,
        }
    }

    /// Declares that these are all records: errors count records from the first, even if pages are
    /// windows.
    #[must_use]
    pub fn of_whole(self) -> Self {
        Columns { is_whole: true, ..self }
    }

    /// Continues from an earlier part of the same result.
    #[must_use]
    pub(super) fn following(mut self, previous: &Columns) -> Self {
        let rows = previous.rows();
        self.rows_before = previous.rows_before + rows;
        let columns = self.fields.columns.iter_mut();
        for (column, previous) in columns.zip(&previous.fields.columns) {
            column.reserve_like(previous, rows, self.options);
        }
        self
    }

    /// Returns the number of records.
    pub fn rows(&self) -> usize {
        self.fields.rows
    }

    /// Returns the length of the text of all records.
    pub(super) fn byte_length(&self) -> usize {
        self.bytes
    }

    /// Appends records straight from their page's text.
    pub fn push_slice(&mut self, slice: &PageSlice) -> Result<()> {
        let bytes = slice.page.byte_length(&slice.range);
        if bytes > MAX_PAGE_BYTES {
            return Err(page_too_large(bytes, MAX_PAGE_BYTES));
        }
        self.bytes += bytes;
        let in_window = slice.page.is_window() && !self.is_whole;
        let mut known = None;
        for index in slice.range.clone() {
            let number = self.rows_before + self.rows();
            let number = match in_window {
                true => RecordNumber::InWindow(number),
                false => RecordNumber::Whole(number),
            };
            let mut outcome = Ok(());
            let push = checked_push(number, self.options.invalid, &mut outcome);
            let values = slice.page.row_values(index);
            if let Some(values) =
                values.filter(|v| known.as_ref().is_none_or(|(at, _)| *at != v.layout()))
            {
                known = Some((values.layout(), self.fields.layout(values.names())));
            }
            match (&known, values) {
                (Some((_, Some(layout))), Some(values)) => {
                    self.fields.push_by_layout(&values, layout, push)
                }
                _ => self
                    .fields
                    .push_members(&slice.page.row(index)?, push)
                    .map_err(|_| self.too_many_fields())?,
            }
            outcome?;
            self.push_key(slice.key.as_deref());
        }
        Ok(())
    }

    fn push_key(&mut self, key: Option<&str>) {
        if let Some(column) = &mut self.key {
            column.push_text(key.unwrap_or_default());
        }
    }

    fn too_many_fields(&self) -> Error {
        too_sparse(self.fields.undeclared_names().len(), self.rows() + 1)
    }

    /// Returns the columns as one record batch.
    pub fn finish(self) -> Result<RecordBatch> {
        let (schema, mut batches) = Self::finish_parts(vec![self])?;
        Ok(batches.pop().unwrap_or_else(|| RecordBatch::new_empty(schema)))
    }

    /// Finishes the parts of one result, made with the same fields: one batch for each part, all
    /// with one schema.
    pub fn finish_parts(mut parts: Vec<Columns>) -> Result<(Arc<Schema>, Vec<RecordBatch>)> {
        if let Some(first) = parts.first() {
            let options = first.options;
            let key_name = first.key_name.clone();
            let bytes = parts.iter().map(|part| part.bytes).sum();
            let mut fields: Vec<&mut FieldColumns> =
                parts.iter_mut().map(|part| &mut part.fields).collect();
            add_undeclared_columns(&mut fields, bytes, key_name.as_deref(), options)?;
        }
        let mut batches: Vec<RecordBatch> = Vec::with_capacity(parts.len());
        for part in parts {
            let schema = batches.first().map(RecordBatch::schema);
            batches.push(part.into_batch(schema).map_err(|error| no_columns(&error))?);
        }
        let schema = batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
        Ok((schema, batches))
    }

    /// Returns the columns of a stream that begins with these records.
    pub fn stream_columns(&mut self) -> StreamColumns {
        StreamColumns::of(&mut self.fields, self.selection.as_ref())
    }

    /// Returns the columns as a record batch of a stream, in which they are the page with this
    /// number.
    pub fn finish_like(mut self, stream: &StreamColumns, page: usize) -> Result<RecordBatch> {
        let page = StreamPage { number: page, bytes: self.bytes };
        stream.add_to(&mut self.fields, self.options, page)?;
        self.into_batch(None).map_err(|error| no_columns(&error))
    }

    /// Returns a batch that shares the schema of the earlier parts.
    fn into_batch(self, schema: Option<Arc<Schema>>) -> Result<RecordBatch, ArrowError> {
        let rows = self.rows();
        let mut columns: Vec<Column> = self.key.into_iter().chain(self.fields.columns).collect();
        if let Some(selection) = &self.selection {
            // A selected field that no schema declares and no record has is null everywhere.
            for name in selection.names() {
                if !columns.iter().any(|column| column.name == name) {
                    let mut column =
                        Column::new(name.to_owned(), Kind::Text, self.options, Capacity::default());
                    column.push_nulls(rows);
                    columns.push(column);
                }
            }
            columns.sort_by_key(|column| selection.position(&column.name));
        }
        let (fields, arrays) = finish_all(columns)?;
        let schema = schema.unwrap_or_else(|| Arc::new(Schema::new(fields)));
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(schema, arrays, &options)
    }
}

fn no_columns(error: &ArrowError) -> Error {
    Error::conversion(format!("the records cannot be converted to columns: {error}"))
        .with_advice(Advice::NoColumns)
}

/// Appends the values of a record to its columns, and sets `outcome` to the first error.
#[inline(always)]
fn checked_push<'t>(
    number: RecordNumber,
    invalid: InvalidValues,
    outcome: &mut Result<()>,
) -> impl PushValue<'t> {
    move |column: &mut Column, json: Option<&'t str>, escaped| match column
        .push(json.map(|json| Raw::scanned(json, escaped)))
    {
        Ok(()) | Err(PushError::Missing) => {}
        Err(PushError::TooManyFields) => *outcome = Err(too_sparse(MAX_UNDECLARED, 1)),
        Err(PushError::Invalid | PushError::InvalidMember) => {
            if invalid == InvalidValues::Raise && outcome.is_ok() {
                *outcome =
                    Err(type_mismatch(&column.name, column.kind, number, json.unwrap_or_default()));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use ::http::Response;
    use arrow_array::{Array, cast::AsArray, types::Decimal128Type};
    use arrow_schema::DataType;

    use super::*;
    use crate::{
        api::{Envelope, RecordsLocation},
        decode::{arrow::options::Decimals, parse_page},
    };

    const PAIR: &[Field] = &[Field::text("base", "")];
    const FIELDS: &[Field] = &[
        Field::text("code", ""),
        Field::decimal("price", ""),
        Field::millis("listed", ""),
        Field::date("day", ""),
        Field::object("pair", PAIR, ""),
    ];

    fn batch(options: ColumnOptions, records: &[&str]) -> Result<RecordBatch> {
        batch_of(FIELDS, options, records)
    }

    fn batch_of(fields: &[Field], options: ColumnOptions, records: &[&str]) -> Result<RecordBatch> {
        let body = format!("{{\"rows\":[{}]}}", records.join(","));
        let at = RecordsLocation::at("rows");
        let page = parse_page(Envelope::Field("rows"), &at, &Response::new(body.into()))?;
        let mut columns = Columns::new(fields.iter(), None, None, options);
        columns.push_slice(&page.into())?;
        columns.finish()
    }

    #[test]
    fn an_empty_result_has_every_declared_column() {
        let batch = batch(ColumnOptions::default(), &[]).expect("batch");
        assert_eq!((batch.num_rows(), batch.num_columns()), (0, 5));
        assert_eq!(batch.column(1).data_type(), &DataType::Float64);
    }

    #[test]
    fn null_has_a_form_of_its_own_for_each_kind() {
        let batch = batch(
            ColumnOptions::default(),
            &[
                r#"{"code":"","price":"","listed":0,"day":"--"}"#,
                r#"{"price":"0.10","listed":1,"day":"1970/01/02","pair":{"base":"BTC"}}"#,
                r#"{"price":null,"listed":"","day":""}"#,
            ],
        )
        .expect("batch");
        assert_eq!(batch.column(0).null_count(), 2, "an empty text is not null");
        for column in 1..5 {
            assert_eq!(batch.column(column).null_count(), 2, "column {column}");
            assert!(batch.column(column).is_valid(1), "column {column}");
        }
    }

    #[test]
    fn decimals_are_exact_on_request() {
        let options = ColumnOptions { decimals: Decimals::Decimal, ..Default::default() };
        let record = r#"{"price":"-12345678901234567890.123456789012345678"}"#;
        let batch = batch(options, &[record]).expect("batch");
        let cells = batch.column(1).as_primitive::<Decimal128Type>();
        assert_eq!(cells.value(0), -12_345_678_901_234_567_890_123_456_789_012_345_678);
    }

    #[test]
    fn an_invalid_value_is_an_error_or_null() {
        let record = r#"{"code":"a","day":"soon"}"#;
        let error = batch(ColumnOptions::default(), &[record]).expect_err("invalid").to_string();
        assert!(error.contains("day of record 0 is \"soon\""), "{error}");
        let options = ColumnOptions { invalid: InvalidValues::Null, ..Default::default() };
        assert_eq!(batch(options, &[record]).expect("batch").column(3).null_count(), 1);
    }

    #[test]
    fn an_invalid_value_within_an_object_is_an_error_or_null() {
        const SINCE: &[Field] = &[Field::date("since", "")];
        const NESTED: &[Field] = &[Field::object("pair", SINCE, "")];
        let columns = |invalid| {
            let options = ColumnOptions { invalid, ..Default::default() };
            batch_of(NESTED, options, &[r#"{"pair":{"since":"soon"}}"#])
        };
        let error = columns(InvalidValues::Raise).expect_err("invalid").to_string();
        assert!(error.contains("pair of record 0"), "{error}");
        let batch = columns(InvalidValues::Null).expect("batch");
        assert!(batch.column(0).is_valid(0));
        assert!(batch.column(0).as_struct().column(0).is_null(0));
    }

    #[test]
    fn undeclared_fields_become_columns_after_the_declared_ones() {
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

    #[test]
    fn no_undeclared_integer_loses_digits_in_a_column_of_floats() {
        let exact = ["9007199254740992", "-9007199254740992", "9223372036854774784"];
        let inexact = [
            "9007199254740993",
            "-9007199254740993",
            "9223372036854775807",
            "18446744073709551616",
        ];
        let kinds = [(&exact[..], DataType::Float64), (&inexact[..], DataType::Utf8)];
        for (integers, kind) in kinds {
            for integer in integers {
                let records = [r#"{"n":0.5}"#.to_owned(), format!(r#"{{"n":{integer}}}"#)];
                let records: Vec<&str> = records.iter().map(String::as_str).collect();
                let batch = batch(ColumnOptions::default(), &records).expect("batch");
                assert_eq!(batch.column(5).data_type(), &kind, "{integer}");
            }
        }
    }
}
