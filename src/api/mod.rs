//! The service as data. An [`Endpoint`] is a row: from it come the request, the checks on its
//! arguments, the envelope, the paging, the typed columns, the Python methods with their
//! docstrings, the page of the docs and the sandbox's route. Adding an endpoint is adding a row.
//!
//! Nothing here does I/O or knows Python. Section numbers are those of the service document.

mod check;
mod failure;
mod oauth;
mod parameter;
mod quote;
mod record;
mod trade;
mod values;

pub use failure::{Contract, Failure};
pub use oauth::{ACCESS_TOKEN, AUTHORIZE, CLIENT_RECORD, OAUTH_ENDPOINTS, REGISTER, SCOPES, TOKEN};
pub use parameter::{Argument, EncodedValue, Parameter, ParameterKind, ParameterLocation};
pub use quote::{DIVIDENDS, IPO_LIST, PLATE_STOCKS, REFERENCE_FUTURES, SERVER_TIME, TRADING_DAYS};
pub use record::{Field, Kind, Record, Schema, TimeUnit, Wire};
pub use trade::{CRYPTO_ORDERS, FILLS_HISTORY, SIM_ORDERS, SIM_POSITIONS};
pub use values::{Member, VALUE_SETS, Value, ValueSet};

/// The ten REST endpoints, in the order of the service document.
pub const ENDPOINTS: &[&Endpoint] = &[
    &SERVER_TIME,
    &TRADING_DAYS,
    &REFERENCE_FUTURES,
    &IPO_LIST,
    &DIVIDENDS,
    &PLATE_STOCKS,
    &CRYPTO_ORDERS,
    &SIM_ORDERS,
    &SIM_POSITIONS,
    &FILLS_HISTORY,
];

/// The endpoint of that name, which is also the name of its Python method.
pub fn endpoint(name: &str) -> Option<&'static Endpoint> {
    ENDPOINTS.iter().copied().find(|endpoint| endpoint.name == name)
}

/// One endpoint of the service, whole.
#[derive(Debug)]
pub struct Endpoint {
    /// Its name here and in Python.
    pub name: &'static str,
    pub method: Method,
    /// The path below the base URL; `{name}` stands for a path parameter.
    pub path: &'static str,
    /// Where the service document describes it.
    pub section: &'static str,
    pub summary: &'static str,
    /// What a user should know besides: a paragraph for docstring and docs.
    pub notes: &'static str,
    pub parameters: &'static [Parameter],
    pub envelope: Envelope,
    pub answer: ResponseShape,
    pub paging: Option<Paging>,
    /// The documented refusals.
    pub failures: &'static [Failure],
    /// Whether sending it twice does the same as sending it once.
    pub idempotent: bool,
    /// A Python expression with `client`, and what it gives against the sandbox with seed 7.
    pub example: Example,
}

impl Endpoint {
    pub fn parameter(&self, name: &str) -> Option<&'static Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// How its responses are read.
    pub const fn contract(&self) -> Contract {
        Contract { envelope: self.envelope, failures: self.failures }
    }

    /// The parameter that carries the cursor, where the answer comes in pages.
    pub fn cursor(&self) -> Option<&'static Parameter> {
        self.parameters.iter().find(|p| matches!(p.kind, ParameterKind::Cursor))
    }

    /// Whether its list runs over a range of time.
    pub fn has_span(&self) -> bool {
        matches!(self.paging, Some(Paging::PageFlag { span: TimeSpan::StartEnd { .. }, .. }))
    }

    /// The parameters that a caller gives.
    pub fn arguments(&self) -> impl Iterator<Item = &'static Parameter> + use<> {
        self.parameters.iter().filter(|p| !matches!(p.kind, ParameterKind::Cursor))
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    Get,
    Post,
}

impl Method {
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
        }
    }
}

