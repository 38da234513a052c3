//! The awaitable of an async method: it starts at the first `await`, and its result is made when the
//! awaiting code resumes.
//!
//! Between the moment when the event loop is woken and the moment when the awaiting code resumes, the
//! task can be cancelled, for example by a deadline that falls into the same iteration of the loop. So
//! a finished operation only wakes the loop. Its outcome stays in a channel until the awaiting
//! code resumes; if it is dropped there, nothing has been received.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use pyo3::exceptions::{
    PyAttributeError, PyRuntimeError, PyRuntimeWarning, PyStopAsyncIteration, PyStopIteration,
    PyTypeError,
};
use tokio::{
    sync::oneshot::{self, error::TryRecvError},
    task::AbortHandle,
};

use super::{
    completion::{Completed, CompletionGuard, PythonResult, Startable},
    event_loop::{CompletionQueue, running_loop},
};
use crate::prelude::*;
use crate::{
    hooks::{logging, observer},
    interpreter::callback::no_stop_iteration,
};
use boardlot_client::os::{origin::on_behalf_of, runtime::runtime};

/// An awaitable that can be awaited once. Cancelling or dropping it cancels the operation.
#[pyclass(frozen, module = "boardlot._core")]
pub struct Operation(Mutex<State>, IsAwaited);

/// Whether its `__await__` was called: only then it is an iterator.
type IsAwaited = AtomicBool;

/// The state, as of a coroutine: see `inspect.getcoroutinestate`.
enum State {
    Created(Box<dyn Startable>),
    Suspended {
        queue: Arc<CompletionQueue>,
        /// The number of the asyncio future that the task waits for.
        waiter: u64,
        completion: oneshot::Receiver<PythonResult>,
        task: AbortHandle,
        owner: Option<Py<PyAny>>,
    },
    Closed,
}

impl State {
    /// Ends the work. Returns the future that the task waits for.
    fn cancel(self) -> Option<Py<PyAny>> {
        let State::Suspended { queue, waiter, completion, task, .. } = self else { return None };
        drop(completion);
        task.abort();
        queue.remove(waiter)
    }
}

impl Operation {
    pub fn awaitable(py: Python<'_>, operation: Box<dyn Startable>) -> PyResult<Bound<'_, PyAny>> {
        Ok(Bound::new(py, Operation(Mutex::new(State::Created(operation)), IsAwaited::new(false)))?
            .into_any())
    }

    /// A hint for a caller that uses the awaitable as if it were its result.
    fn forgotten(&self) -> String {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Created(operation) => {
                let name = operation.name();
                format!(
                    "{name} returns an awaitable; write `await` before the call, and parentheses around both"
                )
            }
            State::Suspended { .. } | State::Closed => "its result is what `await` returned".into(),
        }
    }

    fn no_result(&self) -> PyErr {
        PyTypeError::new_err(format!("this is no result yet: {}", self.forgotten()))
    }

    /// Python code never runs under this lock.
    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), state)
    }

    /// Spawns the work, unless the result is available, and returns the future to wait for.
    fn start(&self, py: Python<'_>, operation: Box<dyn Startable>) -> PyResult<Step> {
        if let Some(value) = operation.try_ready(py)? {
            return Ok(Step::Returned(value));
        }
        let event_loop = running_loop(py)?;
        let runtime = runtime().or_raise(py)?;
        logging::refresh_levels(py)?;
        let queue = CompletionQueue::of(&event_loop)?;
        let future = event_loop.invoke_method(intern!(py, "create_future"), ())?;
        // As `await` on an asyncio future does, so that the task accepts it from `__next__`.
        future.setattr(intern!(py, "_asyncio_future_blocking"), true)?;
        let (outcome, completion) = oneshot::channel();
        let owner = operation.owner().map(|owner| owner.clone_ref(py));
        let work = on_behalf_of(observer::origin(py)?, operation.start(py)?);
        let waiter = queue.add(future.clone().unbind());
        let guard = CompletionGuard { queue: queue.clone(), waiting: Some((waiter, outcome)) };
        let task = runtime.spawn(async move { guard.finish(work.await) }).abort_handle();
        self.replace(State::Suspended { queue, waiter, completion, task, owner });
        Ok(Step::Waits(future.unbind()))
    }

    /// The next step of the awaiting code, in the protocol of iterators.
    fn step(&self, py: Python<'_>) -> PyResult<Step> {
        match self.replace(State::Closed) {
            State::Created(operation) => self.start(py, operation),
            State::Suspended { mut completion, owner, queue, waiter, .. } => {
                let _owner = owner;
                let outcome = completion.try_recv().map_err(|error| match error {
                    TryRecvError::Closed => raise(py, Error::aborted(&"its task ended early")),
                    TryRecvError::Empty => {
                        drop(queue.remove(waiter));
                        let text = "await was resumed before the operation finished";
                        PyRuntimeError::new_err(text)
                    }
                })?;
                match outcome(py)? {
                    Completed::With(value) => Ok(Step::Returned(value)),
                    Completed::AtEnd => Ok(Step::AtEnd),
                    Completed::Again(operation) => self.start(py, operation),
                }
            }
            State::Closed => Err(PyRuntimeError::new_err("cannot reuse already awaited operation")),
        }
    }
}

