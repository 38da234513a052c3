//! Waiting for a future on the calling thread, detached from the interpreter.

use std::{cell::RefCell, future::Future, pin::Pin, time::Duration};

use crate::prelude::*;
use crate::{
    hooks::{logging, observer},
    interpreter::{attachment, callback, thread_end},
};
use boardlot_client::extension::{error::ErrorKind, http::PoolSlot, os::origin::on_behalf_of};

/// The interval at which a thread that waits checks for signals such as Ctrl-C.
pub const SIGNAL_POLL: Duration = Duration::from_millis(50);

thread_local! {
    /// The function that blocking calls on this thread call each time they have checked for
    /// signals.
    static POLL: RefCell<Option<Py<PyAny>>> = const { RefCell::new(None) };
}

/// Calls a function. Calls of a client that block in it call `poll` meanwhile, and end with its
/// exception.
#[pyfunction]
#[pyo3(name = "_polled")]
pub fn polled<'py>(
    function: &Bound<'py, PyAny>,
    poll: Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    let before = POLL.replace(Some(poll.unbind()));
    let returned = function.invoke(());
    POLL.set(before);
    returned
}

fn poll(py: Python<'_>) -> PyResult<()> {
    let poll = POLL.with_borrow(|poll| poll.as_ref().map(|poll| poll.clone_ref(py)));
    poll.map_or(Ok(()), |poll| poll.bind(py).invoke(()).map(drop))
}

/// Waits for a future on the shared runtime. Signals are handled meanwhile.
pub fn block<T: Send>(
    py: Python<'_>,
    future: impl Future<Output = Result<T>> + Send,
) -> PyResult<T> {
    block_in(py, PoolSlot::shared, future, |_| Ok(()))
}

/// Waits for a future in a slot of the blocking pool, which is taken once the thread is detached.
/// `on_poll` is called after each check for signals.
pub fn block_in<T: Send>(
    py: Python<'_>,
    slot: impl FnOnce() -> Result<PoolSlot> + Send,
    future: impl Future<Output = Result<T>> + Send,
    on_poll: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
) -> PyResult<T> {
    thread_end::register();
    logging::refresh_levels(py)?;
    let future = on_behalf_of(observer::origin(py)?, future);
    let (mut outcome, mut slot) = (None, Some(slot));
    let waited = {
        let mut take = || slot.take().map_or_else(PoolSlot::shared, |slot| slot());
        // Pinned on the heap: if CPython ends a thread without unwinding, the thread's stack is
        // freed, and the runtime's threads may still refer to the future.
        let mut future = Box::pin(async { outcome = Some(future.await) });
        wait(py, &mut take, future.as_mut(), &on_poll)?
    };
    match waited {
        Ok(slot) => slot.release(outcome.as_ref().is_some_and(left_nothing_running)),
        Err(error) => outcome = Some(Err(error)),
    }
    let outcome = outcome.unwrap_or_else(|| Err(Error::internal("the call has no outcome")));
    let value = outcome.or_raise(py)?;
    // A signal that arrived meanwhile is raised now, before anything counts as received.
    callback::check_signals(py)?;
    Ok(value)
}

/// Waits until a future is ready, in a slot that is taken once the thread is detached. Not generic:
/// the copies for the futures of all calls made up over one percent of the wheel.
///
/// A signal handler may make a call of its own, so it runs outside the runtime. To run the handler,
/// this thread attaches again in the same way as before, as it may be a thread whose Python state
/// is being removed.
fn wait(
    py: Python<'_>,
    slot: &mut (dyn FnMut() -> Result<PoolSlot> + Send),
    mut future: Pin<&mut (dyn Future<Output = ()> + Send)>,
    on_poll: &dyn Fn(Python<'_>) -> PyResult<()>,
) -> PyResult<Result<PoolSlot>> {
    let taken = py.detach(|| {
        let mut slot = slot()?;
        let is_ready = slot.wait(SIGNAL_POLL, &mut future).is_some();
        Ok((slot, is_ready))
    });
    let (mut slot, mut is_ready) = match taken {
        Ok(taken) => taken,
        Err(error) => return Ok(Err(error)),
    };
    while !is_ready {
        let polled =
            || callback::check_signals(py).and_then(|()| poll(py)).and_then(|()| on_poll(py));
        if let Err(error) = attachment::in_interrupted_call(polled) {
            slot.release(false);
            return Err(error);
        }
        is_ready = py.detach(|| slot.wait(SIGNAL_POLL, &mut future).is_some());
    }
    Ok(Ok(slot))
}

/// Returns true if the call left nothing behind that is still running.
fn left_nothing_running<T>(outcome: &Result<T>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(error) => matches!(*error.kind, ErrorKind::Api(_) | ErrorKind::Config(_)),
    }
}
