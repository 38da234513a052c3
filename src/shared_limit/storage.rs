//! Where the state of a limit is stored, so that all who share it read and change the same.

use std::{fmt, path::Path};

use futures_util::future::BoxFuture;

use super::state::{Allowance, Change, State};
use crate::error::Result;

/// Where the state of a limit is stored.
pub trait Storage: fmt::Debug + Send + Sync {
    /// Makes a change.
    fn change(&self, change: Change, allowance: Allowance) -> BoxFuture<'_, Result<Reserved>>;

    /// Makes a change if that needs no wait.
    fn try_change(&self, _change: Change, _allowance: Allowance) -> Result<Option<Reserved>> {
        Ok(None)
    }

    /// What is known without waiting.
    fn known(&self) -> Option<State>;

    /// The file.
    fn place(&self) -> Option<&Path> {
        None
    }
}

/// A reserved time, by the boot clock of this machine, and the state in which that left the limit.
#[derive(Debug, Clone, Copy)]
pub struct Reserved {
    /// When the request is to be sent.
    pub send_at: u64,
    /// The state, by the same clock.
    pub state: State,
}
