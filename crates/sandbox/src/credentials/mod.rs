//! What authorizes a request: keys and their signatures, tokens and their scopes.

pub mod hashed_store;
pub mod keys;
pub mod proof_key;
pub mod scopes;
pub mod tokens;
pub mod verify;
