//! Failures that a test orders for its next requests.

use boardlot_service::error::{Error, Result};
use http::StatusCode;

use super::routes::RouteMatch;
use crate::wire::{envelope::Rejection, http_response::HttpResponse};

/// The failure of the next requests.
#[derive(Clone, Debug)]
pub struct PlannedFailure {
    /// The name of an endpoint or a path, beginning with `/`, whose requests fail; `None` for any.
    pub target: Option<String>,
    /// The number of failures; `None` for all until the sandbox is reset.
    pub times: Option<u64>,
    /// The HTTP status of the response; 0 closes the connection without one.
    pub status: u16,
    /// The code in the endpoint's own envelope. Without it, the response does not come from the
    /// endpoint.
    pub code: Option<i64>,
    /// The message.
    pub message: Option<String>,
}

impl PlannedFailure {
    /// Checks that the values are in range.
    pub(crate) fn validate(&self) -> Result<()> {
        let is_failure = match self.status {
            0 | 400..=599 => true,
            200 => self.code.is_some(),
            _ => false,
        };
        if !is_failure {
            let expected = "an HTTP status from 400 to 599, 0 to close the connection, or 200 with a \
                            code other than 0";
            return Err(Error::argument("status", &self.status.to_string(), expected));
        }
        if self.code == Some(0) {
            return Err(Error::argument("code", "0, which is a success", "another integer"));
        }
        if self.times == Some(0) {
            return Err(Error::argument("times", "0", "an integer from 1, or None"));
        }
        Ok(())
    }

    /// Returns the response; `None` if the connection is closed without one.
    pub(crate) fn response(&self, found: &RouteMatch) -> Option<HttpResponse> {
        let status = StatusCode::from_u16(self.status).ok().filter(|status| status.as_u16() > 0)?;
        let message = self.message.as_deref().unwrap_or("a failure that the test planned");
        let (RouteMatch::Route(endpoint, _), Some(code)) = (found, self.code) else {
            return Some(HttpResponse::plain(status, message));
        };
        let documented = endpoint.failures.iter().find(|failure| failure.code == code);
        let named = documented.map(|failure| failure.error_code).filter(|name| !name.is_empty());
        let error_code = named.unwrap_or("planned");
        let rejection = Rejection::new(code, error_code, message);
        Some(HttpResponse::json(status, rejection.body(endpoint.envelope)))
    }
}

/// Returns the failure of this request, and counts it.
pub fn next_failure(
    planned: &mut Vec<PlannedFailure>,
    found: &RouteMatch,
    path: &str,
) -> Option<PlannedFailure> {
    let name = match found {
        RouteMatch::Route(endpoint, _) => Some(endpoint.name.as_ref()),
        RouteMatch::OAuth(route) => Some(route.endpoint.name.as_ref()),
        RouteMatch::Own(_) | RouteMatch::Nothing => None,
    };
    let is_meant = |target: &str| Some(target) == name || target == path;
    let index = planned.iter().position(|one| one.target.as_deref().is_none_or(is_meant))?;
    let failure = planned.get_mut(index)?;
    match &mut failure.times {
        Some(1) => return Some(planned.remove(index)),
        Some(times) => *times -= 1,
        None => {}
    }
    Some(failure.clone())
}
