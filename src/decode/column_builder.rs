//! The cells of a column, typed by their field's kind.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, StructArray,
    builder::{
        ArrayBuilder, BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder,
        Int64Builder, LargeStringBuilder, StringBuilder, StringViewBuilder,
    },
    types::{TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType},
};
use arrow_schema::{ArrowError, DataType, Field as ArrowField, Fields, TimeUnit as ArrowUnit};

use super::{
    columns::{ColumnOptions, Decimals, Strings},
    fields::FieldColumns,
    json_reader::JsonReader,
    numbers::{DECIMAL_PRECISION, DECIMAL_SCALE, days_since_1970, decimal},
    raw::Raw,
    values::{self, PushError, fitting},
};
use crate::api::{Kind, TimeUnit};

#[derive(Debug)]
pub struct Column {
    pub name: String,
    cells: ColumnBuilder,
}

#[derive(Debug)]
enum ColumnBuilder {
    Utf8(StringBuilder),
    LargeUtf8(LargeStringBuilder),
    Utf8View(StringViewBuilder),
    Integer(Int64Builder),
    Number(Float64Builder),
    /// Decimals as floats.
    Rounded(Float64Builder),
    Flag(BooleanBuilder),
    Decimal(Decimal128Builder),
    Timestamp(TimeUnit, Int64Builder),
    Date(Date32Builder),
    Object(Box<Object>),
}

/// Columns within a column, and which of its cells have a value.
#[derive(Debug)]
struct Object {
    fields: FieldColumns,
    present: Vec<bool>,
}

/// Room for so many values, and for so many bytes of text, in a column whose length is not known.
const ROOM: (usize, usize) = (1024, 1024);

impl Column {
    pub fn new(name: &str, kind: Kind, options: ColumnOptions) -> Self {
        Self::with_room(name, kind, options, ROOM)
    }

    /// The same with room for so many values, and for so many bytes of text.
    pub fn with_room(
        name: &str,
        kind: Kind,
        options: ColumnOptions,
        (rows, bytes): (usize, usize),
    ) -> Self {
        let cells = match (kind, options.decimals) {
            (Kind::Text, _) | (Kind::Decimal, Decimals::Text) => match options.strings {
                Strings::Utf8 => ColumnBuilder::Utf8(StringBuilder::with_capacity(rows, bytes)),
                Strings::Large => {
                    ColumnBuilder::LargeUtf8(LargeStringBuilder::with_capacity(rows, bytes))
                }
                Strings::View => ColumnBuilder::Utf8View(StringViewBuilder::with_capacity(rows)),
            },
            (Kind::Integer, _) => ColumnBuilder::Integer(Int64Builder::with_capacity(rows)),
            (Kind::Number, _) => ColumnBuilder::Number(Float64Builder::with_capacity(rows)),
            (Kind::Decimal, Decimals::Float64) => {
                ColumnBuilder::Rounded(Float64Builder::with_capacity(rows))
            }
            (Kind::Decimal, Decimals::Decimal) => ColumnBuilder::Decimal(
                Decimal128Builder::with_capacity(rows).with_data_type(DECIMAL),
            ),
            (Kind::Flag, _) => ColumnBuilder::Flag(BooleanBuilder::with_capacity(rows)),
            (Kind::Timestamp(unit, _), _) => {
                ColumnBuilder::Timestamp(unit, Int64Builder::with_capacity(rows))
            }
            (Kind::Date, _) => ColumnBuilder::Date(Date32Builder::with_capacity(rows)),
            (Kind::Object(fields), _) => ColumnBuilder::Object(Box::new(Object {
                fields: FieldColumns::new(fields.iter(), options, &str::to_owned),
                present: Vec::new(),
            })),
        };
        Column { name: name.to_owned(), cells }
    }

    /// The columns of an object's members.
    pub fn members_mut(&mut self) -> Option<&mut FieldColumns> {
        match &mut self.cells {
            ColumnBuilder::Object(object) => Some(&mut object.fields),
            _ => None,
        }
    }

