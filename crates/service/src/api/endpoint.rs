//! The row of an endpoint: request, response and paging.

use std::{borrow::Cow, ops::Deref, sync::Arc};

use super::{
    paging::{CursorPaging, Paging, TimeRangeSpec},
    parameter::{Parameter, ParameterKind, ParameterLocation},
    record::Field,
    response::{Contract, Envelope, Failure, ResponseShape},
};

/// One endpoint of the service.
#[derive(Debug)]
pub struct Endpoint {
    /// Name of the endpoint.
    pub name: Cow<'static, str>,
    /// The HTTP method.
    pub method: Method,
    /// The path below the base URL; `{name}` stands for a path parameter.
    pub path: Cow<'static, str>,
    /// The section of the service document that describes it.
    pub section: &'static str,
    /// One sentence about the endpoint.
    pub summary: &'static str,
    /// A further paragraph about the endpoint; may be empty.
    pub notes: &'static str,
    /// Parameters in the order of the document; those of the path first.
    pub parameters: Cow<'static, [Parameter]>,
    /// The part of the request that carries arguments without a parameter, in the order given;
    /// `None` to refuse them.
    pub undeclared: Option<ParameterLocation>,
    /// The mark of a successful response.
    pub envelope: Envelope,
    /// The content of a successful response.
    pub response: ResponseShape,
    /// The documented fields beside the list.
    pub beside: &'static [Field],
    /// The paging of a list: how it continues on the next page.
    pub paging: Option<Paging>,
    /// The field that identifies a record of a list.
    pub record_id: Option<&'static str>,
    /// The documented failures.
    pub failures: &'static [Failure],
    /// True if sending the request twice has the same effect as sending it once.
    pub idempotent: bool,
}

impl Endpoint {
    /// Values that most rows share: a GET without paging and without documented failures.
    pub const BASE: Endpoint = Endpoint {
        name: Cow::Borrowed(""),
        method: Method::Get,
        path: Cow::Borrowed(""),
        section: "",
        summary: "",
        notes: "",
        parameters: Cow::Borrowed(&[]),
        undeclared: None,
        envelope: Envelope::Undocumented,
        response: ResponseShape::Page,
        beside: &[],
        paging: None,
        record_id: None,
        failures: &[],
        idempotent: true,
    };

    /// Returns the parameter with this name.
    pub fn parameter(&self, name: &str) -> Option<&Parameter> {
        self.parameters.iter().find(|parameter| parameter.name == name)
    }

    /// Returns the rules for reading the endpoint's responses.
    pub const fn contract(&self) -> Contract {
        Contract { envelope: self.envelope, failures: self.failures }
    }

    /// Returns the parameter that carries the cursor of a paged list.
    pub fn cursor(&self) -> Option<&Parameter> {
        self.parameters.iter().find(|p| matches!(p.kind, ParameterKind::Cursor))
    }

    /// Returns the paging of a list that continues by a cursor.
    pub fn cursor_paging(&self) -> Option<&CursorPaging> {
        match &self.paging {
            Some(Paging::Cursor(cursor)) => Some(cursor),
            _ => None,
        }
    }

    /// Returns the name of the cursor of a paged list without a parameter for it.
    pub fn undeclared_cursor(&self) -> Option<&'static str> {
        self.undeclared.and(self.cursor_paging()).map(|cursor| cursor.name)
    }

    /// Returns the time range of the endpoint's list, if it has one.
    pub fn time_range(&self) -> Option<TimeRangeSpec> {
        self.cursor_paging()?.time_range
    }

    /// Iterates over the parameters that a caller passes.
    pub fn arguments(&self) -> impl Iterator<Item = &Parameter> {
        self.parameters.iter().filter(|p| !matches!(p.kind, ParameterKind::Cursor))
    }
}

/// An endpoint of the table, or one that the user defined. Both are used in the same way.
#[derive(Debug, Clone)]
pub enum EndpointRef {
    /// A row of the table.
    BuiltIn(&'static Endpoint),
    /// A row that the user defined.
    UserDefined(Arc<Endpoint>),
}

impl Deref for EndpointRef {
    type Target = Endpoint;

    fn deref(&self) -> &Endpoint {
        match self {
            EndpointRef::BuiltIn(endpoint) => endpoint,
            EndpointRef::UserDefined(endpoint) => endpoint,
        }
    }
}

impl From<&'static Endpoint> for EndpointRef {
    fn from(endpoint: &'static Endpoint) -> Self {
        EndpointRef::BuiltIn(endpoint)
    }
}

impl From<Arc<Endpoint>> for EndpointRef {
    fn from(endpoint: Arc<Endpoint>) -> Self {
        EndpointRef::UserDefined(endpoint)
    }
}

/// The HTTP method of an endpoint.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// `GET`
    Get,
    /// `POST`
    Post,
}

impl Method {
    /// Returns the method as it is sent and signed.
    pub const fn as_str(self) -> &'static str {
        match self {
            Method::Get => "GET",
            Method::Post => "POST",
        }
    }
}
