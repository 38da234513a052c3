//! Authorization of requests: keys and their signatures, tokens and their scopes.

pub mod keys;
pub mod scopes;
pub mod tokens;
pub mod verify;
