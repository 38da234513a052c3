//! Records to Arrow columns, typed by the record's schema.

use std::{ops::Range, sync::Arc};

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::Schema;

use super::{
    Piece,
    cells::{Absent, Column, finish_all},
    cursor::Raw,
    json::Members,
    members::Splitter,
    numbers::{float, integer},
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
pub struct Parts<Make> {
    make: Make,
    full: Vec<Columns>,
    growing: Columns,
}

/// How many rows a part has at least, unless it is the last.
const PART_ROWS: usize = 1 << 16;

impl<Make: Fn() -> Columns> Parts<Make> {
    /// `make` makes the empty columns of each part.
    pub fn new(make: Make) -> Self {
        Parts { growing: make(), full: Vec::new(), make }
    }

    pub fn push_piece(&mut self, piece: &Piece) -> Result<()> {
        if self.growing.rows >= PART_ROWS {
            let mut next = (self.make)();
            next.rows_before = self.growing.rows_before + self.growing.rows;
            for (column, before) in next.declared.iter_mut().zip(&self.growing.declared) {
                column.make_room_like(before);
            }
            self.full.push(std::mem::replace(&mut self.growing, next));
        }
        self.growing.push_piece(piece)
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
    declared: Vec<Column>,
    members: Splitter,
    /// Fields that the schema does not know, in the order of their first appearance.
    unknown: Vec<Unknown>,
    rows: usize,
    /// In the parts before this one.
    rows_before: usize,
}

/// The values of a field that the schema does not know: its type shows when all are there.
#[derive(Debug)]
struct Unknown {
    name: String,
    /// The values' JSON, one behind the other.
    json: String,
    cells: Vec<Option<Range<usize>>>,
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
            members: Splitter::new(fields.clone().map(|field| field.name)),
            declared: fields.map(|field| Column::new(field.name, field.kind, options)).collect(),
            unknown: Vec::new(),
            rows: 0,
            rows_before: 0,
        }
    }

    pub fn rows(&self) -> usize {
        self.rows
    }

    /// Appends records straight from their page's text.
    pub fn push_piece(&mut self, piece: &Piece) -> Result<()> {
        if let Some(keys) = piece.page.keys()
            && let Some(places) = self.members.places(keys)
        {
            return self.push_alike(piece, &places);
        }
        let key = piece.key.as_deref();
        for index in piece.range.clone() {
            let mut cursor = piece.page.cursor(index);
            if self.members.split(&mut cursor).is_none() {
                self.push(key, &piece.page.row(index)?)?;
                continue;
            }
            let text = cursor.text();
            self.push_key(key);
            for (column, span) in self.declared.iter_mut().zip(self.members.known()) {
                let value = span.and_then(|span| span.of(text));
                push_cell(column, value, self.rows_before + self.rows, self.options.invalid)?;
            }
            for (place, span) in self.members.others() {
                if let Some(value) = span.of(text) {
                    push_unknown(
                        &mut self.unknown,
                        self.members.other_name(*place),
                        value.json,
                        self.rows,
                    );
                }
            }
            self.rows += 1;
        }
        Ok(())
    }

    /// The same for records that are all written alike: `places` has those of their keys.
    fn push_alike(&mut self, piece: &Piece, places: &[usize]) -> Result<()> {
        let place_of = |column: usize| places.iter().position(|place| *place == column);
        let declared: Vec<Option<usize>> = (0..self.declared.len()).map(place_of).collect();
        let unknown: Vec<(usize, usize)> = places
            .iter()
            .enumerate()
            .filter_map(|(at, place)| Some((at, place.checked_sub(self.declared.len())?)))
            .collect();
        for index in piece.range.clone() {
            let Some(cells) = piece.page.cells(index) else { continue };
            self.push_key(piece.key.as_deref());
            let row = self.rows_before + self.rows;
            for (column, at) in self.declared.iter_mut().zip(&declared) {
                let value = at.and_then(|at| cells.get(at));
                push_cell(column, value, row, self.options.invalid)?;
            }
            for (at, place) in &unknown {
                if let Some(value) = cells.get(*at) {
                    let name = self.members.other_name(*place);
                    push_unknown(&mut self.unknown, name, value.json, self.rows);
                }
            }
            self.rows += 1;
        }
        Ok(())
    }

    /// Appends a record by its members: the simple way, which the fast one is held against.
    pub fn push(&mut self, key: Option<&str>, record: &Members<'_>) -> Result<()> {
        self.push_key(key);
        for column in &mut self.declared {
            let value = record.iter().rev().find(|(name, _)| *name == column.name);
            let value = value.map(|(_, raw)| Raw::new(raw.get()));
            push_cell(column, value, self.rows_before + self.rows, self.options.invalid)?;
        }
        for (name, raw) in record {
            if self.declared.iter().all(|column| column.name != *name) {
                push_unknown(&mut self.unknown, name, raw.get(), self.rows);
            }
        }
        self.rows += 1;
        Ok(())
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
        let mut names: Vec<String> = Vec::new();
        for unknown in parts.iter().flat_map(|part| &part.unknown) {
            if !names.contains(&unknown.name) {
                names.push(unknown.name.clone());
            }
        }
        for name in names {
            let cells =
                || parts.iter().flat_map(|part| &part.unknown).filter(|other| other.name == name);
            let kind = guessed(|| cells().flat_map(Unknown::values).flatten());
            for part in &mut parts {
                let column = part.column_of(&name, kind);
                part.declared.push(column);
            }
        }
        let mut batches: Vec<RecordBatch> = Vec::with_capacity(parts.len());
        for part in parts {
            let rows = part.rows;
            let (fields, arrays) = finish_all(part.key.into_iter().chain(part.declared));
            // The same schema for all, and not just an equal one.
            let schema = match batches.first() {
                Some(first) => first.schema(),
                None => Arc::new(Schema::new(fields)),
            };
            let options = RecordBatchOptions::new().with_row_count(Some(rows));
            let batch = RecordBatch::try_new_with_options(schema, arrays, &options);
            batches.push(batch.map_err(|error| {
                Error::protocol(format!("the columns do not fit: {error}"), b"")
            })?);
        }
        let schema = batches.first().map_or_else(|| Arc::new(Schema::empty()), RecordBatch::schema);
        Ok((schema, batches))
    }

    /// The column of an unknown field, now that its kind is known; its values are let go.
    fn column_of(&mut self, name: &str, kind: Kind) -> Column {
        let mut column = Column::new(name, kind, self.options);
        let mut rows = 0;
        if let Some(at) = self.unknown.iter().position(|unknown| unknown.name == name) {
            let unknown = self.unknown.swap_remove(at);
            for value in unknown.values() {
                if value.is_none_or(|json| column.push(Raw::new(json)).is_err()) {
                    column.push_null();
                }
            }
            rows = unknown.cells.len();
        }
        for _ in rows..self.rows {
            column.push_null();
        }
        column
    }
}

