//! The requests that were received, for tests to inspect.

use std::collections::VecDeque;

use serde::Serialize;

/// Number of requests that are kept.
const REQUESTS_MAX: usize = 10_000;

/// A request that was received.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RecordedRequest {
    /// The HTTP method.
    pub method: String,
    /// The path as it was sent, without the query.
    pub path: String,
    /// The query as it was sent, without the question mark.
    pub query: String,
    /// The status of the response; 0 if the connection was closed without one.
    pub status: u16,
}

/// The last 10,000 requests.
#[derive(Debug, Default)]
pub struct RequestLog {
    pub last: VecDeque<RecordedRequest>,
    /// Number of all requests, including requests that are no longer kept.
    pub count: u64,
}

impl RequestLog {
    pub fn record(&mut self, request: RecordedRequest) {
        if self.last.len() >= REQUESTS_MAX {
            self.last.pop_front();
        }
        self.last.push_back(request);
        self.count += 1;
    }
}
