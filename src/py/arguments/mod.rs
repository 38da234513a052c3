//! Arguments of Python callers, checked.

pub mod caller_arguments;
pub mod request_arguments;
