//! A call that returns records: what to send, and how to read the response.

use std::sync::Arc;

use crate::{
    api::{Argument, Contract, Endpoint, Envelope, Field, ResponseShape, RowsPlace},
    decode::{Page, RowsAt, parse_page},
    error::{Error, Result},
    http::{HttpResponse, RequestPlan},
};

/// The plan of a call: its checked request, and the location and fields of the records in responses.
#[derive(Debug)]
pub struct Plan {
    /// What to send.
    pub request: RequestPlan,
    /// The fields that the records can have.
    pub fields: Arc<[Field]>,
    contract: Contract,
    rows_at: RowsAt,
}

impl Plan {
    /// The plan of an endpoint, its arguments checked.
    pub fn new(endpoint: &Endpoint, arguments: &[(&str, Argument)]) -> Result<Self> {
        let request = RequestPlan::new(endpoint, arguments)?;
        let ResponseShape::Rows(place, schema) = &endpoint.response else {
            return Err(Error::config(format!("{} does not return records", endpoint.name)));
        };
        let rows_at = match place {
            RowsPlace::At(path) => rows_at(path),
            RowsPlace::OnlyListOf(name) => RowsAt::OnlyListOf((*name).to_owned()),
        };
        let fields = schema.choose(|name| {
            arguments.iter().find(|(n, _)| *n == name).and_then(|(_, argument)| match argument {
                Argument::Text(text) => Some(text.as_str()),
                _ => None,
            })
        });
        Ok(Plan { request, fields, contract: endpoint.contract(), rows_at })
    }

    /// The plan of a request of the caller's own, with the records at this path of the response.
    pub fn custom(request: RequestPlan, rows: &str) -> Self {
        Plan {
            request,
            fields: Arc::default(),
            contract: Envelope::Undocumented.into(),
            rows_at: rows_at(rows),
        }
    }

    /// The records of a response.
    pub fn parse(&self, response: &HttpResponse) -> Result<Page> {
        parse_page(self.contract, &self.rows_at, response)
    }
}

/// A place whose names are separated by dots.
fn rows_at(path: &str) -> RowsAt {
    RowsAt::Path(path.split('.').map(str::to_owned).collect())
}
