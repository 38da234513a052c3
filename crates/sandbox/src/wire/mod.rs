//! Requests and responses as bytes: the connection, arguments, envelopes and cursors.

pub mod arguments;
pub mod connection;
pub mod cursor;
pub mod envelope;
pub mod http_response;
pub mod paging;
