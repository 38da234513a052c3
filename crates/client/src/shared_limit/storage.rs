//! Storage for the state of a limit, so that all who share the limit read and change the same
//! state.

use std::fmt;

use futures_util::future::BoxFuture;

use super::state::{Allowance, Change, State};
use crate::error::Result;

/// Storage for the state of a limit.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Makes a change.
    fn change(&self, change: Change, allowance: Allowance) -> BoxFuture<'_, Result<Reserved>>;

    /// Returns the state known without waiting, and the current time of its clock.
    fn known(&self) -> Option<(State, u64)>;

    /// Describes the processes that share the limit, for people.
    fn users(&self) -> &'static str {
        "all who use its storage"
    }
}

/// A reserved time, by the boot clock of this machine, and the time until which nothing is sent.
#[derive(Debug, Clone, Copy)]
pub struct Reserved {
    /// The time at which the request is to be sent.
    pub send_at: u64,
    /// See [`State::held_until`].
    pub held_until: u64,
}
