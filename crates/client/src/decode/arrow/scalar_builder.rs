//! Builds the column of one field that is not an object.

use std::sync::Arc;

use arrow_array::{
    ArrayRef, Int64Array,
    builder::{
        BooleanBuilder, Date32Builder, Decimal128Builder, Float64Builder, Int64Builder,
        LargeStringBuilder, StringBuilder, StringViewBuilder,
    },
    types::{
        ArrowTimestampType, TimestampMicrosecondType, TimestampMillisecondType, TimestampSecondType,
    },
};
use arrow_schema::DataType;

use super::options::{ColumnOptions, Decimals, Strings};
use crate::{
    api::{Kind, TimeUnit},
    decode::{
        json::Raw,
        scalars::{self, DECIMAL_PRECISION, DECIMAL_SCALE, PushError, parse_decimal},
    },
};

/// A column of one kind of scalar.
#[derive(Debug)]
pub(super) enum ScalarBuilder {
    Utf8(StringBuilder),
    LargeUtf8(LargeStringBuilder),
    Utf8View(StringViewBuilder),
    /// The texts of decimals, in one of the three text layouts.
    DecimalText(Box<ScalarBuilder>),
    /// Integers. If the flag is true, 0 is null.
    Integer(bool, Int64Builder),
    Number(Float64Builder),
    DecimalAsFloat(Float64Builder),
    Decimal(Decimal128Builder),
    Flag(BooleanBuilder),
    Timestamp(TimeUnit, Int64Builder),
    Date(Date32Builder),
}

/// Memory to reserve for a column.
#[derive(Debug, Clone, Copy)]
pub(super) struct Capacity {
    pub rows: usize,
    /// The bytes of a text column.
    pub bytes: usize,
}

impl Default for Capacity {
    fn default() -> Self {
        Capacity { rows: 1024, bytes: 1024 }
    }
}

const DECIMAL: DataType = DataType::Decimal128(DECIMAL_PRECISION as u8, DECIMAL_SCALE as i8);

impl ScalarBuilder {
    /// Creates an empty column. An object would be kept as its JSON text.
    pub fn new(kind: Kind, options: ColumnOptions, Capacity { rows, bytes }: Capacity) -> Self {
        match (kind, options.decimals) {
            (Kind::Text | Kind::Object(_), _) => match options.strings {
                Strings::Utf8 => Self::Utf8(StringBuilder::with_capacity(rows, bytes)),
                Strings::Large => Self::LargeUtf8(LargeStringBuilder::with_capacity(rows, bytes)),
                Strings::View => Self::Utf8View(StringViewBuilder::with_capacity(rows)),
            },
            (Kind::Decimal, Decimals::Text) => {
                let capacity = Capacity { rows, bytes };
                Self::DecimalText(Box::new(Self::new(Kind::Text, options, capacity)))
            }
            (Kind::Integer | Kind::IntegerNotZero, _) => {
                Self::Integer(kind.zero_is_null(), Int64Builder::with_capacity(rows))
            }
            (Kind::Number, _) => Self::Number(Float64Builder::with_capacity(rows)),
            (Kind::Decimal, Decimals::Float64) => {
                Self::DecimalAsFloat(Float64Builder::with_capacity(rows))
            }
            (Kind::Decimal, Decimals::Decimal) => {
                Self::Decimal(Decimal128Builder::with_capacity(rows).with_data_type(DECIMAL))
            }
            (Kind::Flag, _) => Self::Flag(BooleanBuilder::with_capacity(rows)),
            (Kind::Timestamp(unit, _), _) => {
                Self::Timestamp(unit, Int64Builder::with_capacity(rows))
            }
            (Kind::Date, _) => Self::Date(Date32Builder::with_capacity(rows)),
        }
    }

    /// Returns the length of all texts with 32-bit or 64-bit offsets.
    pub fn text_length(&self) -> usize {
        match self {
            Self::Utf8(builder) => builder.values_slice().len(),
            Self::LargeUtf8(builder) => builder.values_slice().len(),
            Self::DecimalText(texts) => texts.text_length(),
            _ => 0,
        }
    }

