//! Parameters of an endpoint, and the arguments given for them.

use jiff::{Timestamp, civil::Date};

use super::values::ValueSet;

/// One parameter of an endpoint; its name is the same in Python and on the wire.
#[derive(Debug)]
pub struct Parameter {
    /// Its name in Python and on the wire.
    pub name: &'static str,
    /// Where it is sent.
    pub place: ParameterLocation,
    /// Its values, and how they are checked.
    pub kind: ParameterKind,
    /// Whether a call needs it.
    pub required: bool,
    /// Its description in the documentation.
    pub doc: &'static str,
}

/// Where a parameter is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterLocation {
    /// A segment of the path.
    Path,
    /// A query parameter.
    Query,
    /// A member of a JSON body.
    Body,
    /// A field of an `application/x-www-form-urlencoded` body.
    Form,
}

/// The values of a parameter, and how they are checked.
#[derive(Debug, Clone, Copy)]
pub enum ParameterKind {
    /// `{market}.{code}`; only where the document limits its length is there a `max`.
    Symbol {
        /// The longest symbol in characters.
        max: Option<usize>,
    },
    /// A market prefix such as `HK`. The document has no closed list of them.
    Market,
    /// `{market}.BK<digits>`.
    PlateCode,
    /// One of these words.
    OneOf(&'static [&'static str]),
    /// One of the values of the set that belongs to another parameter's value.
    ValuesBy {
        /// The other parameter.
        parameter: &'static str,
        /// The sets, each with the value of the other parameter that selects it.
        sets: &'static [(&'static str, &'static ValueSet)],
    },
    /// A uint64 account id.
    AccountNumber,
    /// A string account id.
    AccountId,
    /// An integer.
    Integer {
        /// The smallest.
        min: i64,
        /// The largest.
        max: i64,
    },
    /// A calendar date, sent as `yyyy-MM-dd`.
    Date,
    /// A point in time (uint64), sent in microseconds; a whole number 0 leaves it open.
    Micros,
    /// Free text: no control characters, not empty.
    Text,
    /// A list of free texts.
    TextList,
    /// What nobody else may see, such as a token: visible ASCII, never shown in an error.
    Secret,
    /// Set by the paging, not by the caller.
    Cursor,
}

/// An argument as the caller gave it, before any check.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A string.
    Text(String),
    /// A list of strings.
    Texts(Vec<String>),
    /// An integer.
    Integer(i128),
    /// A calendar date.
    Date(Date),
    /// A point in time, and the date that its own time zone shows for it.
    Instant(Timestamp, Date),
}

/// An argument as it goes out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EncodedValue {
    /// A string.
    Text(String),
    /// A list of strings.
    Texts(Vec<String>),
    /// An integer.
    Integer(i128),
}

impl EncodedValue {
    /// Its text in a path, query or form.
    pub fn into_text(self) -> String {
        match self {
            EncodedValue::Text(text) => text,
            EncodedValue::Texts(texts) => texts.join(","),
            EncodedValue::Integer(number) => number.to_string(),
        }
    }
}

impl From<Argument> for EncodedValue {
    /// As the caller gave it.
    fn from(argument: Argument) -> Self {
        match argument {
            Argument::Text(text) => EncodedValue::Text(text),
            Argument::Texts(texts) => EncodedValue::Texts(texts),
            Argument::Integer(number) => EncodedValue::Integer(number),
            Argument::Date(date) => EncodedValue::Text(date.to_string()),
            Argument::Instant(instant, _) => EncodedValue::Text(instant.to_string()),
        }
    }
}

impl Parameter {
    /// A path parameter.
    pub const fn path(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Parameter { name, place: ParameterLocation::Path, kind, required: true, doc }
    }
    /// An optional query parameter.
    pub const fn query(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Parameter { name, place: ParameterLocation::Query, kind, required: false, doc }
    }
    /// An optional member of the JSON body.
    pub const fn body(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Parameter { name, place: ParameterLocation::Body, kind, required: false, doc }
    }
    /// An optional form field.
    pub const fn form(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Parameter { name, place: ParameterLocation::Form, kind, required: false, doc }
    }
    /// The cursor of a paged listing, in its place among the parameters.
    pub const fn cursor(name: &'static str, place: ParameterLocation) -> Self {
        let doc = "Cursor of the page; set by the pager.";
        Parameter { name, place, kind: ParameterKind::Cursor, required: false, doc }
    }
    /// The same parameter, required.
    pub const fn required(self) -> Self {
        Parameter { required: true, ..self }
    }
}

impl Argument {
    /// How an error message shows it: cut, with nothing that could disturb a terminal.
    pub fn shown(&self) -> String {
        match self {
            Argument::Text(text) => {
                let cut: String = text.chars().take(64).collect();
                let dots = if cut.len() < text.len() { "..." } else { "" };
                format!("'{}{dots}'", cut.escape_debug())
            }
            Argument::Texts(texts) => format!("a list of {} strings", texts.len()),
            Argument::Integer(number) => number.to_string(),
            Argument::Date(date) => date.to_string(),
            Argument::Instant(instant, _) => instant.to_string(),
        }
    }
}
