//! Records to Arrow columns, typed by the record's schema.

use std::{borrow::Cow, sync::Arc};

use arrow_array::{
    ArrayRef, RecordBatch, RecordBatchOptions, StructArray,
    builder::{
        BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int64Builder,
        LargeStringBuilder, StringBuilder, StringViewBuilder,
    },
    types::{TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType},
};
use arrow_schema::{DataType, Field as ArrowField, Fields, Schema, TimeUnit as ArrowUnit};
use jiff::civil::Date;

use super::{Value, json::Members};
use crate::{
    api::{Field, Kind, TimeUnit},
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

const DECIMAL_PRECISION: u8 = 38;
const DECIMAL_SCALE: i8 = 18;

/// Builds one batch of columns, a record at a time.
#[derive(Debug)]
pub struct Columns {
    options: ColumnOptions,
    declared: Vec<Column>,
    /// Fields that the schema does not know, in the order of their first appearance.
    unknown: Vec<(String, Vec<Option<String>>)>,
    rows: usize,
}

#[derive(Debug)]
struct Column {
    name: String,
    cells: Cells,
}

#[derive(Debug)]
enum Cells {
    Utf8(StringBuilder),
    LargeUtf8(LargeStringBuilder),
    Utf8View(StringViewBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    Flag(BooleanBuilder),
    Decimal(Decimal128Builder),
    Timestamp(TimeUnit, Int64Builder),
    Date(Date32Builder),
    Object(Vec<Column>, Vec<bool>),
}

impl Columns {
    /// Columns for these fields, all of them present even where no record ever comes.
    pub fn new<'a>(fields: impl Iterator<Item = &'a Field>, options: ColumnOptions) -> Self {
        let declared = fields.map(|field| Column::new(field.name, field.kind, options)).collect();
        Columns { options, declared, unknown: Vec::new(), rows: 0 }
    }

    /// A text column before the others: the key of `fetch_many`.
    #[must_use]
    pub fn with_key(mut self, name: &str) -> Self {
        self.declared.insert(0, Column::new(name, Kind::Text, self.options));
        self
    }

    /// Appends a record; a declared field that it leaves out is null.
    pub fn push(&mut self, key: Option<&str>, record: &Members<'_>) -> Result<()> {
        let skip = usize::from(key.is_some());
        if let (Some(key), Some(column)) = (key, self.declared.first_mut()) {
            column.push_text(key);
        }
        for column in self.declared.iter_mut().skip(skip) {
            let value = record.iter().rev().find(|(name, _)| *name == column.name);
            let outcome = match value {
                Some((_, raw)) => column.push(raw.get()),
                None => Err(Absent::Missing),
            };
            if let Err(absent) = outcome {
                if let (Absent::Invalid, InvalidValues::Raise) = (&absent, self.options.invalid) {
                    let value = value.map_or("", |(_, raw)| raw.get());
                    return Err(unfit(&column.name, self.rows, value));
                }
                column.push_null();
            }
        }
        for (name, raw) in record {
            if self.declared.iter().skip(skip).any(|column| column.name == *name) {
                continue;
            }
            let at = match self.unknown.iter().position(|(known, _)| known == name) {
                Some(at) => at,
                None => {
                    self.unknown.push((name.clone().into_owned(), Vec::new()));
                    self.unknown.len() - 1
                }
            };
            if let Some((_, cells)) = self.unknown.get_mut(at) {
                // A doubled name overwrites the value before it.
                cells.resize(self.rows, None);
                cells.push((raw.get() != "null").then(|| raw.get().to_owned()));
            }
        }
        self.rows += 1;
        Ok(())
    }

    pub fn finish(mut self) -> Result<RecordBatch> {
        for (name, mut cells) in std::mem::take(&mut self.unknown) {
            cells.resize(self.rows, None);
            self.declared.push(Column::guessed(&name, &cells, self.options));
        }
        let rows = self.rows;
        let (fields, arrays) = finish_all(self.declared);
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(Arc::new(Schema::new(fields)), arrays, &options)
            .map_err(|error| Error::protocol(format!("the columns do not fit: {error}"), b""))
    }
}

/// Why a cell has no value.
enum Absent {
    /// The field or its value is not there, or is the service's word for "none".
    Missing,
    /// There is a value, but the column's type cannot hold it.
    Invalid,
}

impl Column {
    fn new(name: &str, kind: Kind, options: ColumnOptions) -> Self {
        let cells = match (kind, options.decimals) {
            (Kind::Text, _) | (Kind::Decimal, Decimals::Text) => match options.strings {
                Strings::Utf8 => Cells::Utf8(StringBuilder::new()),
                Strings::Large => Cells::LargeUtf8(LargeStringBuilder::new()),
                Strings::View => Cells::Utf8View(StringViewBuilder::new()),
            },
            (Kind::Integer, _) => Cells::Integer(Int64Builder::new()),
            (Kind::Number, _) | (Kind::Decimal, Decimals::Float64) => {
                Cells::Number(Float64Builder::new())
            }
            (Kind::Decimal, Decimals::Decimal) => Cells::Decimal(
                Decimal128Builder::new()
                    .with_data_type(DataType::Decimal128(DECIMAL_PRECISION, DECIMAL_SCALE)),
            ),
            (Kind::Flag, _) => Cells::Flag(BooleanBuilder::new()),
            (Kind::Timestamp(unit, _), _) => Cells::Timestamp(unit, Int64Builder::new()),
            (Kind::Date, _) => Cells::Date(Date32Builder::new()),
            (Kind::Object(fields), _) => Cells::Object(
                fields.iter().map(|field| Column::new(field.name, field.kind, options)).collect(),
                Vec::new(),
            ),
        };
        Column { name: name.to_owned(), cells }
    }

    /// A column of a type that holds all of these JSON values; text where there is no other.
    fn guessed(name: &str, cells: &[Option<String>], options: ColumnOptions) -> Self {
        let all = |test: fn(&str) -> bool| cells.iter().flatten().all(|raw| test(raw));
        let kind = if cells.iter().flatten().next().is_none() {
            Kind::Text
        } else if all(|raw| raw == "true" || raw == "false") {
            Kind::Flag
        } else if all(|raw| raw.parse::<i64>().is_ok()) {
            Kind::Integer
        } else if all(is_plain_number) {
            Kind::Number
        } else {
            Kind::Text
        };
        let mut column = Column::new(name, kind, options);
        for cell in cells {
            match cell {
                Some(raw) if column.push(raw).is_ok() => {}
                _ => column.push_null(),
            }
        }
        column
    }

    fn push(&mut self, raw: &str) -> Result<(), Absent> {
        if raw == "null" {
            return Err(Absent::Missing);
        }
        match &mut self.cells {
            Cells::Utf8(_) | Cells::LargeUtf8(_) | Cells::Utf8View(_) => {
                let text = text_of(raw)?;
                self.push_text(&text);
            }
            Cells::Integer(cells) => {
                cells.append_value(text_of(raw)?.parse().map_err(|_| Absent::Invalid)?);
            }
            Cells::Number(cells) => cells.append_value(number(&filled(raw)?)?),
            Cells::Decimal(cells) => cells.append_value(decimal(&filled(raw)?)?),
            Cells::Flag(cells) => match raw {
                "true" => cells.append_value(true),
                "false" => cells.append_value(false),
                _ => return Err(Absent::Invalid),
            },
            Cells::Timestamp(_, cells) => {
                match filled(raw)?.parse::<i64>().map_err(|_| Absent::Invalid)? {
                    0 => return Err(Absent::Missing),
                    count => cells.append_value(count),
                }
            }
            Cells::Date(cells) => {
                let text = filled(raw)?;
                if text == "--" {
                    return Err(Absent::Missing);
                }
                cells.append_value(days_since_1970(&text)?);
            }
            Cells::Object(columns, present) => {
                let members = super::json::members(raw).map_err(|_| Absent::Invalid)?;
                // Each child gets a cell, so that all stay of one length.
                for column in columns.iter_mut() {
                    let value = members.iter().rev().find(|(name, _)| *name == column.name);
                    if value.is_none_or(|(_, raw)| column.push(raw.get()).is_err()) {
                        column.push_null();
                    }
                }
                present.push(true);
            }
        }
        Ok(())
    }

    fn push_text(&mut self, text: &str) {
        match &mut self.cells {
            Cells::Utf8(cells) => cells.append_value(text),
            Cells::LargeUtf8(cells) => cells.append_value(text),
            Cells::Utf8View(cells) => cells.append_value(text),
            _ => self.push_null(),
        }
    }

    fn push_null(&mut self) {
        match &mut self.cells {
            Cells::Utf8(cells) => cells.append_null(),
            Cells::LargeUtf8(cells) => cells.append_null(),
            Cells::Utf8View(cells) => cells.append_null(),
            Cells::Integer(cells) | Cells::Timestamp(_, cells) => cells.append_null(),
            Cells::Number(cells) => cells.append_null(),
            Cells::Decimal(cells) => cells.append_null(),
            Cells::Flag(cells) => cells.append_null(),
            Cells::Date(cells) => cells.append_null(),
            Cells::Object(columns, present) => {
                columns.iter_mut().for_each(Column::push_null);
                present.push(false);
            }
        }
    }

    fn finish(self) -> (ArrowField, ArrayRef) {
        let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
        let (data_type, array): (DataType, ArrayRef) = match self.cells {
            Cells::Utf8(mut cells) => (DataType::Utf8, Arc::new(cells.finish())),
            Cells::LargeUtf8(mut cells) => (DataType::LargeUtf8, Arc::new(cells.finish())),
            Cells::Utf8View(mut cells) => (DataType::Utf8View, Arc::new(cells.finish())),
            Cells::Integer(mut cells) => (DataType::Int64, Arc::new(cells.finish())),
            Cells::Number(mut cells) => (DataType::Float64, Arc::new(cells.finish())),
            Cells::Flag(mut cells) => (DataType::Boolean, Arc::new(cells.finish())),
            Cells::Decimal(mut cells) => {
                (DataType::Decimal128(DECIMAL_PRECISION, DECIMAL_SCALE), Arc::new(cells.finish()))
            }
            Cells::Date(mut cells) => (DataType::Date32, Arc::new(cells.finish())),
            Cells::Timestamp(unit, mut cells) => {
                let counts = cells.finish();
                match unit {
                    TimeUnit::Seconds => (
                        utc(ArrowUnit::Second),
                        Arc::new(
                            counts.reinterpret_cast::<TimestampSecondType>().with_timezone("UTC"),
                        ),
                    ),
                    TimeUnit::Millis => (
                        utc(ArrowUnit::Millisecond),
                        Arc::new(
                            counts
                                .reinterpret_cast::<TimestampMillisecondType>()
                                .with_timezone("UTC"),
                        ),
                    ),
                    TimeUnit::Micros => (
                        utc(ArrowUnit::Microsecond),
                        Arc::new(
                            counts
                                .reinterpret_cast::<TimestampMicrosecondType>()
                                .with_timezone("UTC"),
                        ),
                    ),
                }
            }
            Cells::Object(columns, present) => {
                let (fields, arrays) = finish_all(columns);
                let fields = Fields::from(fields);
                let array = StructArray::new(fields.clone(), arrays, Some(present.into()));
                (DataType::Struct(fields), Arc::new(array))
            }
        };
        (ArrowField::new(self.name, data_type, true), array)
    }
}

fn finish_all(columns: Vec<Column>) -> (Vec<ArrowField>, Vec<ArrayRef>) {
    columns.into_iter().map(Column::finish).unzip()
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

/// The text of a JSON string; of anything else its JSON.
fn text_of(raw: &str) -> Result<Cow<'_, str>, Absent> {
    if !raw.starts_with('"') {
        return Ok(Cow::Borrowed(raw));
    }
    match Value::parse(raw) {
        Ok(Value::Text(text)) => Ok(text),
        _ => Err(Absent::Invalid),
    }
}

/// The same, where `""` stands for none.
fn filled(raw: &str) -> Result<Cow<'_, str>, Absent> {
    text_of(raw).and_then(|text| if text.is_empty() { Err(Absent::Missing) } else { Ok(text) })
}

