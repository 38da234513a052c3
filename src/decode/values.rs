//! What each declared kind accepts: the one rule, for typed dicts and typed columns alike.
//!
//! A number may be sent as a JSON number or as decimal text, a text field also as any other JSON
//! value, which is then its own text. `null` is null for every kind, `""` for every kind but text.

use std::borrow::Cow;

use jiff::civil::Date;

use super::{
    numbers::{calendar_date, float, integer},
    raw::Raw,
};
use crate::api::{Kind, TimeUnit};

/// Why there is no value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushError {
    /// The field or its value is not there, or is the service's word for "none".
    Missing,
    /// There is a value, but it is not of the declared kind.
    Invalid,
    /// A value was appended, but something within it could not be held and is null.
    InvalidWithin,
    /// There are more fields than a table can have.
    TooMany,
}

/// A value by its declared kind.
#[derive(Debug, Clone, PartialEq)]
pub enum Typed<'a> {
    Text(Cow<'a, str>),
    Integer(i64),
    Number(f64),
    Flag(bool),
    /// The number as it is written.
    Decimal(Cow<'a, str>),
    /// A count of the field's unit since 1970.
    Timestamp(i64),
    Date(Date),
    /// A JSON object; its members have kinds of their own.
    Object,
}

/// The longest exponent of a decimal: what has more digits no reader of decimals takes.
const EXPONENT_DIGITS: usize = 4;
/// The seconds from 1970 to the beginning of the year 1 and of the year 10000: outside of these,
/// neither Python's `datetime` nor the printing of a frame can show a time.
const YEAR_1: i64 = -62_135_596_800;
const YEAR_10000: i64 = 253_402_300_800;

/// A value as its kind reads it.
pub fn typed<'a>(kind: Kind, raw: Raw<'a>) -> Result<Typed<'a>, PushError> {
    let raw = given(raw)?;
    Ok(match kind {
        Kind::Text => Typed::Text(text(raw)?),
        Kind::Integer => Typed::Integer(whole(raw)?),
        Kind::Number => Typed::Number(number(raw)?),
        Kind::Flag => Typed::Flag(flag(raw)?),
        Kind::Decimal => Typed::Decimal(decimal_text(raw)?),
        Kind::Timestamp(unit, _) => Typed::Timestamp(count(raw, unit)?),
        Kind::Date => Typed::Date(day(raw)?),
        Kind::Object(_) if raw.starts_with(b'{') => Typed::Object,
        Kind::Object(_) => return Err(PushError::Invalid),
    })
}

