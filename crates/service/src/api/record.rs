//! Records: the fields of a row, each with its kind, unit and meaning (section 2).

use std::{borrow::Cow, sync::Arc};

use super::values::{Value, ValueSet};

/// The fields of one kind of row.
#[derive(Debug)]
pub struct Record {
    /// Name of the record.
    pub name: &'static str,
    /// The section of the service document that describes it.
    pub section: &'static str,
    /// One sentence about the record.
    pub doc: &'static str,
    /// Groups of fields in their order; markets share the first group.
    pub groups: &'static [&'static [Field]],
}

impl Record {
    /// Iterates over all fields in their order.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }
}

/// The record, or records, of the rows of a response.
#[derive(Debug, Clone)]
pub enum Schema {
    /// All rows have this record.
    One(&'static Record),
    /// The record depends on the value of this parameter.
    By(&'static str, &'static [(&'static str, &'static Record)]),
    /// All rows have these fields, which the user declared.
    Fields(Arc<[Field]>),
}

impl Schema {
    /// Returns every record of the service document that may occur.
    pub fn records(&self) -> Vec<&'static Record> {
        match self {
            Schema::One(record) => vec![record],
            Schema::By(_, records) => records.iter().map(|(_, record)| *record).collect(),
            Schema::Fields(_) => Vec::new(),
        }
    }

    /// Returns the fields for these arguments; `value` returns an argument by its name.
    pub fn choose<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Arc<[Field]> {
        match self {
            Schema::One(record) => record.fields().cloned().collect(),
            Schema::By(parameter, records) => value(parameter)
                .and_then(|chosen| records.iter().find(|(key, _)| *key == chosen))
                .map(|(_, record)| record.fields().cloned().collect())
                .unwrap_or_default(),
            Schema::Fields(fields) => fields.clone(),
        }
    }

    /// Returns the fields of all records, whatever the arguments are; records may share names.
    pub fn all_fields(&self) -> Arc<[Field]> {
        match self {
            Schema::Fields(fields) => fields.clone(),
            Schema::One(_) | Schema::By(..) => {
                self.records().into_iter().flat_map(Record::fields).cloned().collect()
            }
        }
    }
}

/// One field of a record.
#[derive(Debug, Clone)]
pub struct Field {
    /// Name of the field in responses.
    pub name: Cow<'static, str>,
    /// Meaning of the field's values.
    pub kind: Kind,
    /// Unit of the values, such as `HKD`, `shares` or `%`; empty if there is none.
    pub unit: &'static str,
    /// The documented values if the set is closed.
    pub values: Option<&'static ValueSet>,
    /// True if the field is in every record, according to the document.
    pub required: bool,
    /// True if the value may be null, according to the document.
    pub nullable: bool,
    /// Meaning of the field, without a full stop.
    pub doc: &'static str,
}

/// The meaning of a field's values, which determines their column.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// Any text.
    Text,
    /// A JSON integer.
    Integer,
    /// A JSON integer that is not 0; 0 is null.
    IntegerNotZero,
    /// A JSON number.
    Number,
    /// A JSON boolean.
    Flag,
    /// A decimal number sent as a string; `""` is null.
    Decimal,
    /// A point in time, counted from the Unix epoch; 0 and `""` are null.
    Timestamp(TimeUnit, Wire),
    /// A calendar date, `YYYY-MM-DD` or `YYYY/MM/DD`, optionally with a time; `--` and `""` are
    /// null.
    Date,
    /// A JSON object with these fields.
    Object(&'static [Field]),
}

/// The unit in which a timestamp counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds since 1970.
    Seconds,
    /// Milliseconds since 1970.
    Millis,
    /// Microseconds since 1970.
    Micros,
}

impl TimeUnit {
    /// Returns the number of units in a second.
    pub const fn per_second(self) -> i64 {
        match self {
            TimeUnit::Seconds => 1,
            TimeUnit::Millis => 1_000,
            TimeUnit::Micros => 1_000_000,
        }
    }

    /// Returns the unit as a plural noun.
    pub const fn name(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "seconds",
            TimeUnit::Millis => "milliseconds",
            TimeUnit::Micros => "microseconds",
        }
    }

    /// Returns the symbol of the unit: `s`, `ms` or `us`.
    pub const fn symbol(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Millis => "ms",
            TimeUnit::Micros => "us",
        }
    }
}