/// How an answer says that it is a success (section 7). Only its mark makes it one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Envelope {
    /// `{ret_code: 0, ret_msg, data}`; simulated trading leaves `ret_msg` out.
    RetCode,
    /// `{code: 0, msg, data}`; paginated endpoints leave `msg` out.
    Code,
    /// `{s: "ok", d}`.
    Status,
    /// No envelope: a success is an object with this field.
    Field(&'static str),
    /// The form is not shown: whichever of the first three marks the answer carries decides.
    Undocumented,
}

/// What a successful answer holds.
#[derive(Debug, Clone, Copy)]
pub enum ResponseShape {
    /// One instant: this field, a string of milliseconds.
    ServerTime(&'static str),
    /// A list of records at this place.
    Rows(RowsPlace, Schema),
    /// One object of this record, without an envelope.
    Object(&'static Record),
    /// A page for a browser.
    Page,
}

/// Where the list of records stands in an answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowsPlace {
    At(&'static [&'static str]),
    /// The shape below this member is not shown: the one list in it, or the member itself.
    OnlyListOf(&'static str),
}

/// How a list goes on (section 2.4).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paging {
    /// `next_key` out, `pagination.next_key` and `pagination.has_more` back.
    NextKey,
    /// `page_flag` out, `page_flag` and `completed` back, beside the rows.
    PageFlag { first: FirstPage, span: TimeSpan },
}

/// What the first request carries as its cursor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstPage {
    Empty,
    Omitted,
}

/// Whether the listing runs over a time range that has to be fixed before the first page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeSpan {
    None,
    /// The parameters `start` and `end` in microseconds, which are about this field of the records;
    /// so many days where one of them is left open.
    StartEnd {
        default_days: i64,
        time_field: &'static str,
    },
}

/// A call for docstrings, run by the tests.
#[derive(Debug, Clone, Copy)]
pub struct Example {
    /// The call, with `client` and `sandbox` in scope.
    pub call: &'static str,
    /// What is taken of its result: `{}` stands for the call.
    pub shown: &'static str,
    /// The same of an asynchronous pager, which is not awaited itself.
    pub shown_async: Option<&'static str>,
    pub result: &'static str,
}

impl Example {
    /// For endpoints that are no methods of the client.
    pub const NONE: Example = Example { call: "", shown: "", shown_async: None, result: "" };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_parameter_of_a_path_is_declared_and_required() {
        for endpoint in ENDPOINTS {
            let named: Vec<&str> = endpoint
                .path
                .split('/')
                .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
                .collect();
            let declared: Vec<&str> = endpoint
                .parameters
                .iter()
                .filter(|parameter| parameter.place == ParameterLocation::Path)
                .map(|parameter| parameter.name)
                .collect();
            assert_eq!(named, declared, "{}", endpoint.name);
            assert!(
                endpoint
                    .parameters
                    .iter()
                    .all(|p| p.place != ParameterLocation::Path || p.required),
                "{}",
                endpoint.name
            );
        }
    }

    #[test]
    fn a_paged_listing_declares_its_cursor_and_no_other_does() {
        for endpoint in ENDPOINTS {
            let expected = match endpoint.paging {
                None => None,
                Some(Paging::NextKey) => Some("next_key"),
                Some(Paging::PageFlag { .. }) => Some("page_flag"),
            };
            assert_eq!(endpoint.cursor().map(|p| p.name), expected, "{}", endpoint.name);
        }
    }

    #[test]
    fn names_are_unique_and_found() {
        for wanted in ENDPOINTS {
            assert_eq!(endpoint(wanted.name).expect("found").path, wanted.path);
        }
    }

    #[test]
    fn no_record_declares_a_field_twice() {
        for endpoint in ENDPOINTS {
            let ResponseShape::Rows(_, schema) = endpoint.answer else { continue };
            for record in schema.records() {
                let mut names: Vec<&str> = record.fields().map(|field| field.name).collect();
                let count = names.len();
                names.sort_unstable();
                names.dedup();
                assert_eq!(names.len(), count, "{}", record.name);
            }
        }
    }
}
