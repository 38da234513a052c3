//! Tools for tests: the sandbox, and responses from bytes.

pub mod description;
pub mod recorded_request;
pub mod response_bodies;
pub mod sandbox;
pub mod sandbox_rows;
