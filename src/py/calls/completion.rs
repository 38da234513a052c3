//! The outcome of an operation, from the moment when it finishes until the awaiting code takes it.

use std::sync::{Arc, Mutex, PoisonError};

use futures_util::future::BoxFuture;
use pyo3::exceptions::PyRuntimeError;

use super::event_loop::CompletionQueue;
use crate::py::prelude::*;

/// An operation before its first `await`.
pub trait Startable: Send {
    /// The result, if it is available without waiting.
    fn try_ready(&self, _py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(None)
    }

    /// The work, to be spawned on the runtime.
    fn start(self: Box<Self>, py: Python<'_>) -> PyResult<BoxFuture<'static, Finished>>;

    /// The method, for messages.
    fn name(&self) -> String;

    /// The Python object that keeps alive what the core has weak references to.
    fn owner(&self) -> Option<&Py<PyAny>>;
}

/// Holds the outcome of one operation.
#[derive(Default)]
pub struct Completion(Mutex<State>);

/// Makes the result, or raises, when the awaiting code resumes. Dropping it loses nothing: the rows
/// that it would have returned are still the pager's.
pub type PythonResult = Box<dyn FnOnce(Python<'_>) -> PyResult<Completed> + Send>;

/// The end of an operation's work.
pub struct Finished {
    pub outcome: PythonResult,
    /// Dropped once the awaiting code is woken: who waits for it is woken later.
    pub held: Option<Box<dyn Send>>,
}

/// The outcome of an operation.
pub enum Completed {
    With(Py<PyAny>),
    /// At the end of an iteration.
    AtEnd,
    /// It does not: what it waited for was received by another caller, so it waits again.
    Again(Box<dyn Startable>),
}

#[derive(Default)]
enum State {
    #[default]
    Pending,
    Finished(PythonResult),
    /// The outcome was taken, or will not be.
    Closed,
}

impl Completion {
    /// Stores the outcome. Returns false if it will not be taken.
    fn finish(&self, outcome: PythonResult) -> bool {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Closed) {
            drop(state);
            drop(outcome);
            return false;
        }
        *state = State::Finished(outcome);
        true
    }

    pub fn take(&self) -> PyResult<PythonResult> {
        match self.replace(State::Closed) {
            State::Finished(outcome) => Ok(outcome),
            State::Pending | State::Closed => {
                Err(PyRuntimeError::new_err("await was resumed before the operation finished"))
            }
        }
    }

    /// Drops the outcome, now or when the operation finishes.
    pub fn close(&self) {
        self.replace(State::Closed);
    }

    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), state)
    }
}

impl Finished {
    /// Completes with a result that is converted when the awaiting code resumes.
    pub fn new<T: Send + 'static>(
        result: Result<T>,
        finish: impl FnOnce(Python<'_>, T) -> PyResult<Completed> + Send + 'static,
    ) -> Self {
        let outcome: PythonResult = match result {
            Ok(value) => Box::new(move |py| finish(py, value)),
            Err(error) => Box::new(move |py| Err(raise(py, error))),
        };
        Finished { outcome, held: None }
    }
}

/// Finishes an operation and wakes its task, with an error if the operation panics.
pub struct CompletionGuard {
    completion: Arc<Completion>,
    queue: Arc<CompletionQueue>,
    /// The asyncio future that the task waits for.
    waiter: Option<Py<PyAny>>,
}

impl CompletionGuard {
    pub fn new(
        completion: Arc<Completion>,
        queue: Arc<CompletionQueue>,
        waiter: Py<PyAny>,
    ) -> Self {
        CompletionGuard { completion, queue, waiter: Some(waiter) }
    }

    pub fn finish(mut self, finished: Finished) {
        self.finish_and_wake(finished.outcome);
        drop(finished.held);
    }

    fn finish_and_wake(&mut self, outcome: PythonResult) {
        if let Some(waiter) = self.waiter.take()
            && self.completion.finish(outcome)
        {
            self.queue.push(waiter);
        }
    }
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        if self.waiter.is_some() {
            let aborted = Error::aborted(&"its task ended early");
            self.finish_and_wake(Box::new(|py| Err(raise(py, aborted))));
        }
    }
}
