//! Between Python and the runtime: `block` for sync calls, `event_loop` for asyncio.
//!
//! The runtime's threads never touch the interpreter: nothing attaches to one that is going away.

use std::{future::Future, pin::pin, time::Duration};

use pyo3::{exceptions::PyStopIteration, prelude::*};
use tokio::time::timeout;

use super::{door, errors::raise, event_loop::spawn, notifier, watcher};
use crate::{
    error::{ErrorKind, Result},
    http::{Lane, Sender},
};

/// How often a blocking call looks for Ctrl-C.
pub const SIGNAL_POLL: Duration = Duration::from_millis(50);

/// How a client or pager hands out what its futures give.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Face {
    Sync,
    Async,
}

/// Makes the Python object of a finished operation.
pub type Finish<T> = Box<dyn FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send>;

impl Face {
    /// The one way to run an operation: the result itself, or an awaitable for it.
    pub fn run<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        future: impl Future<Output = Result<T>> + Send + 'static,
        finish: Finish<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run_in(py, Lane::shared, future, finish)
    }

    /// The same for a single call of a client, which starts nothing beside itself.
    pub fn call<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        sender: &Sender,
        future: impl Future<Output = Result<T>> + Send + 'static,
        finish: Finish<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run_in(py, || sender.lane(), future, finish)
    }

    fn run_in<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        lane: impl FnOnce() -> Result<Lane>,
        future: impl Future<Output = Result<T>> + Send + 'static,
        finish: Finish<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let _inside = door::stay(py);
        match self {
            Face::Sync => {
                let lane = lane().map_err(|error| raise(py, error))?;
                let value = block_in(py, lane, future, |_| Ok(()))?;
                finish(py, value).map(|object| object.into_bound(py))
            }
            Face::Async => spawn(py, future, finish),
        }
    }
}

/// Waits for a future, detached from the interpreter. Signals are handled meanwhile, and `tick`
/// is called as often as they are looked for.
pub fn block<T: Send>(
    py: Python<'_>,
    future: impl Future<Output = Result<T>> + Send,
    tick: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
) -> PyResult<T> {
    let lane = Lane::shared().map_err(|error| raise(py, error))?;
    block_in(py, lane, future, tick)
}

fn block_in<T: Send>(
    py: Python<'_>,
    lane: Lane,
    future: impl Future<Output = Result<T>> + Send,
    tick: impl Fn(Python<'_>) -> PyResult<()> + Send + Sync,
) -> PyResult<T> {
    watcher::look_at_logging(py);
    let outcome = door::detach(py, || {
        let outcome = waited(&lane, future, tick);
        lane.leave(matches!(&outcome, Ok(outcome) if is_settled(outcome)));
        outcome
    });
    let value = outcome.and_then(|outcome: Result<T>| outcome.map_err(|error| raise(py, error)))?;
    // A signal that came meanwhile is raised now, before anything counts as handed over.
    py.check_signals()?;
    Ok(value)
}

fn waited<T>(
    lane: &Lane,
    future: impl Future<Output = Result<T>>,
    tick: impl Fn(Python<'_>) -> PyResult<()>,
) -> PyResult<Result<T>> {
    let mut future = pin!(future);
    loop {
        // A signal's handler may make a call of its own, so it runs outside the runtime.
        match lane.block_on(async { timeout(SIGNAL_POLL, &mut future).await }) {
            Ok(outcome) => return Ok(outcome),
            Err(_) => door::come_in(|py| py.check_signals().and_then(|()| tick(py)))?,
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

/// An awaitable whose value is there already: no trip through the event loop.
#[pyclass(module = "boardlot._core")]
pub struct Ready(Option<PyResult<Py<PyAny>>>);

impl Ready {
    pub fn new(outcome: PyResult<Py<PyAny>>) -> Self {
        Ready(Some(outcome))
    }
}

#[pymethods]
impl Ready {
    fn __await__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&mut self) -> PyResult<Py<PyAny>> {
        match self.0.take() {
            Some(Ok(value)) => Err(PyStopIteration::new_err((value,))),
            Some(Err(error)) => Err(error),
            None => Err(PyStopIteration::new_err(())),
        }
    }
}

/// Closes the door and joins the notifier; registered with `atexit`.
#[pyfunction]
#[pyo3(name = "_shut_down")]
pub fn shut_down(py: Python<'_>) {
    door::close(py);
    notifier::close(py);
}
