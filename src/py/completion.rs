//! The outcome of an operation, from the moment when it finishes until the awaiting code takes it.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError, Weak},
    time::Duration,
};

use futures_util::future::BoxFuture;
use pyo3::prelude::*;
use tokio::time::timeout;

use super::{
    callback::Invoke, errors::raise, event_loop::CompletionQueue, fork_safe_cell::intern,
    shutdown_gate::attach,
};
use crate::{
    callback_pool,
    error::{Error, Result},
};

/// How often an operation that waits for others looks whether their event loops have stopped.
const STOPPED_LOOP_POLL: Duration = Duration::from_millis(200);

/// Holds the outcome of one operation.
pub struct Completion {
    event_loop: Py<PyAny>,
    state: Mutex<State>,
}

/// Makes the result, or raises, when the awaiting code resumes. Dropping it loses nothing: the rows
/// that it would have returned are still the pager's.
/// It makes `None` at the end of an iteration.
pub type Outcome = Box<dyn FnOnce(Python<'_>) -> PyResult<Option<Py<PyAny>>> + Send>;

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

    fn is_finished(&self) -> bool {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        matches!(*state, State::Finished(_))
    }

    fn close_if_stopped(&self, py: Python<'_>) -> PyResult<()> {
        let running = self.event_loop.bind(py).invoke_method(intern!(py, "is_running"), ())?;
        if !running.is_truthy()? {
            self.close();
        }
        Ok(())
    }

    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), state)
    }
}

/// The outcome of a future, whose value is converted when the awaiting code resumes.
pub async fn into_outcome<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send,
    finish: impl FnOnce(Python<'_>, T) -> PyResult<Option<Py<PyAny>>> + Send + 'static,
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
        others.iter().try_for_each(|other| other.close_if_stopped(py))
    }

    /// Waits for a lock that one of them may hold, while their event loops can stop at any moment.
    pub async fn wait_for<T>(self: Arc<Self>, mut lock: BoxFuture<'static, T>) -> T {
        loop {
            if let Ok(locked) = timeout(STOPPED_LOOP_POLL, &mut lock).await {
                return locked;
            }
            let finished = self.finished();
            if !finished.is_empty() {
                let closed = callback_pool::run(move || {
                    attach(|py| {
                        for operation in finished {
                            // It only fails if the loop is not one of asyncio's.
                            let _ = operation.close_if_stopped(py);
                        }
                        Ok(())
                    })
                });
                // It only fails while the program exits.
                let _ = closed.await;
            }
        }
    }

    fn finished(&self) -> Vec<Arc<Completion>> {
        let pending = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        pending.iter().filter_map(Weak::upgrade).filter(|other| other.is_finished()).collect()
    }
}
