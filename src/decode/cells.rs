//! The cells of a column, typed by their field's kind.

use std::{borrow::Cow, sync::Arc};

use arrow_array::{
    ArrayRef, StructArray,
    builder::{
        ArrayBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder,
        Int64Builder, LargeStringBuilder, StringBuilder, StringViewBuilder,
    },
    types::{TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType},
};
use arrow_schema::{DataType, Field as ArrowField, Fields, TimeUnit as ArrowUnit};

use super::{
    columns::{ColumnOptions, Decimals, Strings},
    cursor::{Cursor, Raw},
    members::Splitter,
    numbers::{DECIMAL_PRECISION, DECIMAL_SCALE, days_since_1970, decimal, float, integer},
};
use crate::api::{Kind, TimeUnit};

#[derive(Debug)]
pub struct Column {
    pub name: String,
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
    Object(Object),
}

/// Columns within a column, and which of its cells have a value.
#[derive(Debug)]
struct Object {
    columns: Vec<Column>,
    members: Splitter,
    present: Vec<bool>,
}

/// Why a cell has no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Absent {
    /// The field or its value is not there, or is the service's word for "none".
    Missing,
    /// There is a value, but the column's type cannot hold it.
    Invalid,
    /// A value was appended, but something within it could not be held and is null.
    InvalidWithin,
}

impl Column {
    pub fn new(name: &str, kind: Kind, options: ColumnOptions) -> Self {
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
            (Kind::Decimal, Decimals::Decimal) => {
                Cells::Decimal(Decimal128Builder::new().with_data_type(DECIMAL))
            }
            (Kind::Flag, _) => Cells::Flag(BooleanBuilder::new()),
            (Kind::Timestamp(unit, _), _) => Cells::Timestamp(unit, Int64Builder::new()),
            (Kind::Date, _) => Cells::Date(Date32Builder::new()),
            (Kind::Object(fields), _) => Cells::Object(Object {
                columns: fields
                    .iter()
                    .map(|field| Column::new(field.name, field.kind, options))
                    .collect(),
                members: Splitter::of_known(fields.iter().map(|field| field.name)),
                present: Vec::new(),
            }),
        };
        Column { name: name.to_owned(), cells }
    }

    /// Makes room in an empty column for as much as there is in another of its kind.
    pub fn make_room_like(&mut self, other: &Column) {
        // Texts are a little longer or shorter.
        let spare = |bytes: usize| bytes + bytes / 16;
        match (&mut self.cells, &other.cells) {
            (Cells::Utf8(cells), Cells::Utf8(like)) => {
                *cells = StringBuilder::with_capacity(like.len(), spare(like.values_slice().len()));
            }
            (Cells::LargeUtf8(cells), Cells::LargeUtf8(like)) => {
                let bytes = spare(like.values_slice().len());
                *cells = LargeStringBuilder::with_capacity(like.len(), bytes);
            }
            (Cells::Utf8View(cells), Cells::Utf8View(like)) => {
                *cells = StringViewBuilder::with_capacity(like.len());
            }
            (
                Cells::Integer(cells) | Cells::Timestamp(_, cells),
                Cells::Integer(like) | Cells::Timestamp(_, like),
            ) => *cells = Int64Builder::with_capacity(like.len()),
            (Cells::Number(cells), Cells::Number(like)) => {
                *cells = Float64Builder::with_capacity(like.len());
            }
            (Cells::Decimal(cells), Cells::Decimal(like)) => {
                *cells = Decimal128Builder::with_capacity(like.len()).with_data_type(DECIMAL);
            }
            // Few or small.
            _ => {}
        }
    }

    /// Appends a value; where it cannot, nothing.
    #[inline(always)]
    pub fn push(&mut self, raw: Raw<'_>) -> Result<(), Absent> {
        if raw.starts_with(b'n') {
            return Err(Absent::Missing);
        }
        match &mut self.cells {
            Cells::Utf8(cells) => cells.append_value(text(raw)?),
            Cells::LargeUtf8(cells) => cells.append_value(text(raw)?),
            Cells::Utf8View(cells) => cells.append_value(text(raw)?),
            Cells::Integer(cells) => cells.append_value(fitting(integer(&text(raw)?))?),
            Cells::Number(cells) => cells.append_value(fitting(float(&filled(raw)?))?),
            Cells::Decimal(cells) => cells.append_value(fitting(decimal(&filled(raw)?))?),
            Cells::Flag(cells) => match raw.json {
                "true" => cells.append_value(true),
                "false" => cells.append_value(false),
                _ => return Err(Absent::Invalid),
            },
            Cells::Timestamp(_, cells) => match fitting(integer(&filled(raw)?))? {
                0 => return Err(Absent::Missing),
                count => cells.append_value(count),
            },
            Cells::Date(cells) => match filled(raw)?.as_ref() {
                "--" => return Err(Absent::Missing),
                text => cells.append_value(fitting(days_since_1970(text))?),
            },
            Cells::Object(object) => object.push(raw)?,
        }
        Ok(())
    }

    pub fn push_text(&mut self, text: &str) {
        match &mut self.cells {
            Cells::Utf8(cells) => cells.append_value(text),
            Cells::LargeUtf8(cells) => cells.append_value(text),
            Cells::Utf8View(cells) => cells.append_value(text),
            _ => self.push_null(),
        }
    }

    pub fn push_null(&mut self) {
        match &mut self.cells {
            Cells::Utf8(cells) => cells.append_null(),
            Cells::LargeUtf8(cells) => cells.append_null(),
            Cells::Utf8View(cells) => cells.append_null(),
            Cells::Integer(cells) | Cells::Timestamp(_, cells) => cells.append_null(),
            Cells::Number(cells) => cells.append_null(),
            Cells::Decimal(cells) => cells.append_null(),
            Cells::Flag(cells) => cells.append_null(),
            Cells::Date(cells) => cells.append_null(),
            Cells::Object(object) => {
                object.columns.iter_mut().for_each(Column::push_null);
                object.present.push(false);
            }
        }
    }

    pub fn finish(self) -> (ArrowField, ArrayRef) {
        let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
        let (data_type, array): (DataType, ArrayRef) = match self.cells {
            Cells::Utf8(mut cells) => (DataType::Utf8, Arc::new(cells.finish())),
            Cells::LargeUtf8(mut cells) => (DataType::LargeUtf8, Arc::new(cells.finish())),
            Cells::Utf8View(mut cells) => (DataType::Utf8View, Arc::new(cells.finish())),
            Cells::Integer(mut cells) => (DataType::Int64, Arc::new(cells.finish())),
            Cells::Number(mut cells) => (DataType::Float64, Arc::new(cells.finish())),
            Cells::Flag(mut cells) => (DataType::Boolean, Arc::new(cells.finish())),
            Cells::Decimal(mut cells) => (DECIMAL, Arc::new(cells.finish())),
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
            Cells::Object(Object { columns, present, .. }) => {
                let (fields, arrays) = finish_all(columns);
                let fields = Fields::from(fields);
                let array = StructArray::new(fields.clone(), arrays, Some(present.into()));
                (DataType::Struct(fields), Arc::new(array))
            }
        };
        (ArrowField::new(self.name, data_type, true), array)
    }
}

