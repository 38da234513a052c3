//! A limit of one process.

use std::sync::{Mutex, PoisonError};

use futures_util::future::BoxFuture;

use super::{
    boot_clock,
    state::{Allowance, Change, State},
    storage::{Reserved, Storage},
};
use crate::{error::Result, fork_gate, process::PerProcess};

/// The state of a limit in the memory of a process.
#[derive(Debug, Default)]
pub struct MemoryStorage(PerProcess<Mutex<State>>);

impl MemoryStorage {
    fn with_state<T>(&self, work: impl FnOnce(&mut State) -> T) -> Result<T> {
        let state = self.0.get_or_make(|| Ok(Mutex::default()))?;
        Ok(fork_gate::pass(|| work(&mut state.lock().unwrap_or_else(PoisonError::into_inner))))
    }
}

impl Storage for MemoryStorage {
    fn change(&self, change: Change, allowance: Allowance) -> BoxFuture<'_, Result<Reserved>> {
        Box::pin(async move {
            self.with_state(|state| {
                let send_at = state.apply(change, allowance, boot_clock::now());
                Reserved { send_at, state: *state }
            })
        })
    }

    fn try_change(&self, change: Change, allowance: Allowance) -> Result<Option<Reserved>> {
        self.with_state(|state| {
            let send_at = state.apply(change, allowance, boot_clock::now());
            Some(Reserved { send_at, state: *state })
        })
    }

    fn known(&self) -> Option<State> {
        self.with_state(|state| *state).ok()
    }
}
