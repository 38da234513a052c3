//! Rules for reading an endpoint's responses: the envelope with its success mark, the location of
//! the rows, and the documented failures (section 7).

use std::{borrow::Cow, fmt};

use super::record::{Record, Schema};

/// Success mark of a response (section 7). Only this mark makes a response a success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Envelope {
    /// `{ret_code: 0, ret_msg, data}`; simulated trading omits `ret_msg`.
    RetCode,
    /// `{code: 0, msg, data}`; paginated endpoints omit `msg`.
    Code,
    /// `{s: "ok", d}`.
    Status,
    /// No envelope: a success is an object with this field.
    Field(&'static str),
    /// Undocumented: the response carries one of the first three marks, which decides.
    Undocumented,
    /// Nothing of the response is documented: it has one of the first three marks, or is a JSON
    /// list without an envelope.
    Unknown,
}

/// The content of a successful response.
#[derive(Debug, Clone)]
pub enum ResponseShape {
    /// One instant: this field, a string of milliseconds.
    ServerTime(&'static str),
    /// A list of records at this location.
    Rows(RecordsLocation, Schema),
    /// One object of this record, without an envelope.
    Object(&'static Record),
    /// A page for a browser.
    Page,
}

/// The location of a response's list of records.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordsLocation {
    /// The list at this path of members, separated by dots.
    At(Cow<'static, str>),
    /// The shape below this member is undocumented: the list is the only one in the member, or the
    /// member itself.
    OnlyListOf(&'static str),
    /// The shape of the whole response is undocumented: it is the list, or an envelope with the
    /// only list in it.
    OnlyList,
}

impl RecordsLocation {
    /// Locates the list at this path of members, separated by dots.
    pub const fn at(path: &'static str) -> Self {
        RecordsLocation::At(Cow::Borrowed(path))
    }
}

impl fmt::Display for RecordsLocation {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            RecordsLocation::At(path) => write!(out, "at '{path}'"),
            RecordsLocation::OnlyListOf(name) => write!(out, "in '{name}'"),
            RecordsLocation::OnlyList => out.write_str("in it"),
        }
    }
}

/// One documented failure of an endpoint.
#[derive(Debug, Clone, Copy)]
pub struct Failure {
    /// The number in the envelope.
    pub code: i64,
    /// The word in `error.code`; empty if none is documented.
    pub error_code: &'static str,
    /// Cause of the failure.
    pub condition: &'static str,
    /// The service document's advice to the caller.
    pub handling: &'static str,
}

impl Failure {
    /// Creates one row of an endpoint's table of failures.
    pub const fn new(
        code: i64,
        error_code: &'static str,
        condition: &'static str,
        handling: &'static str,
    ) -> Self {
        Failure { code, error_code, condition, handling }
    }

    /// Creates a failure of which the document shows an example, whose message may have any words.
    pub const fn example(code: i64) -> Self {
        Failure::new(code, "", "shown in an example of an error", "not shown")
    }
}

/// Rules for reading an endpoint's responses: its success mark, and the meaning of its codes.
#[derive(Debug, Clone, Copy)]
pub struct Contract {
    /// The envelope of every response.
    pub envelope: Envelope,
    /// Documented failures. A code that is not among them has no known meaning.
    pub failures: &'static [Failure],
}

impl Contract {
    /// Returns the meaning of a code at this endpoint.
    pub fn failure(&self, code: i64) -> Option<&'static Failure> {
        self.failures.iter().find(|failure| failure.code == code)
    }
}

/// Creates the contract of an endpoint without a table of failures.
impl From<Envelope> for Contract {
    fn from(envelope: Envelope) -> Self {
        Contract { envelope, failures: &[] }
    }
}
