//! Records as rows of typed values, which an archive stores beside their texts.
//!
//! A value is converted by the rule of typed columns (`scalars`).

use std::{borrow::Cow, collections::HashMap};

use super::{
    json::{Raw, parse_members},
    records::{Page, RowValues},
    scalars::{self, PushError, date_of_days, is_null},
};
use crate::{
    api::{Kind, TimeUnit, Wire},
    error::Result,
};

/// A value as databases store it.
#[derive(Debug, Clone, PartialEq)]
pub enum TypedValue<'t> {
    /// Null, or not of the column's kind.
    Null,
    /// A text, the JSON of an object, a date as `YYYY-MM-DD`, or a time in UTC with microseconds,
    /// as `YYYY-MM-DD HH:MM:SS.ffffff+00:00`.
    Text(Cow<'t, str>),
    /// An integer.
    Integer(i64),
    /// A number.
    Number(f64),
    /// A flag.
    Flag(bool),
}

/// The fields of records that become values: the name and the kind of each.
#[derive(Debug)]
pub struct TypedFields {
    kinds: Vec<Kind>,
    by_name: HashMap<String, usize>,
}

/// The values of a record in the order of the fields, and the fields whose values are not of their
/// kind.
#[derive(Debug, PartialEq)]
pub struct TypedRecord<'t> {
    /// A value for each field.
    pub values: Vec<TypedValue<'t>>,
    /// The indices of the fields whose values are not of their kind.
    pub unconverted: Vec<usize>,
}

/// Returns the kind of a field by its name and unit, as a schema shows them; `integer not zero` has
/// 0 for null.
pub fn kind_named(name: &str, unit: &str) -> Option<Kind> {
    let unit = match unit {
        "ms" => TimeUnit::Millis,
        "us" => TimeUnit::Micros,
        _ => TimeUnit::Seconds,
    };
    Some(match name {
        "text" => Kind::Text,
        "integer" => Kind::Integer,
        "integer not zero" => Kind::IntegerNotZero,
        "number" => Kind::Number,
        "flag" => Kind::Flag,
        "decimal" => Kind::Decimal,
        "timestamp" => Kind::Timestamp(unit, Wire::Text),
        "date" => Kind::Date,
        "object" => Kind::Object(&[]),
        _ => return None,
    })
}

impl TypedFields {
    /// Creates these fields, whose names have to differ.
    pub fn new(fields: impl IntoIterator<Item = (String, Kind)>) -> Self {
        let mut kinds = Vec::new();
        let mut by_name = HashMap::new();
        for (index, (name, kind)) in fields.into_iter().enumerate() {
            kinds.push(kind);
            by_name.insert(name, index);
        }
        TypedFields { kinds, by_name }
    }

    /// Returns the records of a page.
    pub fn records<'t>(&self, page: &'t Page) -> Result<Vec<TypedRecord<'t>>> {
        let mut known = None;
        let mut records = Vec::with_capacity(page.len());
        for index in 0..page.len() {
            let Some(row) = page.row_values(index) else {
                let mut found = vec![None; self.kinds.len()];
                let members = page.row(index)?;
                for (name, json) in &members {
                    // The last of duplicate names counts.
                    if let Some(value) =
                        self.by_name.get(name.as_ref()).and_then(|at| found.get_mut(*at))
                    {
                        *value = Some(json.get());
                    }
                }
                records.push(self.record(found.into_iter().map(|json| json.map(Raw::new))));
                continue;
            };
            if known.as_ref().is_none_or(|(layout, _)| *layout != row.layout()) {
                known = Some((row.layout(), self.positions(&row)));
            }
            let positions = known.iter().flat_map(|(_, positions)| positions);
            records.push(self.record(positions.map(|position| row.get((*position)?))));
        }
        Ok(records)
    }

    /// Returns the index of each field in a row.
    fn positions(&self, row: &RowValues<'_>) -> Vec<Option<usize>> {
        let mut positions = vec![None; self.kinds.len()];
        for (position, name) in row.names().enumerate() {
            if let Some(found) = self.by_name.get(name).and_then(|at| positions.get_mut(*at)) {
                *found = Some(position);
            }
        }
        positions
    }

    fn record<'t>(&self, found: impl Iterator<Item = Option<Raw<'t>>>) -> TypedRecord<'t> {
        let mut unconverted = Vec::new();
        let values = self.kinds.iter().zip(found).enumerate().map(|(index, (kind, raw))| {
            let raw = raw.filter(|raw| !is_null(*raw));
            match raw.map_or(Err(PushError::Missing), |raw| typed_value(*kind, raw)) {
                Ok(value) => value,
                Err(PushError::Missing) => TypedValue::Null,
                Err(_) => {
                    unconverted.push(index);
                    TypedValue::Null
                }
            }
        });
        let values = values.collect();
        TypedRecord { values, unconverted }
    }
}

