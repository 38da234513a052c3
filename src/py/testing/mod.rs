//! Tools for tests: the sandbox, and responses from bytes.

#[cfg(feature = "sandbox")]
pub mod recorded_request;
pub mod response_bodies;
#[cfg(feature = "sandbox")]
pub mod sandbox;
#[cfg(feature = "sandbox")]
pub mod sandbox_rows;
