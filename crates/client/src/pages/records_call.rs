//! A call that returns records: its request, and how to read the response.

use std::sync::Arc;

use crate::{
    api::{
        Argument, Contract, Endpoint, Envelope, Field, NEXT_KEY, PAGE_FLAG, RecordsLocation,
        ResponseShape,
    },
    decode::{Page, parse_page},
    error::{Advice, Error, Result},
    http::{HttpResponse, RequestPlan},
};

/// A call that returns records: its checked request, and the location and fields of the records in
/// responses.
#[derive(Debug)]
pub struct RecordsCall {
    /// The request to send.
    pub request: RequestPlan,
    /// The fields that the records can have.
    pub fields: Arc<[Field]>,
    contract: Contract,
    location: RecordsLocation,
}

impl RecordsCall {
    /// Creates a call of an endpoint and checks its arguments.
    pub fn new<N: AsRef<str>>(endpoint: &Endpoint, arguments: &[(N, Argument)]) -> Result<Self> {
        let request = RequestPlan::new(endpoint, arguments)?;
        let ResponseShape::Rows(location, schema) = &endpoint.response else {
            return Err(Error::config(format!("{} does not return records", endpoint.name)));
        };
        let fields = schema.choose(|name| {
            arguments.iter().find(|(n, _)| n.as_ref() == name).and_then(|(_, argument)| {
                match argument {
                    Argument::Text(text) => Some(text.as_str()),
                    _ => None,
                }
            })
        });
        let (contract, location) = (endpoint.contract(), location.clone());
        Ok(RecordsCall { request, fields, contract, location })
    }

    /// Creates a custom request, with the records at this path of the response.
    pub fn custom(request: RequestPlan, rows: &str) -> Self {
        RecordsCall {
            request,
            fields: Arc::default(),
            contract: Envelope::Undocumented.into(),
            location: RecordsLocation::At(rows.to_owned().into()),
        }
    }

    #[cfg(test)]
    pub(crate) fn of_location(
        request: RequestPlan,
        contract: Contract,
        location: RecordsLocation,
    ) -> Self {
        RecordsCall { request, fields: Arc::default(), contract, location }
    }

    /// Returns the records of a response.
    pub fn parse(&self, response: &HttpResponse) -> Result<Page> {
        parse_page(self.contract, &self.location, response)
    }

    /// Returns the records of the only response of a call. If the response has only the beginning
    /// of a list, that is an error, so that it is never taken for the whole list.
    pub fn parse_whole(&self, response: &HttpResponse) -> Result<Page> {
        let page = self.parse(response)?;
        let Some(signal) = page.says_more() else { return Ok(page) };
        let advice = Advice::MorePages {
            method: self.request.method.to_string(),
            path: self.request.path.clone(),
            cursor: match signal == PAGE_FLAG.end.0 {
                true => Some(PAGE_FLAG.name),
                // A list of days, for example, has no cursor in its response.
                false => page.pagination(NEXT_KEY.name).and(Some(NEXT_KEY.name)),
            },
            rows: match &self.location {
                RecordsLocation::At(path) => Some(path.to_string()),
                RecordsLocation::OnlyListOf(_) | RecordsLocation::OnlyList => None,
            },
        };
        let message = format!(
            "{signal} says that more records follow this response, and this call reads one response"
        );
        Err(Error::pagination(message).with_advice(advice))
    }
}
