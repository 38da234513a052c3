//! Defines the values that each declared kind accepts: one rule for typed dicts and typed columns.
//!
//! A number may be sent as a JSON number or as text. A text field accepts any JSON value and keeps
//! it as its JSON text. `null` is null for every kind, and `""` for every kind except text.

use std::borrow::Cow;

use jiff::civil::Date;

use super::{
    dates::parse_date,
    numbers::{parse_float, parse_whole},
};
use crate::{api::TimeUnit, decode::json::Raw};

/// Reasons why a value was not converted or appended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PushError {
    /// The value is absent, null, or the value that the service sends for null.
    Missing,
    /// The value is not of the declared kind.
    Invalid,
    /// The value was appended with null for a member that is not of its kind.
    InvalidMember,
    /// There are more fields than a table can have.
    TooManyFields,
}

/// The texts for floats that JSON lacks (NaN, infinity and minus infinity), when a caller's records
/// are written as JSON. No service sends such a text.
pub const NOT_A_NUMBER: [&str; 3] =
    [r#""\u0000NaN""#, r#""\u0000Infinity""#, r#""\u0000-Infinity""#];
const FLOATS: [(f64, &str); 3] =
    [(f64::NAN, "NaN"), (f64::INFINITY, "Infinity"), (f64::NEG_INFINITY, "-Infinity")];

/// Returns the float that a text stands for, with its name.
#[inline(never)]
fn not_a_number(raw: Raw<'_>) -> Result<(f64, &'static str), PushError> {
    let index = NOT_A_NUMBER.iter().position(|token| *token == raw.json);
    index.and_then(|index| FLOATS.get(index)).copied().ok_or(PushError::Invalid)
}

/// Maximum number of digits in the exponent of a decimal; no decimal reader accepts more.
const EXPONENT_DIGITS: usize = 4;
/// Seconds from 1970 to the first moment of years 1 and 10000: few date libraries, and no display
/// of a frame, support times outside this range.
const YEAR_1: i64 = -62_135_596_800;
const YEAR_10000: i64 = 253_402_300_800;

/// Returns true if the value is `null`.
#[inline(always)]
pub fn is_null(raw: Raw<'_>) -> bool {
    // Does not return a `Result` with the value: moving it took longer than converting it.
    raw.starts_with(b'n')
}

/// Returns the text of a JSON string; for any other value, its JSON.
#[inline(always)]
pub fn text(raw: Raw<'_>) -> Result<Cow<'_, str>, PushError> {
    match raw.plain_text() {
        Some(text) => Ok(Cow::Borrowed(text)),
        None if raw.starts_with(b'"') => raw.text().ok_or(PushError::Invalid),
        None => Ok(Cow::Borrowed(raw.json)),
    }
}

/// Returns the same text for kinds whose null may be sent as `""`.
#[inline(always)]
fn non_empty_text(raw: Raw<'_>) -> Result<Cow<'_, str>, PushError> {
    text(raw).and_then(|text| if text.is_empty() { Err(PushError::Missing) } else { Ok(text) })
}

#[inline(always)]
/// Converts an integer of 64 bits.
pub fn integer(raw: Raw<'_>) -> Result<i64, PushError> {
    parse_whole(&non_empty_text(raw)?).ok_or(PushError::Invalid)
}

#[inline(always)]
/// Converts a number.
pub fn number(raw: Raw<'_>) -> Result<f64, PushError> {
    match parse_float(&non_empty_text(raw)?) {
        Some(number) => Ok(number),
        None => not_a_number(raw).map(|(number, _)| number),
    }
}

#[inline(always)]
/// Converts true or false.
pub fn flag(raw: Raw<'_>) -> Result<bool, PushError> {
    match raw.json {
        "true" => Ok(true),
        "false" => Ok(false),
        "\"\"" => Err(PushError::Missing),
        _ => Err(PushError::Invalid),
    }
}

/// Returns the text of a decimal number, which may have more digits than a float.
#[inline(always)]
pub fn decimal_text(raw: Raw<'_>) -> Result<Cow<'_, str>, PushError> {
    let text = non_empty_text(raw)?;
    if parse_float(&text).is_some() && has_short_exponent(&text) {
        Ok(text)
    } else {
        not_a_number(raw).map(|(_, name)| Cow::Borrowed(name))
    }
}

/// Returns the text of a decimal as it was sent, whatever it is. A float of the caller's that JSON
/// lacks is returned by its name.
#[inline(always)]
pub fn decimal_as_sent(raw: Raw<'_>) -> Result<Cow<'_, str>, PushError> {
    match raw.plain_text() {
        Some(text) => Ok(Cow::Borrowed(text)),
        None => not_a_number(raw).map_or_else(|_| text(raw), |(_, name)| Ok(Cow::Borrowed(name))),
    }
}

/// Converts a decimal, rounded to a float.
#[inline(always)]
pub fn decimal_float(raw: Raw<'_>) -> Result<f64, PushError> {
    let text = non_empty_text(raw)?;
    match parse_float(&text).filter(|_| has_short_exponent(&text)) {
        Some(number) => Ok(number),
        None => not_a_number(raw).map(|(number, _)| number),
    }
}

#[inline(always)]
fn has_short_exponent(text: &str) -> bool {
    // Nearly all texts are too short for a long exponent.
    text.len() <= EXPONENT_DIGITS
        || text.bytes().rev().take_while(u8::is_ascii_digit).count() <= EXPONENT_DIGITS
        || !text.contains(['e', 'E'])
}

/// Converts a time since 1970 in the unit, within the supported years; 0 is null.
#[inline(always)]
pub fn timestamp(raw: Raw<'_>, unit: TimeUnit) -> Result<i64, PushError> {
    let per_second = unit.per_second();
    match integer(raw)? {
        0 => Err(PushError::Missing),
        time if (YEAR_1 * per_second..YEAR_10000 * per_second).contains(&time) => Ok(time),
        _ => Err(PushError::Invalid),
    }
}

/// Converts a calendar date; `--` is null.
#[inline(always)]
pub fn date(raw: Raw<'_>) -> Result<Date, PushError> {
    if !raw.starts_with(b'"') {
        return Err(PushError::Invalid);
    }
    match non_empty_text(raw)?.as_ref() {
        "--" => Err(PushError::Missing),
        text => parse_date(text).ok_or(PushError::Invalid),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{Kind, Wire};

    fn check(kind: Kind, json: &str) -> Result<(), PushError> {
        let raw = Raw::new(json);
        match kind {
            _ if is_null(raw) => Err(PushError::Missing),
            Kind::Text | Kind::Object(_) => text(raw).map(drop),
            Kind::Integer | Kind::IntegerNotZero => integer(raw).map(drop),
            Kind::Number => number(raw).map(drop),
            Kind::Flag => flag(raw).map(drop),
            Kind::Decimal => decimal_text(raw).map(drop),
            Kind::Timestamp(unit, _) => timestamp(raw, unit).map(drop),
            Kind::Date => date(raw).map(drop),
        }
    }

    #[test]
    fn numbers_may_be_sent_as_text() {
        assert_eq!(integer(Raw::new("\"-42\"")), Ok(-42));
        assert_eq!(number(Raw::new("\"12.5\"")), Ok(12.5));
        assert_eq!(decimal_text(Raw::new("6.5e4")), Ok("6.5e4".into()));
        assert_eq!(text(Raw::new("5")), Ok("5".into()));
    }

    #[test]
    fn lenient_number_formats_are_rejected() {
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
                assert_eq!(check(kind, json), Err(PushError::Invalid), "{json} as {}", kind.name());
            }
        }
        for json in ["1.5", "1e-3", "9223372036854775808", "\"1.5\""] {
            assert_eq!(check(Kind::Integer, json), Err(PushError::Invalid), "{json}");
        }
        assert_eq!(check(Kind::Decimal, "1e-12345"), Err(PushError::Invalid));
        assert_eq!(check(Kind::Flag, "1"), Err(PushError::Invalid));
        assert_eq!(check(Kind::Date, "20240517"), Err(PushError::Invalid));
    }

    #[test]
    fn times_are_within_the_years_1_to_9999() {
        for unit in [TimeUnit::Seconds, TimeUnit::Millis, TimeUnit::Micros] {
            let read = |json: &str| timestamp(Raw::new(json), unit);
            let (first, end) = (YEAR_1 * unit.per_second(), YEAR_10000 * unit.per_second());
            for good in [first, end - 1, -1, 1] {
                assert_eq!(read(&good.to_string()), Ok(good));
            }
            for far in [first - 1, end, i64::MAX, i64::MIN] {
                assert_eq!(read(&far.to_string()), Err(PushError::Invalid));
                assert_eq!(read(&format!("\"{far}\"")), Err(PushError::Invalid));
            }
        }
    }

    #[test]
    fn null_is_missing_and_so_is_empty_text_unless_the_kind_is_text() {
        let kinds = [
            Kind::Text,
            Kind::Integer,
            Kind::Number,
            Kind::Flag,
            Kind::Decimal,
            Kind::Timestamp(TimeUnit::Millis, Wire::Text),
            Kind::Date,
        ];
        for kind in kinds {
            assert_eq!(check(kind, "null"), Err(PushError::Missing), "{}", kind.name());
            let empty = match kind {
                Kind::Text => Ok(()),
                _ => Err(PushError::Missing),
            };
            assert_eq!(check(kind, "\"\""), empty, "{}", kind.name());
        }
    }
}
