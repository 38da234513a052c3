//! The requests that were received, for tests to look at.

use std::{collections::VecDeque, sync::Mutex};

use crate::lock;

/// The number of requests that are kept.
const REQUESTS_MAX: usize = 10_000;

/// A request that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
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
pub struct RequestLog(Mutex<Received>);

#[derive(Debug, Default)]
struct Received {
    last: VecDeque<RecordedRequest>,
    /// The number of all requests, also of those that are no longer kept.
    count: u64,
}

impl RequestLog {
    pub fn record(&self, request: RecordedRequest) {
        let mut received = lock(&self.0);
        if received.last.len() >= REQUESTS_MAX {
            received.last.pop_front();
        }
        received.last.push_back(request);
        received.count += 1;
    }

    pub fn all(&self) -> Vec<RecordedRequest> {
        lock(&self.0).last.iter().cloned().collect()
    }

    pub fn count(&self) -> u64 {
        lock(&self.0).count
    }

    pub fn clear(&self) {
        *lock(&self.0) = Received::default();
    }
}
