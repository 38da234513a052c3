//! Arguments of Python callers, checked.

pub mod arguments;
pub mod request_arguments;