/// The value, unless it is `null`.
#[inline(always)]
pub fn given(raw: Raw<'_>) -> Result<Raw<'_>, PushError> {
    if raw.starts_with(b'n') { Err(PushError::Missing) } else { Ok(raw) }
}

/// The text of a JSON string; of anything else its JSON.
#[inline(always)]
pub fn text(raw: Raw<'_>) -> Result<Cow<'_, str>, PushError> {
    match raw.plain() {
        Some(text) => Ok(Cow::Borrowed(text)),
        None if raw.starts_with(b'"') => raw.string().ok_or(PushError::Invalid),
        None => Ok(Cow::Borrowed(raw.json)),
    }
}

/// The same, where `""` stands for none.
#[inline(always)]
fn filled(raw: Raw<'_>) -> Result<Cow<'_, str>, PushError> {
    text(raw).and_then(|text| if text.is_empty() { Err(PushError::Missing) } else { Ok(text) })
}

#[inline(always)]
pub fn whole(raw: Raw<'_>) -> Result<i64, PushError> {
    fitting(integer(&filled(raw)?))
}

#[inline(always)]
pub fn number(raw: Raw<'_>) -> Result<f64, PushError> {
    fitting(float(&filled(raw)?))
}

#[inline(always)]
pub fn flag(raw: Raw<'_>) -> Result<bool, PushError> {
    match raw.json {
        "true" => Ok(true),
        "false" => Ok(false),
        "\"\"" => Err(PushError::Missing),
        _ => Err(PushError::Invalid),
    }
}

/// The text of a decimal number, which a float could hold too, if with fewer digits.
#[inline(always)]
pub fn decimal_text(raw: Raw<'_>) -> Result<Cow<'_, str>, PushError> {
    let text = filled(raw)?;
    if float(&text).is_some() && has_short_exponent(&text) {
        Ok(text)
    } else {
        Err(PushError::Invalid)
    }
}

/// The same as a float.
#[inline(always)]
pub fn decimal_float(raw: Raw<'_>) -> Result<f64, PushError> {
    let text = filled(raw)?;
    fitting(float(&text).filter(|_| has_short_exponent(&text)))
}

#[inline(always)]
fn has_short_exponent(text: &str) -> bool {
    // Short texts are nearly all: their exponents are short too.
    text.len() <= EXPONENT_DIGITS
        || text.bytes().rev().take_while(u8::is_ascii_digit).count() <= EXPONENT_DIGITS
        || !text.contains(['e', 'E'])
}

/// A count of a unit since 1970, within the years that can be shown; 0 is none.
#[inline(always)]
pub fn count(raw: Raw<'_>, unit: TimeUnit) -> Result<i64, PushError> {
    let per_second = unit.per_second();
    match fitting(integer(&filled(raw)?))? {
        0 => Err(PushError::Missing),
        count if (YEAR_1 * per_second..YEAR_10000 * per_second).contains(&count) => Ok(count),
        _ => Err(PushError::Invalid),
    }
}

/// A calendar day, as it is written; `--` is none.
#[inline(always)]
pub fn day(raw: Raw<'_>) -> Result<Date, PushError> {
    if !raw.starts_with(b'"') {
        return Err(PushError::Invalid);
    }
    match filled(raw)?.as_ref() {
        "--" => Err(PushError::Missing),
        text => fitting(calendar_date(text)),
    }
}

#[inline(always)]
pub fn fitting<T>(value: Option<T>) -> Result<T, PushError> {
    value.ok_or(PushError::Invalid)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::Wire;

    fn read(kind: Kind, json: &str) -> Result<Typed<'_>, PushError> {
        typed(kind, Raw::new(json))
    }

    #[test]
    fn a_number_sent_as_text_is_the_number() {
        assert_eq!(read(Kind::Integer, "\"-42\""), Ok(Typed::Integer(-42)));
        assert_eq!(read(Kind::Number, "\"12.5\""), Ok(Typed::Number(12.5)));
        assert_eq!(read(Kind::Decimal, "6.5e4"), Ok(Typed::Decimal("6.5e4".into())));
        assert_eq!(read(Kind::Text, "5"), Ok(Typed::Text("5".into())));
    }

    #[test]
    fn what_only_some_readers_take_for_a_number_is_refused() {
        let numbers = [Kind::Integer, Kind::Number, Kind::Decimal];
        for json in [
            "\"NaN\"",
            "\"Infinity\"",
            "\"inf\"",
            "\"1_0\"",
            "\" 1 \"",
            "\"\u{661}\"",
            "\"0x1\"",
            "\"1e\"",
            "true",
            "[]",
            "{}",
            "1e400",
            "\"1e400\"",
            "\"-\"",
            "\".\"",
        ] {
            for kind in numbers {
                assert_eq!(read(kind, json), Err(PushError::Invalid), "{json} as {}", kind.name());
            }
        }
        for json in ["1.0", "1e3", "9223372036854775808", "\"1.0\""] {
            assert_eq!(read(Kind::Integer, json), Err(PushError::Invalid), "{json}");
        }
        assert_eq!(read(Kind::Decimal, "1e-12345"), Err(PushError::Invalid));
        assert_eq!(read(Kind::Flag, "1"), Err(PushError::Invalid));
        assert_eq!(read(Kind::Date, "20240517"), Err(PushError::Invalid));
        assert_eq!(read(Kind::Object(&[]), "[]"), Err(PushError::Invalid));
    }

    #[test]
    fn times_are_within_the_years_1_to_9999() {
        for unit in [TimeUnit::Seconds, TimeUnit::Millis, TimeUnit::Micros] {
            let kind = Kind::Timestamp(unit, Wire::Integer);
            let (first, end) = (YEAR_1 * unit.per_second(), YEAR_10000 * unit.per_second());
            for good in [first, end - 1, -1, 1] {
                assert_eq!(read(kind, &good.to_string()), Ok(Typed::Timestamp(good)));
            }
            for far in [first - 1, end, i64::MAX, i64::MIN] {
                assert_eq!(read(kind, &far.to_string()), Err(PushError::Invalid));
                assert_eq!(read(kind, &format!("\"{far}\"")), Err(PushError::Invalid));
            }
        }
    }

    #[test]
    fn none_is_null_and_for_all_but_text_the_empty_text() {
        let kinds = [
            Kind::Text,
            Kind::Integer,
            Kind::Number,
            Kind::Flag,
            Kind::Decimal,
            Kind::Timestamp(TimeUnit::Millis, Wire::Text),
            Kind::Date,
            Kind::Object(&[]),
        ];
        for kind in kinds {
            assert_eq!(read(kind, "null"), Err(PushError::Missing), "{}", kind.name());
            let empty = match kind {
                Kind::Text => Ok(Typed::Text("".into())),
                Kind::Object(_) => Err(PushError::Invalid),
                _ => Err(PushError::Missing),
            };
            assert_eq!(read(kind, "\"\""), empty, "{}", kind.name());
        }
    }
}
