//! The server: from a connection to the handler of an endpoint.

pub mod handlers;
pub mod planned_failures;
pub mod request_log;
pub mod routes;
pub mod server;
