//! The outcome of an operation, from the moment when it finishes until the awaiting code takes it.

use std::sync::Arc;

use futures_util::future::BoxFuture;
use tokio::sync::oneshot;

use super::event_loop::CompletionQueue;
use crate::prelude::*;

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

/// Finishes an operation and wakes its task, also if the operation panics.
pub struct CompletionGuard {
    pub(super) queue: Arc<CompletionQueue>,
    /// The future that the task waits for, and where the outcome waits until the task takes it.
    pub(super) waiting: Option<(u64, oneshot::Sender<PythonResult>)>,
}

impl CompletionGuard {
    pub fn finish(mut self, finished: Finished) {
        // Otherwise the outcome will not be taken.
        if let Some((waiter, outcome)) = self.waiting.take()
            && outcome.send(finished.outcome).is_ok()
        {
            self.queue.push(waiter);
        }
        drop(finished.held);
    }
}

impl Drop for CompletionGuard {
    fn drop(&mut self) {
        if let Some((waiter, outcome)) = self.waiting.take()
            && !outcome.is_closed()
        {
            drop(outcome);
            self.queue.push(waiter);
        }
    }
}
