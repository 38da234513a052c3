//! The outcome of an operation, from the moment when it finishes until the awaiting code takes it.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use pyo3::prelude::*;

use super::{errors::raise, event_loop::CompletionQueue, fork_safe_cell::intern};
use crate::error::{Error, Result};

/// Holds the outcome of one operation.
pub struct Completion {
    event_loop: Py<PyAny>,
    state: Mutex<State>,
}

/// Makes the result, or raises, when the awaiting code resumes. Dropping it loses nothing: the rows
/// that it would have returned are still the pager's.
pub type Outcome = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

#[derive(Default)]
enum State {
    #[default]
    Pending,
    Finished(Outcome),
    /// The outcome was taken, or will not be.
    Closed,
}

impl Completion {
    pub fn new(event_loop: Py<PyAny>) -> Arc<Self> {
        Arc::new(Completion { event_loop, state: Mutex::default() })
    }

    /// Stores the outcome. Returns false if it will not be taken.
    fn finish(&self, outcome: Outcome) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, State::Closed) {
            drop(state);
            drop(outcome);
            return false;
        }
        *state = State::Finished(outcome);
        true
    }

    pub fn take(&self, py: Python<'_>) -> PyResult<Outcome> {
        match self.replace(State::Closed) {
            State::Finished(outcome) => Ok(outcome),
            State::Pending | State::Closed => {
                let text = "this operation was cancelled: its event loop had stopped, and another \
                            one continued with the pager; call the method again";
                Err(raise(py, Error::config(text)))
            }
        }
    }

    /// Drops the outcome, now or when the operation finishes.
    pub fn close(&self) {
        self.replace(State::Closed);
    }

    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), state)
    }
}

/// The outcome of a future, whose value is converted when the awaiting code resumes.
pub async fn into_outcome<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send,
    finish: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> Outcome {
    match future.await {
        Ok(value) => Box::new(move |py| finish(py, value)),
        Err(error) => Box::new(move |py| Err(raise(py, error))),
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

    pub fn finish(mut self, outcome: Outcome) {
        self.finish_and_wake(outcome);
    }

    fn finish_and_wake(&mut self, outcome: Outcome) {
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

/// The pending operations of one pager, which run one at a time.
///
/// A finished operation has the pager locked until its awaiting code resumes. If its event loop was
/// stopped for good before that, the next operation would wait forever: it closes the finished one
/// instead.
#[derive(Default)]
pub struct PendingOperations(Mutex<Vec<Weak<Completion>>>);

impl PendingOperations {
    /// Adds an operation, and closes those whose event loops are not running.
    pub fn register(&self, py: Python<'_>, completion: &Arc<Completion>) -> PyResult<()> {
        let others: Vec<Arc<Completion>> = {
            let mut pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            pending.retain(|completion| completion.strong_count() > 0);
            let others = pending.iter().filter_map(Weak::upgrade).collect();
            pending.push(Arc::downgrade(completion));
            others
        };
        for other in others {
            let running = other.event_loop.call_method0(py, intern!(py, "is_running"))?;
            if !running.is_truthy(py)? {
                other.close();
            }
        }
        Ok(())
    }
}
