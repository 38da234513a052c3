//! The service as data: its endpoints with their parameters, records and errors, custom endpoints
//! from a file, and the canonical request to be signed. The client and the sandbox are derived from
//! it.
//!
//! Nothing here does I/O or knows Python.
#![warn(missing_docs)]

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
mod readme {}

pub mod api;
pub mod canonical_request;
pub mod endpoint_file;
pub mod error;
mod shown_as;
