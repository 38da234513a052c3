//! The client, its options, endpoints, responses and cassettes.

pub mod cassette;
pub mod client_core;
pub mod client_options;
pub mod connect_options;
pub mod endpoint;
pub mod endpoint_arguments;
mod limit_database;
pub mod many_keys;
pub mod options;
pub mod paging;
pub mod rate_limit;
pub mod response;
pub mod stored_records;
pub mod time_range;