fn number(text: &str) -> Result<f64, Absent> {
    if is_plain_number(text) {
        text.parse().map_err(|_| Absent::Invalid)
    } else {
        Err(Absent::Invalid)
    }
}

/// A decimal number: not `inf`, `nan` and the other words that Rust would read.
fn is_plain_number(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || b"+-.eE".contains(&byte))
        && text.parse::<f64>().is_ok_and(f64::is_finite)
}

/// The number times 10^18, exactly.
fn decimal(text: &str) -> Result<i128, Absent> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let fraction_digits = fraction.trim_end_matches('0');
    let scale = DECIMAL_SCALE.unsigned_abs() as usize;
    let all_digits = whole.bytes().chain(fraction.bytes()).all(|byte| byte.is_ascii_digit());
    if !all_digits || whole.len() + fraction.len() == 0 || fraction_digits.len() > scale {
        return Err(Absent::Invalid);
    }
    let whole = whole.trim_start_matches('0');
    if whole.len() > DECIMAL_PRECISION as usize - scale {
        return Err(Absent::Invalid);
    }
    let units: i128 =
        format!("{whole}{fraction_digits:0<scale$}").parse().map_err(|_| Absent::Invalid)?;
    Ok(if negative { -units } else { units })
}

/// `YYYY-MM-DD` or `YYYY/MM/DD`.
pub fn calendar_date(text: &str) -> Option<Date> {
    if text.len() != 10 {
        return None;
    }
    if text.contains('/') { text.replace('/', "-").parse().ok() } else { text.parse().ok() }
}

fn days_since_1970(text: &str) -> Result<i32, Absent> {
    let date = calendar_date(text).ok_or(Absent::Invalid)?;
    let epoch = Date::constant(1970, 1, 1);
    epoch.until(date).map(|span| span.get_days()).map_err(|_| Absent::Invalid)
}

#[cfg(test)]
mod tests {
    use arrow_array::{Array, cast::AsArray, types::Decimal128Type};

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
        let mut columns = Columns::new(FIELDS.iter(), options);
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
