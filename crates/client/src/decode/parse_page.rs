//! The page of records in a response.

use ::http::Response;
use bytes::Bytes;

use super::{
    envelope::success_members,
    json::is_too_deep,
    records::{Page, check_utf8, find_page, scan},
    rules::{is_success, may_be_bare_list},
};
use crate::{
    api::{Contract, Envelope, RecordsLocation},
    error::{Error, ErrorKind, Result},
};

/// Returns the records of a successful response, or the error that it reports.
pub fn parse_page(
    contract: impl Into<Contract>,
    at: &RecordsLocation,
    response: &Response<Bytes>,
) -> Result<Page> {
    let contract = contract.into();
    match parse_fast_path(contract.envelope, at, response) {
        Some(page) => Ok(page),
        None => parse_slow_path(contract, at, response),
    }
}

/// Returns true if the body is a JSON array, and not an object that has the records.
fn is_list(body: &Bytes) -> bool {
    check_utf8(body).is_ok_and(|text| text.trim_start().starts_with('[') && !is_too_deep(text))
}

/// Returns the records if the scan accepts the response.
pub fn parse_fast_path(
    envelope: Envelope,
    at: &RecordsLocation,
    response: &Response<Bytes>,
) -> Option<Page> {
    if !response.status().is_success() {
        return None;
    }
    scan(response.body(), at, |value| is_success(envelope, value))
}

/// Parses through serde the responses that the scan does not accept. The tests compare the two.
pub fn parse_slow_path(
    contract: impl Into<Contract>,
    at: &RecordsLocation,
    response: &Response<Bytes>,
) -> Result<Page> {
    let contract = contract.into();
    let is_list = may_be_bare_list(contract.envelope)
        && response.status().is_success()
        && is_list(response.body());
    let top = if is_list { Ok(Vec::new()) } else { success_members(contract, response) };
    let page = top.and_then(|top| find_page(response.body(), &top, at));
    page.map_err(|error| match contract.envelope {
        Envelope::Unknown => undocumented(error),
        _ => error,
    })
}

/// Converts the error of a response in none of the supported forms, if no form is documented for
/// it.
fn undocumented(error: Error) -> Error {
    match error.kind.as_ref() {
        ErrorKind::Protocol { .. } => error.with_advice(UNDOCUMENTED),
        _ => error,
    }
}

const UNDOCUMENTED: &str = "The service's documentation does not show this response: `client.request` \
                            returns it unchanged. If the service did not send it, check the base URL, and \
                            that no proxy or login page responds in the service's place.";
