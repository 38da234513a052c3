//! Parameters of an endpoint, and the arguments given for them.

use std::borrow::Cow;

use jiff::civil::Date;
use zeroize::Zeroizing;

use super::{instant::time_text, record::TimeUnit, values::ValueSet};

/// One parameter of an endpoint. Callers and requests use the same name.
#[derive(Debug, Clone)]
pub struct Parameter {
    /// Name of the parameter.
    pub name: Cow<'static, str>,
    /// Part of the request that carries the parameter.
    pub place: ParameterLocation,
    /// Arguments that the parameter accepts.
    pub kind: ParameterKind,
    /// True if an argument has to be passed.
    pub required: bool,
    /// One sentence about the parameter.
    pub doc: &'static str,
}

/// The part of a request that carries a parameter.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ParameterLocation {
    /// A segment of the path.
    Path,
    /// A pair of the query.
    Query,
    /// A member of a JSON body.
    Body,
    /// A field of an `application/x-www-form-urlencoded` body.
    Form,
}

/// The arguments that a parameter accepts.
#[derive(Debug, Clone, Copy)]
pub enum ParameterKind {
    /// `{market}.{code}`.
    Symbol {
        /// The longest symbol, if the document limits its length.
        max: Option<usize>,
    },
    /// A market prefix such as `HK`. The document does not list all of them.
    Market,
    /// `{market}.BK<digits>`.
    PlateCode,
    /// A word of this list.
    OneOf(&'static [&'static str]),
    /// One of the values in the set that belongs to the value of another parameter.
    ValuesBy {
        /// The other parameter.
        parameter: &'static str,
        /// The set for each of its values.
        sets: &'static [(&'static str, &'static ValueSet)],
    },
    /// A uint64 account id.
    AccountNumber,
    /// A string account id.
    AccountId,
    /// A whole number in this range.
    Integer {
        /// The smallest.
        min: i128,
        /// The largest.
        max: i128,
    },
    /// A calendar date, sent as `yyyy-MM-dd`.
    Date,
    /// A point in time, sent as a count of this unit (uint64); the number 0 leaves a range open.
    Time(TimeUnit),
    /// A number, sent as a JSON number.
    Number,
    /// A decimal number, sent as a string.
    Decimal,
    /// True or false.
    Flag,
    /// Any text without control characters.
    FreeText,
    /// A JSON object or list.
    Json,
    /// One segment of a path, percent-encoded.
    Segment,
    /// Non-empty text without control characters.
    Text,
    /// A list of texts without control characters.
    TextList,
    /// A secret such as a token: visible ASCII, never shown in an error.
    Secret,
    /// A cursor, set by the pager and not by the caller.
    Cursor,
}

