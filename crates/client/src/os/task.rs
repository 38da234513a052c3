//! A task that ends with its last user.

use std::task::{Context, Poll, Waker};

use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;

use super::{
    origin::{on_behalf_of, origin},
    process::id,
};
use crate::error::{Error, Result};

/// A task on the current runtime that is aborted when this is dropped. A forked child has the
/// handle of a task that does not run there, and does nothing with it.
#[derive(Debug)]
pub struct AbortOnDrop<T> {
    task: Task<T>,
    process: u32,
}

#[derive(Debug)]
enum Task<T> {
    /// The task ended at its first poll. `None` once its result has been returned.
    Ended(Option<Result<T>>),
    Running(JoinHandle<Result<T>>),
}

impl<T: Send + 'static> AbortOnDrop<T> {
    /// Starts a task with the origin of the current call. It is boxed, so that tokio's code for a
    /// task is compiled once for each `T` and not for each future.
    pub fn spawn(future: BoxFuture<'static, Result<T>>) -> Self {
        Self::new(Task::Running(tokio::spawn(on_behalf_of(origin(), future))))
    }

    /// Starts a task, but completes it here if its first poll does: waking a thread would take
    /// longer.
    pub fn poll_or_spawn(mut future: BoxFuture<'static, Result<T>>) -> Self {
        // The waker may do nothing, because a spawned future is polled again.
        match future.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(outcome) => Self::new(Task::Ended(Some(outcome))),
            Poll::Pending => Self::spawn(future),
        }
    }

    fn new(task: Task<T>) -> Self {
        AbortOnDrop { task, process: id() }
    }

    /// Returns the outcome of the task. If the wait is cancelled, this can be called again.
    pub async fn join(&mut self) -> Result<T> {
        match &mut self.task {
            Task::Running(task) => task.await.map_err(|error| Error::aborted(&error))?,
            Task::Ended(outcome) => outcome
                .take()
                .unwrap_or_else(|| Err(Error::internal("this task was joined before"))),
        }
    }
}

impl<T> AbortOnDrop<T> {
    /// Returns true if the task runs in this process.
    pub fn runs_here(&self) -> bool {
        self.process == id()
    }
}

impl<T> Drop for AbortOnDrop<T> {
    fn drop(&mut self) {
        if let Task::Running(task) = &self.task
            && self.runs_here()
        {
            task.abort();
        }
    }
}
