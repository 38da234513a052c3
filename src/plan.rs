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
    pub fields: Arc<[&'static Field]>,
    contract: Contract,
    rows_at: RowsAt,
}

impl Plan {
    /// The plan of an endpoint, its arguments checked.
    pub fn new(endpoint: &'static Endpoint, arguments: &[(&str, Argument)]) -> Result<Self> {
        let request = RequestPlan::new(endpoint, arguments)?;
        let ResponseShape::Rows(place, schema) = endpoint.answer else {
            return Err(Error::config(format!("{} does not return records", endpoint.name)));
        };
        let rows_at = match place {
            RowsPlace::At(path) => RowsAt::Path(path.iter().map(|&name| name.to_owned()).collect()),
            RowsPlace::OnlyListOf(name) => RowsAt::OnlyListOf(name.to_owned()),
        };
        let record = schema.choose(|name| {
            arguments.iter().find(|(n, _)| *n == name).and_then(|(_, argument)| match argument {
                Argument::Text(text) => Some(text.as_str()),
                _ => None,
            })
        });
        let fields = record.map(|record| record.fields().collect()).unwrap_or_default();
        Ok(Plan { request, fields, contract: endpoint.contract(), rows_at })
    }

    /// The plan of a request of the caller's own, with the records at this path of the response.
    pub fn custom(request: RequestPlan, rows: &str) -> Self {
        Plan {
            request,
            fields: Arc::default(),
            contract: Envelope::Undocumented.into(),
            rows_at: RowsAt::Path(rows.split('.').map(str::to_owned).collect()),
        }
    }

    /// The records of a response.
    pub fn parse(&self, response: &HttpResponse) -> Result<Page> {
        parse_page(self.contract, &self.rows_at, response)
    }
}
