//! Requests and responses as bytes: arguments, envelopes and pages.

pub mod arguments;
pub mod envelope;
pub mod http_response;
pub mod paging;
