//! Requests and responses as bytes: arguments, envelopes and cursors.

pub mod arguments;
pub mod cursor;
pub mod envelope;
pub mod http_response;
pub mod paging;
