//! Records: the fields of a row, each with its kind, unit and meaning (section 2).

use super::values::ValueSet;

/// The fields of one kind of row.
#[derive(Debug)]
pub struct Record {
    /// Its name, also of the Python `TypedDict`.
    pub name: &'static str,
    /// The section of the service document.
    pub section: &'static str,
    /// Its description in the documentation.
    pub doc: &'static str,
    /// Groups of fields in their order; markets share the first group.
    pub groups: &'static [&'static [Field]],
}

impl Record {
    /// Its fields.
    pub fn fields(&self) -> impl Iterator<Item = &'static Field> + use<> {
        self.groups.iter().flat_map(|group| group.iter())
    }
}

/// Which record the rows of an answer follow.
#[derive(Debug, Clone, Copy)]
pub enum Schema {
    /// All records have one type.
    One(&'static Record),
    /// It depends on the value of this parameter.
    By(&'static str, &'static [(&'static str, &'static Record)]),
}

impl Schema {
    /// The types of records.
    pub fn records(&self) -> Vec<&'static Record> {
        match self {
            Schema::One(record) => vec![record],
            Schema::By(_, records) => records.iter().map(|(_, record)| *record).collect(),
        }
    }

    /// The record for these arguments; `value` gives the argument of a name.
    pub fn choose<'a>(&self, value: impl Fn(&str) -> Option<&'a str>) -> Option<&'static Record> {
        match self {
            Schema::One(record) => Some(record),
            Schema::By(parameter, records) => {
                let chosen = value(parameter)?;
                records.iter().find(|(key, _)| *key == chosen).map(|(_, record)| *record)
            }
        }
    }
}

/// One field of a record.
#[derive(Debug, Clone, Copy)]
pub struct Field {
    /// Its name in the response.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// The unit of its values where it has one: `HKD`, `shares`, `%`.
    pub unit: &'static str,
    /// The documented values where the set is closed.
    pub values: Option<&'static ValueSet>,
    /// Its description in the documentation.
    pub doc: &'static str,
}

/// What a field's values mean, and so what column they become.
#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// A string.
    Text,
    /// An integer.
    Integer,
    /// A floating-point number.
    Number,
    /// A boolean.
    Flag,
    /// A decimal number sent as a string; `""` is none.
    Decimal,
    /// A point in time, counted from the Unix epoch; 0 and `""` are none.
    Timestamp(TimeUnit, Wire),
    /// A calendar date, `YYYY-MM-DD` or `YYYY/MM/DD`, perhaps with a time; `--` and `""` are none.
    Date,
    /// An object of its own.
    Object(&'static [Field]),
}

/// The unit of a timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Seconds.
    Seconds,
    /// Milliseconds.
    Millis,
    /// Microseconds.
    Micros,
}

impl TimeUnit {
    /// How many are in a second.
    pub const fn per_second(self) -> i64 {
        match self {
            TimeUnit::Seconds => 1,
            TimeUnit::Millis => 1_000,
            TimeUnit::Micros => 1_000_000,
        }
    }

    /// Its symbol, such as `ms`.
    pub const fn symbol(self) -> &'static str {
        match self {
            TimeUnit::Seconds => "s",
            TimeUnit::Millis => "ms",
            TimeUnit::Micros => "us",
        }
    }
}

/// How a count is written in JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wire {
    /// As a JSON number.
    Integer,
    /// As a JSON string.
    Text,
}

impl Field {
    const fn new(name: &'static str, kind: Kind, doc: &'static str) -> Self {
        Field { name, kind, unit: "", values: None, doc }
    }
    /// A string field.
    pub const fn text(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Text, doc)
    }
    /// An integer field.
    pub const fn integer(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Integer, doc)
    }
    /// A floating-point field.
    pub const fn number(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Number, doc)
    }
    /// A boolean field.
    pub const fn flag(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Flag, doc)
    }
    /// A decimal field.
    pub const fn decimal(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Decimal, doc)
    }
    /// A date field.
    pub const fn date(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Date, doc)
    }
    /// A field with an object.
    pub const fn object(name: &'static str, fields: &'static [Field], doc: &'static str) -> Self {
        Self::new(name, Kind::Object(fields), doc)
    }
    /// A millisecond timestamp sent as an integer.
    pub const fn millis(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Timestamp(TimeUnit::Millis, Wire::Integer), doc)
    }
    /// A microsecond timestamp sent as an integer.
    pub const fn micros(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Timestamp(TimeUnit::Micros, Wire::Integer), doc)
    }
    /// A microsecond timestamp sent as a string.
    pub const fn micros_text(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Timestamp(TimeUnit::Micros, Wire::Text), doc)
    }
    /// A second timestamp sent as an integer.
    pub const fn seconds(name: &'static str, doc: &'static str) -> Self {
        Self::new(name, Kind::Timestamp(TimeUnit::Seconds, Wire::Integer), doc)
    }
    /// The same field, with the unit of its values.
    pub const fn unit(self, unit: &'static str) -> Self {
        Field { unit, ..self }
    }
    /// The same field, with the set of its values.
    pub const fn one_of(self, values: &'static ValueSet) -> Self {
        Field { values: Some(values), ..self }
    }
}

impl Kind {
    /// The kind's name as `.schema` and the docs tell it.
    pub const fn name(&self) -> &'static str {
        match self {
            Kind::Text => "text",
            Kind::Integer => "integer",
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
    /// The unit, where a timestamp's is its own.
    pub const fn unit_name(&self) -> &'static str {
        match self.kind {
            Kind::Timestamp(unit, _) => unit.symbol(),
            _ => self.unit,
        }
    }
}