impl Unknown {
    fn values(&self) -> impl Iterator<Item = Option<&str>> {
        self.cells.iter().map(|cell| self.json.get(cell.clone()?))
    }
}

fn push_cell(
    column: &mut Column,
    value: Option<Raw<'_>>,
    row: usize,
    invalid: InvalidValues,
) -> Result<()> {
    let outcome = value.map_or(Err(Absent::Missing), |value| column.push(value));
    match outcome {
        Ok(()) => {}
        Err(Absent::Invalid | Absent::InvalidWithin) if invalid == InvalidValues::Raise => {
            return Err(unfit(&column.name, row, value.map_or("", |value| value.json)));
        }
        Err(Absent::InvalidWithin) => {}
        Err(Absent::Missing | Absent::Invalid) => column.push_null(),
    }
    Ok(())
}

fn push_unknown(unknown: &mut Vec<Unknown>, name: &str, json: &str, row: usize) {
    let at = match unknown.iter().position(|known| known.name == name) {
        Some(at) => at,
        None => {
            let (name, json) = (name.to_owned(), String::new());
            unknown.push(Unknown { name, json, cells: Vec::new() });
            unknown.len() - 1
        }
    };
    if let Some(field) = unknown.get_mut(at) {
        // A doubled name overwrites the value before it.
        field.cells.resize(row, None);
        let start = field.json.len();
        field.cells.push((json != "null").then(|| {
            field.json.push_str(json);
            start..field.json.len()
        }));
    }
}

/// A kind that holds all of these JSON values; text where there is no other.
fn guessed<'a, V: Iterator<Item = &'a str>>(values: impl Fn() -> V) -> Kind {
    if values().next().is_none() {
        Kind::Text
    } else if values().all(|json| json == "true" || json == "false") {
        Kind::Flag
    } else if values().all(|json| integer(json).is_some()) {
        Kind::Integer
    } else if values().any(is_wide_integer) {
        // A float would lose its last digits.
        Kind::Text
    } else if values().all(|json| float(json).is_some()) {
        Kind::Number
    } else {
        Kind::Text
    }
}

fn is_wide_integer(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json);
    digits.bytes().all(|byte| byte.is_ascii_digit()) && integer(json).is_none()
}

/// A value that its column cannot hold, with the ways to read it all the same.
pub fn unfit(field: &str, row: usize, value: &str) -> Error {
    let shown: String = value.chars().take(64).collect();
    Error::protocol(
        format!(
            "{field} of record {row} is {shown}, which its declared type cannot hold; read it as \
             sent from the records, or take invalid='null'"
        ),
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
