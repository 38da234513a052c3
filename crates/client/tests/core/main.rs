//! Tests of the core from outside: the generated files, logins and positions.

#![allow(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::string_slice,
    clippy::unwrap_used,
    reason = "a test may panic"
)]

mod checkpoints;
mod clock;
mod date_ranges;
mod default_windows;
mod exceptions;
mod listings;
mod logins;
mod moving_service;
mod positions;
mod public_names;
mod reading;
mod record_streams;
mod refresh_outcomes;
mod runtimes;
mod scripted;
mod tokens;
mod windows;
