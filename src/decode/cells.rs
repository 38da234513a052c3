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
    cursor::Cursor,
    fields::FieldColumns,
    numbers::{DECIMAL_PRECISION, DECIMAL_SCALE, days_since_1970, decimal},
    raw::Raw,
    values::{self, Absent, fitting},
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
                Strings::Utf8 => Cells::Utf8(StringBuilder::with_capacity(rows, bytes)),
                Strings::Large => Cells::LargeUtf8(LargeStringBuilder::with_capacity(rows, bytes)),
                Strings::View => Cells::Utf8View(StringViewBuilder::with_capacity(rows)),
            },
            (Kind::Integer, _) => Cells::Integer(Int64Builder::with_capacity(rows)),
            (Kind::Number, _) => Cells::Number(Float64Builder::with_capacity(rows)),
            (Kind::Decimal, Decimals::Float64) => {
                Cells::Rounded(Float64Builder::with_capacity(rows))
            }
            (Kind::Decimal, Decimals::Decimal) => {
                Cells::Decimal(Decimal128Builder::with_capacity(rows).with_data_type(DECIMAL))
            }
            (Kind::Flag, _) => Cells::Flag(BooleanBuilder::with_capacity(rows)),
            (Kind::Timestamp(unit, _), _) => {
                Cells::Timestamp(unit, Int64Builder::with_capacity(rows))
            }
            (Kind::Date, _) => Cells::Date(Date32Builder::with_capacity(rows)),
            (Kind::Object(fields), _) => Cells::Object(Box::new(Object {
                fields: FieldColumns::new(fields.iter(), options, &str::to_owned),
                present: Vec::new(),
            })),
        };
        Column { name: name.to_owned(), cells }
    }

    /// The columns of an object's members.
    pub fn members_mut(&mut self) -> Option<&mut FieldColumns> {
        match &mut self.cells {
            Cells::Object(object) => Some(&mut object.fields),
            _ => None,
        }
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
            (
                Cells::Number(cells) | Cells::Rounded(cells),
                Cells::Number(like) | Cells::Rounded(like),
            ) => *cells = Float64Builder::with_capacity(like.len()),
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
        let raw = values::given(raw)?;
        match &mut self.cells {
            Cells::Utf8(cells) => cells.append_value(values::text(raw)?),
            Cells::LargeUtf8(cells) => cells.append_value(values::text(raw)?),
            Cells::Utf8View(cells) => cells.append_value(values::text(raw)?),
            Cells::Integer(cells) => cells.append_value(values::whole(raw)?),
            Cells::Number(cells) => cells.append_value(values::number(raw)?),
            Cells::Rounded(cells) => cells.append_value(values::decimal_float(raw)?),
            Cells::Decimal(cells) => {
                cells.append_value(fitting(decimal(&values::decimal_text(raw)?))?);
            }
            Cells::Flag(cells) => cells.append_value(values::flag(raw)?),
            Cells::Timestamp(unit, cells) => cells.append_value(values::count(raw, *unit)?),
            Cells::Date(cells) => {
                cells.append_value(fitting(days_since_1970(values::day(raw)?))?);
            }
            Cells::Object(object) => object.push(raw)?,
        }
        Ok(())
    }

    pub fn push_text(&mut self, text: &str) {
        match &mut self.cells {
            Cells::Utf8(cells) => cells.append_value(text),
            Cells::LargeUtf8(cells) => cells.append_value(text),
            Cells::Utf8View(cells) => cells.append_value(text),
            _ => self.push_nulls(1),
        }
    }

    pub fn push_nulls(&mut self, count: usize) {
        match &mut self.cells {
            Cells::Utf8(cells) => cells.append_nulls(count),
            Cells::LargeUtf8(cells) => cells.append_nulls(count),
            Cells::Utf8View(cells) => (0..count).for_each(|_| cells.append_null()),
            Cells::Integer(cells) | Cells::Timestamp(_, cells) => cells.append_nulls(count),
            Cells::Number(cells) | Cells::Rounded(cells) => cells.append_nulls(count),
            Cells::Decimal(cells) => cells.append_nulls(count),
            Cells::Flag(cells) => cells.append_nulls(count),
            Cells::Date(cells) => cells.append_nulls(count),
            Cells::Object(object) => {
                object.fields.push_nulls(count);
                object.present.resize(object.present.len() + count, false);
            }
        }
    }

    pub fn finish(self) -> Result<(ArrowField, ArrayRef), ArrowError> {
        let utc = |unit| DataType::Timestamp(unit, Some("UTC".into()));
        let (data_type, array): (DataType, ArrayRef) = match self.cells {
            Cells::Utf8(mut cells) => (DataType::Utf8, Arc::new(cells.finish())),
            Cells::LargeUtf8(mut cells) => (DataType::LargeUtf8, Arc::new(cells.finish())),
            Cells::Utf8View(mut cells) => (DataType::Utf8View, Arc::new(cells.finish())),
            Cells::Integer(mut cells) => (DataType::Int64, Arc::new(cells.finish())),
            Cells::Number(mut cells) | Cells::Rounded(mut cells) => {
                (DataType::Float64, Arc::new(cells.finish()))
            }
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
            Cells::Object(object) => {
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
    fn push(&mut self, raw: Raw<'_>) -> Result<(), Absent> {
        if !raw.starts_with(b'{') {
            return Err(Absent::Invalid);
        }
        if self.fields.split(&mut Cursor::new(raw.json, 0)).is_none() {
            return Err(if self.fields.is_full() { Absent::TooMany } else { Absent::Invalid });
        }
        let mut outcome = Ok(());
        self.fields.push_split(raw.json, |column, value| {
            match value.map_or(Err(Absent::Missing), |value| column.push(value)) {
                Ok(()) => {}
                Err(Absent::Missing) => column.push_nulls(1),
                Err(Absent::InvalidWithin) => outcome = Err(Absent::InvalidWithin),
                Err(Absent::TooMany) => {
                    column.push_nulls(1);
                    outcome = Err(Absent::TooMany);
                }
                Err(Absent::Invalid) => {
                    column.push_nulls(1);
                    outcome = Err(Absent::InvalidWithin);
                }
            }
        });
        self.present.push(true);
        outcome
    }
}
