//! Arguments of Python callers, checked.

pub mod caller_arguments;
pub mod connect_options;
mod numbers;
pub mod request_arguments;
pub mod wrong_call;
