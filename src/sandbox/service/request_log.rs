//! The requests that were received, for tests to look at.

use std::{collections::VecDeque, sync::Mutex};

use crate::sandbox::sync::lock;

/// How many requests are kept.
const REQUESTS_MAX: usize = 10_000;

/// A request that was received.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RecordedRequest {
    /// The HTTP method.
    pub method: String,
    /// As it was sent, without the query.
    pub path: String,
    /// As it was sent, but for secrets on the way to the OAuth endpoints.
    pub query: String,
    /// The status of the response; 0 if the connection was closed without one.
    pub status: u16,
}

/// The last 10,000 requests.
#[derive(Debug, Default)]
pub struct RequestLog(Mutex<VecDeque<RecordedRequest>>);

impl RequestLog {
    pub fn record(&self, request: RecordedRequest) {
        let mut all = lock(&self.0);
        if all.len() >= REQUESTS_MAX {
            all.pop_front();
        }
        all.push_back(request);
    }

    pub fn all(&self) -> Vec<RecordedRequest> {
        lock(&self.0).iter().cloned().collect()
    }

    pub fn clear(&self) {
        lock(&self.0).clear();
    }
}
