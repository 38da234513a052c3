//! Waiting for a future on the calling thread, detached from the interpreter.

use std::{
    future::Future,
    pin::{Pin, pin},
    time::Duration,
};

use pyo3::prelude::*;

use super::{errors::raise, logging, observer, shutdown_gate};
use crate::{
    error::{Error, ErrorKind, Result},
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
    block_in(py, PoolSlot::shared, future, on_poll)
}

/// The same in a slot of the blocking pool, which is taken once the thread is detached.
pub fn block_in<T: Send>(
    py: Python<'_>,
    slot: impl FnOnce() -> Result<PoolSlot> + Send,
    future: impl Future<Output = Result<T>> + Send,
    on_poll: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
) -> PyResult<T> {
    logging::refresh_levels(py);
    let future = on_behalf_of(observer::origin(py)?, future);
    let outcome = shutdown_gate::detach(py, || {
        let mut slot = match slot() {
            Ok(slot) => slot,
            Err(error) => return Ok(Some(Err(error))),
        };
        let mut outcome = None;
        let waited = {
            let future = pin!(async { outcome = Some(future.await) });
            wait(&mut slot, future, &on_poll)
        };
        slot.release(outcome.as_ref().is_some_and(is_settled));
        waited.map(|()| outcome)
    })?;
    let outcome = outcome.unwrap_or_else(|| Err(Error::config("the call has no outcome")));
    let value = outcome.map_err(|error| raise(py, error))?;
    // A signal that arrived meanwhile is raised now, before anything counts as received.
    py.check_signals()?;
    Ok(value)
}

/// Waits until a future is ready. Not generic: copies for the futures of all calls were over one percent
/// of the wheel.
fn wait(
    slot: &mut PoolSlot,
    mut future: Pin<&mut (dyn Future<Output = ()> + Send)>,
    on_poll: &dyn Fn(Python<'_>) -> PyResult<()>,
) -> PyResult<()> {
    // A signal handler may make a call of its own, so it runs outside the runtime.
    while slot.wait(SIGNAL_POLL, &mut future).is_none() {
        shutdown_gate::with_interpreter(|py| py.check_signals().and_then(|()| on_poll(py)))?;
    }
    Ok(())
}

/// Whether the call left nothing behind that is still running.
fn is_settled<T>(outcome: &Result<T>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(error) => matches!(*error.kind, ErrorKind::Api(_) | ErrorKind::Config(_)),
    }
}
