//! State that all connections share: the data, the orders of tests, and the requests that were
//! received.

use std::{
    io::{self, Write},
    sync::{Arc, Mutex},
    time::{SystemTime, UNIX_EPOCH},
};

use boardlot_service::{
    api::{EndpointRef, OAUTH_ENDPOINTS, ResponseShape, midnight},
    error::{CLOCK_OFFSET_CODE, Result},
};
use bytes::Bytes;
use http::Request;
use jiff::{Timestamp, civil::Date};

use super::{planned_failures::PlannedFailure, request_log::RequestLog};
use crate::{
    credentials::{scopes::Scopes, verify::Credentials},
    data::{Data, endpoints, rows::CustomRows},
    faults::{FaultSampler, Faults},
    lock, names,
    options::Control,
    unknown_endpoint,
    wire::envelope::Rejection,
};

/// State shared by all connections.
#[derive(Debug)]
pub struct Shared {
    pub data: Data,
    pub credentials: Credentials,
    pub clock_offset_ms: i64,
    pub requests: Mutex<RequestLog>,
    /// Planned failures, in their order.
    pub failures: Mutex<Vec<PlannedFailure>>,
    /// Rows that the user supplied, the newest last.
    pub custom: Mutex<Vec<Arc<CustomRows>>>,
    /// The lead of the service's clock over the clock that checks signatures, if the sandbox's date
    /// was fixed.
    pub date_offset_ms: i64,
    pub sampler: Mutex<FaultSampler>,
    pub control: Control,
    pub has_log: bool,
}

impl Shared {
    /// Returns the time by which credentials are checked.
    pub fn now_ms(&self) -> i64 {
        local_ms().saturating_add(self.clock_offset_ms)
    }

    /// Returns the service's time, which follows the date that was fixed.
    pub fn service_ms(&self) -> i64 {
        self.now_ms().saturating_add(self.date_offset_ms)
    }

    /// Returns the scopes of an authenticated request. If the date was fixed, a signature is
    /// accepted by either clock: a client uses its own clock until it has read the service's.
    pub fn scopes(&self, request: &Request<Bytes>) -> std::result::Result<Scopes, Rejection> {
        let checked = self.credentials.check(request, self.now_ms());
        checked.or_else(|rejection| match rejection.code {
            CLOCK_OFFSET_CODE => self.credentials.check(request, self.service_ms()),
            _ => Err(rejection),
        })
    }

    /// Adds rows, replacing those for the same requests.
    pub fn add_custom(&self, rows: CustomRows) {
        let mut custom = lock(&self.custom);
        custom.retain(|known| !rows.replaces(known));
        custom.push(Arc::new(rows));
    }

    /// Prints a line for a request; the status 0 stands for a connection that was closed without a
    /// response. The body and the headers are not shown, because they contain the secrets.
    pub fn log(&self, request: &Request<Bytes>, status: u16) {
        if self.has_log {
            let time = Timestamp::now().strftime("%Y-%m-%dT%H:%M:%S%.3fZ");
            let (method, target) = (request.method(), request.uri());
            // If the standard error was closed, nobody wants the line.
            let _ = writeln!(io::stderr(), "{time} {method} {target} {status}");
        }
    }

    /// Resets to the state of the seed.
    pub fn reset(&self) {
        let Shared { requests, credentials, failures, custom, sampler, .. } = self;
        *lock(requests) = Default::default();
        credentials.forget();
        lock(failures).clear();
        lock(custom).clear();
        let mut sampler = lock(sampler);
        *sampler = FaultSampler::new(sampler.faults.clone());
    }

    /// Replaces the generated rows of a built-in endpoint. Errors call its name by this argument.
    pub fn put(
        &self,
        argument: &str,
        name: &str,
        rows: &str,
        only: Vec<(String, String)>,
    ) -> Result<()> {
        let has_rows =
            |endpoint: &EndpointRef| matches!(endpoint.response, ResponseShape::Rows(..));
        match endpoints().filter(has_rows).find(|endpoint| endpoint.name == name) {
            Some(endpoint) => {
                let rows = CustomRows::new(endpoint, rows, only)?;
                rows.check_numbers()?;
                self.add_custom(rows);
                Ok(())
            }
            None => Err(unknown_endpoint(argument, name, names(endpoints().filter(has_rows)))),
        }
    }

    /// Fails the next requests. Planned failures come before `Faults`.
    pub fn fail_next(&self, failure: PlannedFailure) -> Result<()> {
        failure.validate()?;
        if let Some(name) = &failure.target
            && !name.starts_with('/')
        {
            let oauth = OAUTH_ENDPOINTS.iter().map(|endpoint| EndpointRef::from(*endpoint));
            let custom = self.custom();
            let custom = custom.iter().map(|rows| rows.endpoint.clone());
            let known = names(endpoints().chain(oauth).chain(custom));
            if !known.iter().any(|known| known == name) {
                return Err(unknown_endpoint("endpoint", name, known));
            }
        }
        lock(&self.failures).push(failure);
        Ok(())
    }

    /// Replaces the faults and restarts their sequence.
    pub fn set_faults(&self, faults: Faults) -> Result<()> {
        faults.validate()?;
        *lock(&self.sampler) = FaultSampler::new(faults);
        Ok(())
    }

    pub fn custom(&self) -> Vec<Arc<CustomRows>> {
        lock(&self.custom).clone()
    }
}

fn local_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Returns the lead of noon UTC of a date over the current time. A sandbox that starts at noon
/// stays on that date for half a day.
pub fn date_offset_ms(date: Date) -> i64 {
    (midnight(date) / 1_000 + 12 * 3_600_000).saturating_sub(local_ms())
}
