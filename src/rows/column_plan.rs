//! The columns of a list of dicts, some of whose values JSON lacks.
//!
//! A field that is declared keeps its kind as long as all of its values fit: a `Decimal` fits a
//! decimal, an aware datetime a timestamp. The kind of any other field, such as one that the caller
//! added, is decided by its values.

use std::{collections::HashMap, ops::BitOrAssign, sync::Arc};

use super::caller_value::{CallerValue, Refused, read};
use crate::prelude::*;
use boardlot_client::extension::{
    api::{Field, Kind, TimeUnit, Wire, declared_field},
    decode::loses_digits,
};

/// The columns of a list, as far as its values were seen.
pub struct ColumnPlan<'a> {
    declared: &'a [Field],
    /// The names in the order of their first appearance, and what was seen of each.
    seen: Vec<(String, Seen)>,
    indices: HashMap<String, usize>,
}

/// The types of a column's values.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Seen {
    flag: bool,
    text: bool,
    integer: bool,
    /// An integer whose last digits a float would lose.
    long: bool,
    /// An integer of more than 64 bits.
    longest: bool,
    float: bool,
    nan: bool,
    /// The service may have sent it as `1e400`; a NaN is a caller's.
    infinite: bool,
    nested: bool,
    decimal: bool,
    time: bool,
    date: bool,
    /// The unit of its finest time, as the number of them in a second.
    per_second: Option<i64>,
}

impl<'a> ColumnPlan<'a> {
    pub fn new(declared: &'a [Field]) -> Self {
        ColumnPlan { declared, seen: Vec::new(), indices: HashMap::new() }
    }

    /// Takes note of a value.
    pub fn see(&mut self, name: &str, value: &CallerValue<'_>) {
        let index = match self.indices.get(name) {
            Some(index) => *index,
            None => {
                self.seen.push((name.to_owned(), Seen::default()));
                self.indices.insert(name.to_owned(), self.seen.len() - 1);
                self.seen.len() - 1
            }
        };
        if let Some((_, seen)) = self.seen.get_mut(index) {
            *seen |= value;
        }
    }

    /// The fields of the list, which say what its columns are. Nothing is decided about other
    /// columns.
    pub fn finish(self) -> Arc<[Field]> {
        let mut fields = self.declared.to_vec();
        let is_declared = |name: &str| self.declared.iter().any(|field| field.name == name);
        // Without one, the kinds of added columns are found where the kinds of undeclared fields
        // are.
        let is_planned =
            self.seen.iter().any(|(name, seen)| !is_declared(name) && !seen.is_plain());
        for (name, seen) in &self.seen {
            match fields.iter_mut().find(|field| field.name == name.as_str()) {
                Some(field) if !seen.fits(field.kind) => {
                    *field = Field { kind: seen.kind(), unit: "", values: None, ..field.clone() };
                }
                Some(_) => {}
                // A name that no column can have is left to the columns, which say so.
                None if is_planned => {
                    fields.extend(
                        declared_field(name, "text")
                            .ok()
                            .map(|field| Field { kind: seen.kind(), ..field }),
                    );
                }
                None => {}
            }
        }
        fields.into()
    }
}

impl BitOrAssign<&CallerValue<'_>> for Seen {
    fn bitor_assign(&mut self, value: &CallerValue<'_>) {
        match value {
            CallerValue::Null => {}
            CallerValue::Flag(_) => self.flag = true,
            CallerValue::Text(_) => self.text = true,
            CallerValue::Integer(number) => {
                self.integer = true;
                self.long |= loses_digits(&number.to_string());
            }
            CallerValue::LongInteger(_) => self.longest = true,
            CallerValue::Float(number) => {
                self.float = true;
                self.nan |= number.is_nan();
                self.infinite |= number.is_infinite();
            }
            CallerValue::Object(_) | CallerValue::List(_) => self.nested = true,
            CallerValue::Decimal(_) => self.decimal = true,
            CallerValue::Time(_, micros) => {
                self.time = true;
                self.per_second = self.per_second.max(Some(per_second(*micros)));
            }
            CallerValue::Date(_) => self.date = true,
        }
    }
}

/// The coarsest unit in which a time is whole, as the number of them in a second.
fn per_second(micros: i64) -> i64 {
    let units = [TimeUnit::Seconds, TimeUnit::Millis].map(TimeUnit::per_second);
    let is_whole = |unit: &i64| micros % (1_000_000 / unit) == 0;
    units.into_iter().find(is_whole).unwrap_or(TimeUnit::Micros.per_second())
}

impl Seen {
    /// Returns true if a JSON reader could have made all of the values.
    fn is_plain(self) -> bool {
        !(self.nan || self.infinite || self.decimal || self.time || self.date)
    }

    /// Returns true if a declared field keeps its kind. Whether its plain values are of that kind
    /// is found out where those of the service are.
    fn fits(self, kind: Kind) -> bool {
        let only_times = Seen { time: true, per_second: self.per_second, ..Seen::default() };
        match kind {
            Kind::Decimal | Kind::Number => !(self.time || self.date),
            Kind::Timestamp(unit, _) => {
                let is_fine = self.per_second > Some(unit.per_second());
                let is_other = self.nan || self.decimal || self.date;
                !is_other && (!is_fine || self != only_times)
            }
            Kind::Date => !(self.nan || self.decimal || self.time),
            _ => !(self.nan || self.decimal || self.time || self.date),
        }
    }

    /// The kind that all of the values have, or text.
    fn kind(self) -> Kind {
        let none = Seen::default();
        let Seen { flag, integer, float, long, nan, infinite, decimal, per_second, .. } = self;
        if self == none {
            Kind::Text
        } else if self == (Seen { time: true, per_second, ..none }) {
            Kind::Timestamp(TimeUnit::Micros, Wire::Integer)
        } else if self == (Seen { date: true, ..none }) {
            Kind::Date
        } else if self == (Seen { flag, ..none }) {
            Kind::Flag
        } else if self == (Seen { integer, long, ..none }) {
            Kind::Integer
        } else if self == (Seen { integer, long, decimal, ..none }) {
            Kind::Decimal
        } else if self == (Seen { integer, float, nan, infinite, decimal, ..none }) {
            Kind::Number
        } else {
            Kind::Text
        }
    }
}

/// Writes a value as JSON, as a column of this kind reads it.
pub fn write(value: &CallerValue<'_>, kind: Option<Kind>, out: &mut String) -> Result<(), Refused> {
    match (value, kind) {
        (CallerValue::Time(_, micros), Some(Kind::Timestamp(unit, _))) => {
            let per_count = 1_000_000 / unit.per_second();
            if micros % per_count != 0 {
                return Err(Refused::Value(format!(
                    "a datetime that is more precise than the field, which counts {}; expected one \
                     truncated with replace(microsecond=...)",
                    unit.name()
                )));
            }
            CallerValue::Integer(micros / per_count).write(read, false, out)
        }
        (value, kind) => value.write(read, matches!(kind, Some(Kind::Number | Kind::Decimal)), out),
    }
}
