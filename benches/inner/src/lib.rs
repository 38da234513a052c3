//! Nothing: the benches are in `inner.rs`.
