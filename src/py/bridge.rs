//! Between Python and the runtime: `block` for sync calls, `event_loop` for asyncio.
//!
//! The runtime's threads never touch the interpreter: nothing attaches to one that is going away.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::Arc,
    time::Duration,
};

use pyo3::prelude::*;
use tokio::time::timeout;

use super::{
    errors::raise,
    notifier, observer,
    operation::{Operation, Slot, Start, Unreceived, Work, delivered},
    shutdown_gate,
};
use crate::{
    error::{ErrorKind, Result},
    http::{PoolSlot, Sender},
};

/// How often a blocking call looks for Ctrl-C.
pub const SIGNAL_POLL: Duration = Duration::from_millis(50);

/// How a client or pager hands out what its futures give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallMode {
    Sync,
    Async,
}

/// Makes the Python object of a finished operation.
pub type Finish<T> = Box<dyn FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send>;

impl CallMode {
    /// The one way to run an operation: the result itself, or an awaitable for it.
    pub fn run<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        call: Call<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run_in(py, PoolSlot::shared, call)
    }

    /// The same for a single call of a client, which starts nothing beside itself.
    pub fn call<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        sender: &Sender,
        call: Call<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run_in(py, || sender.slot(), call)
    }

    fn run_in<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        slot: impl FnOnce() -> Result<PoolSlot>,
        call: Call<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            CallMode::Sync => {
                let _inside = shutdown_gate::enter(py);
                let slot = slot().map_err(|error| raise(py, error))?;
                let value = block_in(py, slot, call.future, |_| Ok(()))?;
                (call.finish)(py, value).map(|object| object.into_bound(py))
            }
            CallMode::Async => Operation::awaitable(py, Box::new(call)),
        }
    }
}

/// An operation that is yet to be run.
pub struct Call<T> {
    /// The method, for messages.
    pub name: String,
    pub future: Pin<Box<dyn Future<Output = Result<T>> + Send>>,
    /// Makes the Python object, when the caller's code takes it.
    pub finish: Finish<T>,
    /// The operations that it takes turns with.
    pub unreceived: Option<Arc<Unreceived>>,
    /// The Python object that has what the core refers to weakly.
    pub owner: Option<Py<PyAny>>,
}

impl<T> Call<T> {
    pub fn new(
        name: impl Into<String>,
        future: impl Future<Output = Result<T>> + Send + 'static,
        finish: Finish<T>,
    ) -> Self {
        let future = Box::pin(future);
        Call { name: name.into(), future, finish, unreceived: None, owner: None }
    }

    /// The same, as a call of this object's.
    pub fn of<P>(mut self, owner: &Bound<'_, P>) -> Self {
        self.owner = Some(owner.clone().into_any().unbind());
        self
    }
}

impl<T: Send + 'static> Start for Call<T> {
    fn work(self: Box<Self>, py: Python<'_>, slot: &Arc<Slot>) -> PyResult<Work> {
        if let Some(unreceived) = &self.unreceived {
            unreceived.enter(py, slot)?;
        }
        Ok(Box::pin(delivered(self.future, self.finish)))
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn owner(&self) -> Option<&Py<PyAny>> {
        self.owner.as_ref()
    }
}

/// Waits for a future, detached from the interpreter. Signals are handled meanwhile, and `tick`
/// is called as often as they are looked for.
pub fn block<T: Send>(
    py: Python<'_>,
    future: impl Future<Output = Result<T>> + Send,
    tick: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
) -> PyResult<T> {
    let slot = PoolSlot::shared().map_err(|error| raise(py, error))?;
    block_in(py, slot, future, tick)
}

fn block_in<T: Send>(
    py: Python<'_>,
    slot: PoolSlot,
    future: impl Future<Output = Result<T>> + Send,
    tick: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
) -> PyResult<T> {
    observer::look_at_logging(py);
    let outcome = shutdown_gate::detach(py, || {
        let outcome = waited(&slot, future, tick);
        slot.release(matches!(&outcome, Ok(outcome) if is_settled(outcome)));
        outcome
    });
    let value = outcome.and_then(|outcome: Result<T>| outcome.map_err(|error| raise(py, error)))?;
    // A signal that came meanwhile is raised now, before anything counts as handed over.
    py.check_signals()?;
    Ok(value)
}

fn waited<T>(
    slot: &PoolSlot,
    future: impl Future<Output = Result<T>>,
    tick: impl Fn(Python<'_>) -> PyResult<()>,
) -> PyResult<Result<T>> {
    let mut future = pin!(future);
    loop {
        // A signal's handler may make a call of its own, so it runs outside the runtime.
        match slot.block_on(async { timeout(SIGNAL_POLL, &mut future).await }) {
            Ok(outcome) => return Ok(outcome),
            Err(_) => {
                shutdown_gate::with_interpreter(|py| py.check_signals().and_then(|()| tick(py)))?
            }
        }
    }
}

/// Whether nothing of it is still under way.
fn is_settled<T>(outcome: &Result<T>) -> bool {
    match outcome {
        Ok(_) => true,
        Err(error) => matches!(*error.kind, ErrorKind::Api(_) | ErrorKind::Config(_)),
    }
}

/// Closes the gate and joins the notifier; registered with `atexit`.
#[pyfunction]
#[pyo3(name = "_shut_down")]
pub fn shut_down(py: Python<'_>) {
    shutdown_gate::close(py);
    notifier::close(py);
}
