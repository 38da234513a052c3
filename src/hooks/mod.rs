//! Observation of requests by callers: hooks and log records.

pub mod logging;
pub mod observer;
pub mod request_events;
