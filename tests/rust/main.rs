//! Tests of the core from outside: the import arrows, the generated files, logins and positions.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod arrows;
mod checkpoints;
mod claims;
#[cfg(feature = "sandbox")]
mod clock;
mod date_ranges;
mod exceptions;
mod file_cycles;
mod gate;
mod generated;
mod imports;
mod listings;
mod logins;
mod moving_service;
mod positions;
mod reading;
mod refresh_outcomes;
mod scripted;
mod tokens;
mod windows;