/// JSON form of a count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// As a JSON integer.
    Integer,
    /// As a string of digits.
    Text,
}

impl Field {
    const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Field {
            name: Cow::Borrowed(name),
            kind,
            unit: "",
            values: None,
            required: true,
            nullable: false,
            doc,
        }
    }
    /// Creates a field of any text.
    pub const fn text(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Text, doc)
    }
    /// Creates a JSON integer.
    pub const fn integer(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Integer, doc)
    }
    /// Creates a JSON integer for which the document says that 0 means none.
    pub const fn integer_not_zero(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::IntegerNotZero, doc)
    }
    /// Creates a JSON number.
    pub const fn number(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Number, doc)
    }
    /// Creates a JSON boolean.
    pub const fn flag(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Flag, doc)
    }
    /// Creates a decimal number sent as a string.
    pub const fn decimal(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Decimal, doc)
    }
    /// Creates a calendar date.
    pub const fn date(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Date, doc)
    }
    /// Creates a JSON object.
    pub const fn object(name: &'static str, fields: &'static [Field], doc: &'static str) -> Self {
        Self::new(name, Kind::Object(fields), doc)
    }
    /// Creates a millisecond timestamp sent as an integer.
    pub const fn millis(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Timestamp(TimeUnit::Millis, Wire::Integer), doc)
    }
    /// Creates a microsecond timestamp sent as an integer.
    pub const fn micros(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Timestamp(TimeUnit::Micros, Wire::Integer), doc)
    }
    /// Creates a microsecond timestamp sent as a string.
    pub const fn micros_text(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Timestamp(TimeUnit::Micros, Wire::Text), doc)
    }
    /// Creates a second timestamp sent as an integer.
    pub const fn seconds(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Timestamp(TimeUnit::Seconds, Wire::Integer), doc)
    }
    /// Sets the unit of the field.
    pub const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = unit;
        self
    }
    /// Restricts the field to a closed set of values.
    pub const fn one_of(mut self, values: &'static ValueSet) -> Self {
        self.values = Some(values);
        self
    }
    /// Marks the field as one that only some records have.
    pub const fn optional(mut self) -> Self {
        self.required = false;
        self
    }
    /// Marks the field as one whose value may be null.
    pub const fn nullable(mut self) -> Self {
        self.nullable = true;
        self
    }
}

impl Kind {
    /// Returns true if 0 means that there is no value.
    pub const fn zero_is_null(&self) -> bool {
        matches!(self, Kind::IntegerNotZero | Kind::Timestamp(..))
    }

    /// Returns the kind's name in `.schema` and the docs.
    pub const fn name(&self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Integer | Kind::IntegerNotZero => "integer",
            Kind::Number => "number",
            Kind::Flag => "flag",
            Kind::Decimal => "decimal",
            Kind::Timestamp(..) => "timestamp",
            Kind::Date => "date",
            Kind::Object(_) => "object",
        }
    }
}

impl Field {
    /// Returns the kind as a user declares it.
    pub fn declared_kind(&self) -> &'static str {
        match self.kind {
            Kind::Timestamp(TimeUnit::Seconds, _) => "seconds",
            Kind::Timestamp(TimeUnit::Millis, _) => "millis",
            Kind::Timestamp(TimeUnit::Micros, _) => "micros",
            Kind::Number if self.unit == "%" => "percent",
            kind => kind.name(),
        }
    }

    /// Returns the JSON type of the values, as JSON Schema names it.
    pub fn json_type(&self) -> &'static str {
        match (self.values, self.kind) {
            (Some(set), _) if set.members.iter().any(|one| matches!(one.value, Value::Text(_))) => {
                "string"
            }
            (Some(_), _) => "integer",
            (None, Kind::Text | Kind::Date | Kind::Decimal) => "string",
            (None, Kind::Timestamp(_, Wire::Text)) => "string",
            (None, Kind::Integer | Kind::IntegerNotZero) => "integer",
            (None, Kind::Timestamp(_, Wire::Integer)) => "integer",
            (None, Kind::Number) => "number",
            (None, Kind::Flag) => "boolean",
            (None, Kind::Object(_)) => "object",
        }
    }

    /// Returns the unit of the values; for a timestamp, the unit of its count.
    pub const fn unit_name(&self) -> &'static str {
        match self.kind {
            Kind::Timestamp(unit, _) => unit.symbol(),
            _ => self.unit,
        }
    }
}