    /// Makes room in an empty column for as much as there is in another of its kind.
    pub fn make_room_like(&mut self, other: &Column) {
        // Texts are a little longer or shorter.
        let spare = |bytes: usize| bytes + bytes / 16;
        match (&mut self.cells, &other.cells) {
            (ColumnBuilder::Utf8(cells), ColumnBuilder::Utf8(like)) => {
                *cells = StringBuilder::with_capacity(like.len(), spare(like.values_slice().len()));
            }
            (ColumnBuilder::LargeUtf8(cells), ColumnBuilder::LargeUtf8(like)) => {
                let bytes = spare(like.values_slice().len());
                *cells = LargeStringBuilder::with_capacity(like.len(), bytes);
            }
            (ColumnBuilder::Utf8View(cells), ColumnBuilder::Utf8View(like)) => {
                *cells = StringViewBuilder::with_capacity(like.len());
            }
            (
                ColumnBuilder::Integer(cells) | ColumnBuilder::Timestamp(_, cells),
                ColumnBuilder::Integer(like) | ColumnBuilder::Timestamp(_, like),
            ) => *cells = Int64Builder::with_capacity(like.len()),
            (
                ColumnBuilder::Number(cells) | ColumnBuilder::Rounded(cells),
                ColumnBuilder::Number(like) | ColumnBuilder::Rounded(like),
            ) => *cells = Float64Builder::with_capacity(like.len()),
            (ColumnBuilder::Decimal(cells), ColumnBuilder::Decimal(like)) => {
                *cells = Decimal128Builder::with_capacity(like.len()).with_data_type(DECIMAL);
            }
            // Few or small.
            _ => {}
        }
    }

    /// Appends a value; where it cannot, nothing.
    #[inline(always)]
    pub fn push(&mut self, raw: Raw<'_>) -> Result<(), PushError> {
        let raw = values::given(raw)?;
        match &mut self.cells {
            ColumnBuilder::Utf8(cells) => cells.append_value(values::text(raw)?),
            ColumnBuilder::LargeUtf8(cells) => cells.append_value(values::text(raw)?),
            ColumnBuilder::Utf8View(cells) => cells.append_value(values::text(raw)?),
            ColumnBuilder::Integer(cells) => cells.append_value(values::whole(raw)?),
            ColumnBuilder::Number(cells) => cells.append_value(values::number(raw)?),
            ColumnBuilder::Rounded(cells) => cells.append_value(values::decimal_float(raw)?),
            ColumnBuilder::Decimal(cells) => {
                cells.append_value(fitting(decimal(&values::decimal_text(raw)?))?);
            }
            ColumnBuilder::Flag(cells) => cells.append_value(values::flag(raw)?),
            ColumnBuilder::Timestamp(unit, cells) => cells.append_value(values::count(raw, *unit)?),
            ColumnBuilder::Date(cells) => {
                cells.append_value(fitting(days_since_1970(values::day(raw)?))?);
            }
            ColumnBuilder::Object(object) => object.push(raw)?,
        }
        Ok(())
    }

    pub fn push_text(&mut self, text: &str) {
        match &mut self.cells {
            ColumnBuilder::Utf8(cells) => cells.append_value(text),
            ColumnBuilder::LargeUtf8(cells) => cells.append_value(text),
            ColumnBuilder::Utf8View(cells) => cells.append_value(text),
            _ => self.push_nulls(1),
        }
    }

    pub fn push_nulls(&mut self, count: usize) {
        match &mut self.cells {
            ColumnBuilder::Utf8(cells) => cells.append_nulls(count),
            ColumnBuilder::LargeUtf8(cells) => cells.append_nulls(count),
            ColumnBuilder::Utf8View(cells) => (0..count).for_each(|_| cells.append_null()),
            ColumnBuilder::Integer(cells) | ColumnBuilder::Timestamp(_, cells) => {
                cells.append_nulls(count)
            }
            ColumnBuilder::Number(cells) | ColumnBuilder::Rounded(cells) => {
                cells.append_nulls(count)
            }
            ColumnBuilder::Decimal(cells) => cells.append_nulls(count),
            ColumnBuilder::Flag(cells) => cells.append_nulls(count),
            ColumnBuilder::Date(cells) => cells.append_nulls(count),
            ColumnBuilder::Object(object) => {
                object.fields.push_nulls(count);
                object.present.resize(object.present.len() + count, false);
            }
        }
    }

