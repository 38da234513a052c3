//! `RequestEvent` and `ResponseEvent`, the arguments of a client's hooks.

use std::time::Duration;

use pyo3::prelude::*;

use crate::http::Event;

/// A request that is about to be sent: the argument of `Client(on_request=...)`.
#[pyclass(frozen, get_all, module = "boardlot._core")]
pub struct RequestEvent {
    /// The HTTP method.
    method: String,
    /// The path, without the query.
    path: String,
    /// 1 when a call is first sent, and one more for each retry.
    attempt: u32,
}

/// A request that has ended: the argument of `Client(on_response=...)`.
#[pyclass(frozen, get_all, module = "boardlot._core")]
pub struct ResponseEvent {
    /// The HTTP method.
    method: String,
    /// The path, without the query.
    path: String,
    /// 1 when a call is first sent, and one more for each retry.
    attempt: u32,
    /// The HTTP status; None if there was no response.
    status: Option<u16>,
    /// Seconds from sending the first byte to receiving the last.
    duration: f64,
    /// Why there was no response; None if there was one, whatever its status.
    error: Option<String>,
}

impl RequestEvent {
    pub fn new(event: &Event) -> Self {
        let Event { method, path, attempt, .. } = event.clone();
        RequestEvent { method, path, attempt }
    }
}

impl ResponseEvent {
    /// The outcome of a request: its status, or why there was no response.
    pub fn new(
        event: &Event,
        duration: Duration,
        status: Option<u16>,
        error: Option<String>,
    ) -> Self {
        let Event { method, path, attempt, .. } = event.clone();
        ResponseEvent { method, path, attempt, status, duration: duration.as_secs_f64(), error }
    }
}

#[pymethods]
impl RequestEvent {
    fn __repr__(&self) -> String {
        format!("RequestEvent({} {}, attempt {})", self.method, self.path, self.attempt)
    }
}

#[pymethods]
impl ResponseEvent {
    fn __repr__(&self) -> String {
        let outcome = match (&self.status, &self.error) {
            (Some(status), _) => status.to_string(),
            (None, Some(error)) => error.clone(),
            (None, None) => String::new(),
        };
        let Self { method, path, attempt, duration, .. } = self;
        format!("ResponseEvent({method} {path} -> {outcome}, {duration:.3} s, attempt {attempt})")
    }
}