pub fn finish_all(columns: impl IntoIterator<Item = Column>) -> (Vec<ArrowField>, Vec<ArrayRef>) {
    columns.into_iter().map(Column::finish).unzip()
}

const DECIMAL: DataType = DataType::Decimal128(DECIMAL_PRECISION as u8, DECIMAL_SCALE as i8);

impl Object {
    /// Each column gets a cell, so that all stay of one length.
    fn push(&mut self, raw: Raw<'_>) -> Result<(), Absent> {
        self.members.split(&mut Cursor::new(raw.json, 0)).ok_or(Absent::Invalid)?;
        let mut outcome = Ok(());
        for (column, span) in self.columns.iter_mut().zip(self.members.known()) {
            let value = span.and_then(|span| span.of(raw.json));
            match value.map_or(Err(Absent::Missing), |value| column.push(value)) {
                Ok(()) => {}
                Err(Absent::Missing) => column.push_null(),
                Err(Absent::InvalidWithin) => outcome = Err(Absent::InvalidWithin),
                Err(Absent::Invalid) => {
                    column.push_null();
                    outcome = Err(Absent::InvalidWithin);
                }
            }
        }
        self.present.push(true);
        outcome
    }
}

/// The text of a JSON string; of anything else its JSON.
#[inline(always)]
fn text(raw: Raw<'_>) -> Result<Cow<'_, str>, Absent> {
    match raw.plain() {
        Some(text) => Ok(Cow::Borrowed(text)),
        None if raw.starts_with(b'"') => raw.string().ok_or(Absent::Invalid),
        None => Ok(Cow::Borrowed(raw.json)),
    }
}

/// The same, where `""` stands for none.
#[inline(always)]
fn filled(raw: Raw<'_>) -> Result<Cow<'_, str>, Absent> {
    text(raw).and_then(|text| if text.is_empty() { Err(Absent::Missing) } else { Ok(text) })
}

#[inline(always)]
fn fitting<T>(value: Option<T>) -> Result<T, Absent> {
    value.ok_or(Absent::Invalid)
}