    pub fn finish(self) -> Result<(ArrowField, ArrayRef), ArrowError> {
        let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
        let (data_type, array): (DataType, ArrayRef) = match self.cells {
            ColumnBuilder::Utf8(mut cells) => (DataType::Utf8, Arc::new(cells.finish())),
            ColumnBuilder::LargeUtf8(mut cells) => (DataType::LargeUtf8, Arc::new(cells.finish())),
            ColumnBuilder::Utf8View(mut cells) => (DataType::Utf8View, Arc::new(cells.finish())),
            ColumnBuilder::Integer(mut cells) => (DataType::Int64, Arc::new(cells.finish())),
            ColumnBuilder::Number(mut cells) | ColumnBuilder::Rounded(mut cells) => {
                (DataType::Float64, Arc::new(cells.finish()))
            }
            ColumnBuilder::Flag(mut cells) => (DataType::Boolean, Arc::new(cells.finish())),
            ColumnBuilder::Decimal(mut cells) => (DECIMAL, Arc::new(cells.finish())),
            ColumnBuilder::Date(mut cells) => (DataType::Date32, Arc::new(cells.finish())),
            ColumnBuilder::Timestamp(unit, mut cells) => {
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
            ColumnBuilder::Object(object) => {
                let Object { fields, present } = *object;
                let rows = present.len();
                let (fields, arrays) = finish_all(fields.declared)?;
                let fields = Fields::from(fields);
                let nulls = Some(present.into());
                let array = StructArray::try_new_with_length(fields.clone(), arrays, nulls, rows)?;
                (DataType::Struct(fields), Arc::new(array))
            }
        };
        // Names travel to other libraries as texts that end at their first NUL.
        if self.name.contains('\0') {
            let text = format!("the field '{}' has a NUL in its name", self.name.escape_debug());
            return Err(ArrowError::SchemaError(text));
        }
        Ok((ArrowField::new(self.name, data_type, true), array))
    }
}

pub fn finish_all(
    columns: impl IntoIterator<Item = Column>,
) -> Result<(Vec<ArrowField>, Vec<ArrayRef>), ArrowError> {
    let finished: Vec<_> = columns.into_iter().map(Column::finish).collect::<Result<_, _>>()?;
    Ok(finished.into_iter().unzip())
}

const DECIMAL: DataType = DataType::Decimal128(DECIMAL_PRECISION as u8, DECIMAL_SCALE as i8);

impl Object {
    /// Each column gets a cell, so that all stay of one length.
    fn push(&mut self, raw: Raw<'_>) -> Result<(), PushError> {
        if !raw.starts_with(b'{') {
            return Err(PushError::Invalid);
        }
        if self.fields.split(&mut JsonReader::new(raw.json, 0)).is_none() {
            return Err(if self.fields.is_full() {
                PushError::TooMany
            } else {
                PushError::Invalid
            });
        }
        let mut outcome = Ok(());
        self.fields.push_split(raw.json, |column, value| {
            match value.map_or(Err(PushError::Missing), |value| column.push(value)) {
                Ok(()) => {}
                Err(PushError::Missing) => column.push_nulls(1),
                Err(PushError::InvalidWithin) => outcome = Err(PushError::InvalidWithin),
                Err(PushError::TooMany) => {
                    column.push_nulls(1);
                    outcome = Err(PushError::TooMany);
                }
                Err(PushError::Invalid) => {
                    column.push_nulls(1);
                    outcome = Err(PushError::InvalidWithin);
                }
            }
        });
        self.present.push(true);
        outcome
    }
}