fn typed_value(kind: Kind, raw: Raw<'_>) -> Result<TypedValue<'_>, PushError> {
    Ok(match kind {
        Kind::Text => TypedValue::Text(scalars::text(raw)?),
        Kind::Integer => TypedValue::Integer(scalars::integer(raw)?),
        Kind::IntegerNotZero => match scalars::integer(raw)? {
            0 => return Err(PushError::Missing),
            integer => TypedValue::Integer(integer),
        },
        Kind::Number => finite(scalars::number(raw)?)?,
        Kind::Decimal => finite(scalars::decimal_float(raw)?)?,
        Kind::Flag => TypedValue::Flag(scalars::flag(raw)?),
        Kind::Timestamp(unit, _) => {
            let micros = scalars::timestamp(raw, unit)? * (1_000_000 / unit.per_second());
            TypedValue::Text(utc(micros).into())
        }
        Kind::Date => TypedValue::Text(scalars::date(raw)?.to_string().into()),
        Kind::Object(_) if parse_members(raw.json).is_ok() => TypedValue::Text(raw.json.into()),
        Kind::Object(_) => return Err(PushError::Invalid),
    })
}

/// Accepts only finite numbers: no service sends the texts for a caller's floats that JSON lacks,
/// and databases do not compare such floats.
fn finite(number: f64) -> Result<TypedValue<'static>, PushError> {
    if number.is_finite() { Ok(TypedValue::Number(number)) } else { Err(PushError::Invalid) }
}

/// Formats a time in microseconds since 1970.
fn utc(micros: i64) -> String {
    let (seconds, micros) = (micros.div_euclid(1_000_000), micros.rem_euclid(1_000_000));
    let (days, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    let (year, month, day) = date_of_days(days);
    let (hour, minute, second) = (second / 3_600, second / 60 % 60, second % 60);
    format!("{year:04}-{month:02}-{day:02} {hour:02}:{minute:02}:{second:02}.{micros:06}+00:00")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decode::page_of_texts;

    const FIELDS: [(&str, &str, &str); 9] = [
        ("code", "text", ""),
        ("n", "integer", ""),
        ("version", "integer not zero", ""),
        ("ratio", "number", "%"),
        ("price", "decimal", ""),
        ("is_odd", "flag", ""),
        ("at", "timestamp", "ms"),
        ("day", "date", ""),
        ("pair", "object", ""),
    ];

    fn fields() -> TypedFields {
        TypedFields::new(
            FIELDS.map(|(name, kind, unit)| {
                (name.to_owned(), kind_named(kind, unit).expect("a kind"))
            }),
        )
    }

    fn text(text: &str) -> TypedValue<'_> {
        TypedValue::Text(text.into())
    }

    #[test]
    fn each_kind_has_its_value() {
        let record = r#"{"code":"a\u0000b","n":9007199254740993,"version":0,"ratio":"1.5",
            "price":"0.1","is_odd":true,"at":-1,"day":"2026/02/28","pair":{"a": 1},"other":5}"#;
        let page = page_of_texts(record.as_bytes(), None).expect("a page");
        let records = fields().records(&page).expect("records");
        let expected = [
            text("a\0b"),
            TypedValue::Integer(9_007_199_254_740_993),
            TypedValue::Null,
            TypedValue::Number(1.5),
            TypedValue::Number(0.1),
            TypedValue::Flag(true),
            text("1969-12-31 23:59:59.999000+00:00"),
            text("2026-02-28"),
            text(r#"{"a": 1}"#),
        ];
        assert_eq!(records, [TypedRecord { values: expected.into(), unconverted: vec![] }]);
    }

    #[test]
    fn what_is_not_of_its_kind_is_null_and_named_but_null_is_not() {
        let records = r#"{"n":"1,000","price":"1e99999","is_odd":1,"at":1e30,"day":"soon","pair":[]},
            {"n":null,"price":"","is_odd":"","at":0,"day":"--"},{"ratio":"\u0000NaN"}"#;
        let page = page_of_texts(records.as_bytes(), None).expect("a page");
        let records = fields().records(&page).expect("records");
        let found: Vec<_> = records.iter().map(|one| one.unconverted.as_slice()).collect();
        assert_eq!(found, [&[1, 4, 5, 6, 7, 8][..], &[], &[3]]);
        assert!(records.iter().all(|one| one.values.iter().all(|x| *x == TypedValue::Null)));
    }

    #[test]
    fn times_are_those_of_all_supported_years() {
        assert_eq!(utc(-62_135_596_800_000_000), "0001-01-01 00:00:00.000000+00:00");
        assert_eq!(utc(253_402_300_799_999_999), "9999-12-31 23:59:59.999999+00:00");
    }
}
