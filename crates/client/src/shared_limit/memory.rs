//! A limit of one process.

use std::{
    future::ready,
    sync::{Mutex, PoisonError},
};

use futures_util::future::BoxFuture;

use super::{
    boot_clock,
    state::{Allowance, Change, State},
    storage::{Reserved, Storage},
};
use crate::error::Result;

/// The state of a limit in the memory of a process.
#[derive(Debug, Default)]
pub struct MemoryStorage(Mutex<State>);

impl MemoryStorage {
    fn with_state<T>(&self, work: impl FnOnce(&mut State, u64) -> T) -> T {
        work(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner), boot_clock::now())
    }
}

impl Storage for MemoryStorage {
    fn change(&self, change: Change, allowance: Allowance) -> BoxFuture<'_, Result<Reserved>> {
        Box::pin(ready(Ok(self.with_state(|state, now| {
            let send_at = state.apply(change, allowance, now);
            Reserved { send_at, held_until: state.held_until }
        }))))
    }

    fn known(&self) -> Option<(State, u64)> {
        Some(self.with_state(|state, now| (*state, now)))
    }
}