    /// Appends a value that is not null. Appends nothing if there is an error.
    #[inline(always)]
    pub fn push(&mut self, raw: Raw<'_>) -> Result<(), PushError> {
        match self {
            Self::Utf8(builder) => builder.append_value(scalars::text(raw)?),
            Self::LargeUtf8(builder) => builder.append_value(scalars::text(raw)?),
            Self::Utf8View(builder) => builder.append_value(scalars::text(raw)?),
            Self::DecimalText(texts) => texts.push_text(&scalars::decimal_as_sent(raw)?),
            Self::Integer(zero_is_null, builder) => match scalars::integer(raw)? {
                0 if *zero_is_null => return Err(PushError::Missing),
                number => builder.append_value(number),
            },
            Self::Number(builder) => builder.append_value(scalars::number(raw)?),
            Self::DecimalAsFloat(builder) => builder.append_value(scalars::decimal_float(raw)?),
            Self::Decimal(builder) => {
                let decimal = parse_decimal(&scalars::decimal_text(raw)?);
                builder.append_value(decimal.ok_or(PushError::Invalid)?);
            }
            Self::Flag(builder) => builder.append_value(scalars::flag(raw)?),
            Self::Timestamp(unit, builder) => {
                builder.append_value(scalars::timestamp(raw, *unit)?);
            }
            Self::Date(builder) => {
                let days = scalars::days_since_1970(scalars::date(raw)?);
                builder.append_value(days.ok_or(PushError::Invalid)?);
            }
        }
        Ok(())
    }

    /// Appends a text to a text column, or null to any other column.
    pub fn push_text(&mut self, text: &str) {
        match self {
            Self::Utf8(builder) => builder.append_value(text),
            Self::LargeUtf8(builder) => builder.append_value(text),
            Self::Utf8View(builder) => builder.append_value(text),
            Self::DecimalText(texts) => texts.push_text(text),
            _ => self.push_nulls(1),
        }
    }

    pub fn push_nulls(&mut self, count: usize) {
        match self {
            Self::Utf8(builder) => builder.append_nulls(count),
            Self::LargeUtf8(builder) => builder.append_nulls(count),
            Self::Utf8View(builder) => (0..count).for_each(|_| builder.append_null()),
            Self::DecimalText(texts) => texts.push_nulls(count),
            Self::Integer(_, builder) | Self::Timestamp(_, builder) => builder.append_nulls(count),
            Self::Number(builder) | Self::DecimalAsFloat(builder) => builder.append_nulls(count),
            Self::Decimal(builder) => builder.append_nulls(count),
            Self::Flag(builder) => builder.append_nulls(count),
            Self::Date(builder) => builder.append_nulls(count),
        }
    }

    pub fn finish(self) -> ArrayRef {
        match self {
            Self::Utf8(mut builder) => Arc::new(builder.finish()),
            Self::LargeUtf8(mut builder) => Arc::new(builder.finish()),
            Self::Utf8View(mut builder) => Arc::new(builder.finish()),
            Self::DecimalText(texts) => texts.finish(),
            Self::Integer(_, mut builder) => Arc::new(builder.finish()),
            Self::Number(mut builder) | Self::DecimalAsFloat(mut builder) => {
                Arc::new(builder.finish())
            }
            Self::Decimal(mut builder) => Arc::new(builder.finish()),
            Self::Flag(mut builder) => Arc::new(builder.finish()),
            Self::Date(mut builder) => Arc::new(builder.finish()),
            Self::Timestamp(unit, mut builder) => {
                let times = builder.finish();
                match unit {
                    TimeUnit::Seconds => in_utc::<TimestampSecondType>(&times),
                    TimeUnit::Millis => in_utc::<TimestampMillisecondType>(&times),
                    TimeUnit::Micros => in_utc::<TimestampMicrosecondType>(&times),
                }
            }
        }
    }
}

fn in_utc<T: ArrowTimestampType>(times: &Int64Array) -> ArrayRef {
    Arc::new(times.reinterpret_cast::<T>().with_timezone("UTC"))
}