/// An argument as the caller passed it, before any check. Texts, `i64` and the [`Date`] of the crate
/// `jiff` become one by `.into()`.
///
/// A time is a count of the endpoint's unit since 1970, a date (midnight UTC), or ISO 8601 with an
/// offset:
///
/// ```
/// # use boardlot_service::api::Argument;
/// let start: Argument = "2026-01-05".into();
/// let start: Argument = "2026-01-05T09:30:00+08:00".into();
/// let start: Argument = 1_767_571_200_000_000_i64.into();
/// # let _ = start;
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Argument {
    /// A text.
    Text(String),
    /// A secret.
    Secret(SecretText),
    /// A list of texts.
    Texts(Vec<String>),
    /// A whole number.
    Integer(i128),
    /// A calendar date. As a time, it is midnight UTC.
    Date(Date),
    /// A point in time in microseconds since 1970, and its date in its own time zone.
    Instant(i64, Date),
    /// A number with a fraction or an exponent, as its JSON text.
    Number(String),
    /// True or false, and the caller's spelling of it, which errors show.
    Flag(bool, &'static str),
    /// A JSON object or list as its text, and the caller's word for it, which errors show.
    Json(String, &'static str),
}

/// A text that is wiped from memory when it is dropped, and never shown.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretText(pub Zeroizing<String>);

crate::shown_as!(SecretText, "SecretText(...)");

/// An argument as it is sent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EncodedValue {
    /// A text.
    Text(String),
    /// A secret.
    Secret(SecretText),
    /// A list of texts.
    Texts(Vec<String>),
    /// A whole number.
    Integer(i128),
    /// Any other JSON value, as its text.
    Json(String),
}

impl EncodedValue {
    /// Returns the value in a path, query or form; a list is joined by commas.
    pub fn into_text(self) -> String {
        match self {
            EncodedValue::Text(text) => text,
            EncodedValue::Secret(SecretText(mut text)) => std::mem::take(&mut *text),
            EncodedValue::Texts(texts) => texts.join(","),
            EncodedValue::Integer(number) => number.to_string(),
            EncodedValue::Json(text) => text,
        }
    }
}

impl From<Argument> for EncodedValue {
    /// Converts an argument unchecked, as the caller passed it.
    fn from(argument: Argument) -> Self {
        match argument {
            Argument::Text(text) => EncodedValue::Text(text),
            Argument::Secret(text) => EncodedValue::Secret(text),
            Argument::Texts(texts) => EncodedValue::Texts(texts),
            Argument::Integer(number) => EncodedValue::Integer(number),
            Argument::Date(date) => EncodedValue::Text(date.to_string()),
            Argument::Instant(micros, _) => EncodedValue::Text(time_text(micros)),
            Argument::Number(text) | Argument::Json(text, _) => EncodedValue::Json(text),
            Argument::Flag(flag, _) => EncodedValue::Json(flag.to_string()),
        }
    }
}

impl From<&str> for Argument {
    fn from(text: &str) -> Self {
        Argument::text(text)
    }
}

impl From<String> for Argument {
    fn from(text: String) -> Self {
        Argument::Text(text)
    }
}

impl From<i64> for Argument {
    fn from(number: i64) -> Self {
        Argument::Integer(number.into())
    }
}

impl From<Date> for Argument {
    fn from(date: Date) -> Self {
        Argument::Date(date)
    }
}

impl Parameter {
    const fn new(
        name: &'static str,
        place: ParameterLocation,
        kind: ParameterKind,
        doc: &'static str,
    ) -> Self {
        Parameter { name: Cow::Borrowed(name), place, kind, required: false, doc }
    }
    /// Creates a required parameter of the path.
    pub const fn path(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Self::new(name, ParameterLocation::Path, kind, doc).required()
    }
    /// Creates an optional parameter of the query.
    pub const fn query(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Self::new(name, ParameterLocation::Query, kind, doc)
    }
    /// Creates an optional member of the JSON body.
    pub const fn body(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Self::new(name, ParameterLocation::Body, kind, doc)
    }
    /// Creates an optional field of the form.
    pub const fn form(name: &'static str, kind: ParameterKind, doc: &'static str) -> Self {
        Self::new(name, ParameterLocation::Form, kind, doc)
    }
    /// Creates the cursor of a paged listing, at its position among the parameters.
    pub const fn cursor(name: &'static str, place: ParameterLocation) -> Self {
        let doc = "Cursor of the page; set by the pager.";
        Self::new(name, place, ParameterKind::Cursor, doc)
    }
    /// Makes the parameter required.
    pub const fn required(mut self) -> Self {
        self.required = true;
        self
    }
}

impl Argument {
    /// Creates a text.
    pub fn text(value: &str) -> Self {
        Argument::Text(value.to_owned())
    }

    /// Creates a secret, wiped from memory when it is dropped.
    pub fn secret(value: &str) -> Self {
        Argument::Secret(SecretText(Zeroizing::new(value.to_owned())))
    }

    /// Creates a flag.
    pub const fn flag(value: bool) -> Self {
        Argument::Flag(value, if value { "true" } else { "false" })
    }

    /// Creates a JSON object or list from its text.
    pub fn json(text: String) -> Self {
        let shown = if text.starts_with('{') { "an object" } else { "a list" };
        Argument::Json(text, shown)
    }

    /// Returns the text by which an error message shows the argument: truncated, and without
    /// characters that could disturb a terminal.
    pub fn shown(&self) -> String {
        match self {
            Argument::Text(text) => {
                let cut: String = text.chars().take(64).collect();
                let dots = if cut.len() < text.len() { "..." } else { "" };
                format!("'{}{dots}'", cut.escape_debug())
            }
            Argument::Secret(_) => "not shown".to_owned(),
            Argument::Texts(texts) => format!("a list of {} strings", texts.len()),
            Argument::Integer(number) => number.to_string(),
            Argument::Date(date) => date.to_string(),
            Argument::Instant(micros, _) => time_text(*micros),
            Argument::Number(text) => text.clone(),
            Argument::Flag(_, shown) | Argument::Json(_, shown) => (*shown).to_owned(),
        }
    }
}