/// The outcome of resuming an operation.
enum Step {
    /// It waits for this future.
    Waits(Py<PyAny>),
    Returned(Py<PyAny>),
    /// The iteration is at its end.
    AtEnd,
}

// The iterator that `await` uses. Returning a future of the loop with a callback that notices its
// cancellation would cost each request one more iteration of the loop.
#[gated]
impl Operation {
    fn __await__(this: Py<Self>) -> Py<Self> {
        this.get().1.store(true, Relaxed);
        this
    }

    /// First returns the future to wait for, then the result; in between another future, if somebody else
    /// received what it waited for.
    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.step(py) {
            Ok(Step::Waits(future)) => Ok(future),
            Ok(Step::Returned(value)) => Err(PyStopIteration::new_err((value,))),
            Ok(Step::AtEnd) => Err(PyStopAsyncIteration::new_err(())),
            Err(error) => Err(no_stop_iteration(py, error)),
        }
    }

    fn send(&self, py: Python<'_>, _value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.__next__(py)
    }

    /// Raises in place of the result: the task was cancelled.
    #[pyo3(signature = (kind, value = None, _traceback = None))]
    fn throw(
        &self,
        kind: Bound<'_, PyAny>,
        value: Option<Bound<'_, PyAny>>,
        _traceback: Option<Bound<'_, PyAny>>,
    ) -> PyResult<Py<PyAny>> {
        self.close(kind.py())?;
        Err(PyErr::from_value(value.unwrap_or(kind)))
    }

    fn close(&self, py: Python<'_>) -> PyResult<()> {
        if let Some(waiter) = self.replace(State::Closed).cancel() {
            // A loop that was closed raises, as it calls nobody back any more.
            let _ = waiter.bind(py).invoke_method(intern!(py, "cancel"), ());
        }
        Ok(())
    }

    /// Of the result, if the caller forgot to await it.
    fn __getattr__(&self, name: &str) -> PyResult<()> {
        let class = "'Operation' object has no attribute";
        Err(PyAttributeError::new_err(match name.starts_with('_') {
            true => format!("{class} '{name}'"),
            false => format!("{class} '{name}': {}", self.forgotten()),
        }))
    }

    #[expect(unused_variables, reason = "no item can be had of what is not there yet")]
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(self.no_result())
    }

    fn __iter__(this: Py<Self>) -> PyResult<Py<Self>> {
        if this.get().1.load(Relaxed) { Ok(this) } else { Err(this.get().no_result()) }
    }

    fn __len__(&self) -> PyResult<usize> {
        Err(self.no_result())
    }

    #[expect(clippy::unused_self, reason = "a method of the Python class")]
    fn __bool__(&self) -> bool {
        true
    }

    fn __repr__(&self) -> String {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            State::Created(operation) => format!("<operation {}, not awaited>", operation.name()),
            State::Suspended { .. } => "<operation, running>".to_owned(),
            State::Closed => "<operation, closed>".to_owned(),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // If the lock is held, a thread is using this object, so it is not garbage.
        match self.0.try_lock().as_deref() {
            Ok(State::Created(operation)) => visit.call(operation.owner()),
            Ok(State::Suspended { owner, .. }) => visit.call(owner),
            _ => Ok(()),
        }
    }

    fn __clear__(&self) {
        drop(self.replace(State::Closed).cancel());
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        let state = self.0.get_mut().unwrap_or_else(PoisonError::into_inner);
        match std::mem::replace(state, State::Closed) {
            State::Created(operation) => warn_never_awaited(&operation.name()),
            state => drop(state.cancel()),
        }
    }
}

/// Warns as Python does of its own coroutines.
#[expect(clippy::disallowed_methods, reason = "this thread is attached: it drops a Python object")]
fn warn_never_awaited(name: &str) {
    let _ = Python::try_attach(|py| {
        // An object can be dropped at any moment, also while an exception propagates.
        let raised = PyErr::take(py);
        let text = std::ffi::CString::new(format!("{name} was never awaited")).unwrap_or_default();
        let category = py.get_type::<PyRuntimeWarning>();
        if let Err(error) = PyErr::warn(py, &category, &text, 1) {
            error.write_unraisable(py, None);
        }
        if let Some(raised) = raised {
            raised.restore(py);
        }
    });
}
