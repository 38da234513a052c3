//! Arguments of Python callers, checked.

pub mod caller_arguments;
mod numbers;
pub mod request_arguments;
