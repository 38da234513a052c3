//! Limits concurrent requests for windows that the caller did not ask for: few at first, and one
//! after the first failure.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use tokio::sync::Notify;

use crate::error::{Error, Result};

/// Allows one request at first; each response allows one more at a time, up to a limit. After the
/// first attempt that fails in any way, the rest of the list is read with one request at a time:
/// every service that one cursor can read permits the requests of one cursor. After a request that
/// fails for good, no further request begins, and the ones that were sent end.
#[derive(Debug)]
pub struct Pace {
    most: usize,
    state: Mutex<State>,
    changed: Notify,
}

#[derive(Debug)]
struct State {
    responses: usize,
    in_flight: usize,
    is_stopped: bool,
}

/// The turn of a request. If it ends without an accepted response, it is the last one.
pub struct Turn<'a> {
    pace: &'a Pace,
    pub is_accepted: bool,
}

impl Pace {
    /// Creates the pace after this many responses.
    pub fn after(responses: usize, most: usize) -> Self {
        let state = Mutex::new(State { responses, in_flight: 0, is_stopped: false });
        Pace { most, state, changed: Notify::new() }
    }

    /// Waits until a request may be sent. `failed_attempts` counts the failed attempts of the list.
    pub async fn turn(&self, failed_attempts: &AtomicU64) -> Result<Turn<'_>> {
        loop {
            let mut changed = std::pin::pin!(self.changed.notified());
            changed.as_mut().enable();
            if self.begin(failed_attempts.load(Ordering::Relaxed) > 0)? {
                return Ok(Turn { pace: self, is_accepted: false });
            }
            changed.await;
        }
    }

    fn begin(&self, has_failed: bool) -> Result<bool> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if state.is_stopped {
            return Err(Error::aborted(&"another window has failed"));
        }
        let allowed = if has_failed { 1 } else { (1 + state.responses).min(self.most) };
        let begins = state.in_flight < allowed;
        state.in_flight += usize::from(begins);
        Ok(begins)
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut state = self.pace.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.in_flight -= 1;
        state.responses += usize::from(self.is_accepted);
        state.is_stopped |= !self.is_accepted;
        drop(state);
        self.pace.changed.notify_waiters();
    }
}
