//! Waiting for a future on the calling thread, detached from the interpreter.

use std::{future::Future, pin::pin, time::Duration};

use pyo3::prelude::*;
use tokio::time::timeout;

use super::{errors::raise, logging, observer, shutdown_gate};
use crate::{
    error::{ErrorKind, Result},
    http::PoolSlot,
    process::on_behalf_of,
};

/// How often a thread that waits checks for signals such as Ctrl-C.
pub const SIGNAL_POLL: Duration = Duration::from_millis(50);

/// Waits for a future on the shared runtime. Signals are handled meanwhile.
pub fn block<T: Send>(
    py: Python<'_>,
    future: impl Future<Output = Result<T>> + Send,
) -> PyResult<T> {
    block_polling(py, future, |_| Ok(()))
}

/// The same; `on_poll` is called each time that signals were checked.
pub fn block_polling<T: Send>(
    py: Python<'_>,
    future: impl Future<Output = Result<T>> + Send,
    on_poll: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
) -> PyResult<T> {
    let slot = PoolSlot::shared().map_err(|error| raise(py, error))?;
    block_in(py, slot, future, on_poll)
}

/// The same in this slot of the blocking pool.
pub fn block_in<T: Send>(
    py: Python<'_>,
    slot: PoolSlot,
    future: impl Future<Output = Result<T>> + Send,
    on_poll: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
) -> PyResult<T> {
    logging::refresh_levels(py);
    let future = on_behalf_of(observer::caller(py)?, future);
    let outcome = shutdown_gate::detach(py, || {
        let outcome = poll_until_ready(&slot, future, on_poll);
        slot.release(matches!(&outcome, Ok(outcome) if is_settled(outcome)));
        outcome
    });
    let value = outcome.and_then(|outcome: Result<T>| outcome.map_err(|error| raise(py, error)))?;
    // A signal that arrived meanwhile is raised now, before anything counts as received.
    py.check_signals()?;
    Ok(value)
}

fn poll_until_ready<T>(
    slot: &PoolSlot,
    future: impl Future<Output = Result<T>>,
    on_poll: impl Fn(Python<'_>) -> PyResult<()>,
) -> PyResult<Result<T>> {
    let mut future = pin!(future);
    loop {
        // A signal handler may make a call of its own, so it runs outside the runtime.
        match slot.block_on(async { timeout(SIGNAL_POLL, &mut future).await }) {
            Ok(outcome) => return Ok(outcome),
            Err(_) => {
                shutdown_gate::with_interpreter(|py| py.check_signals().and_then(|()| on_poll(py)))?
            }
        }
    }
}

/// Whether the call left nothing behind that is still running.
fn is_settled<T>(outcome: &Result<T>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(error) => matches!(*error.kind, ErrorKind::Api(_) | ErrorKind::Config(_)),
    }
}
