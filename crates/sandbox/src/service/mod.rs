//! The server: from a connection to the data of an endpoint.

pub mod control;
pub mod planned_failures;
pub mod request_log;
pub mod routes;
pub mod server;
pub mod state;
