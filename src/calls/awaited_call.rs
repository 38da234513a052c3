//! A call that is awaited: the bridge to asyncio, with `python/boardlot/_support/awaiting.py`.
//!
//! The awaiting coroutine waits for a future of the running loop, which carries a wake-up and no
//! result: between the moment when the loop is woken and the moment when the coroutine continues,
//! its task may be cancelled, as by a deadline in the same turn of the loop. The result stays here
//! until the coroutine takes it.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use pyo3::exceptions::PyRuntimeError;
use tokio::{
    sync::oneshot::{self, error::TryRecvError},
    task::AbortHandle,
};

use super::event_loop::{CompletionQueue, running_loop};
use crate::prelude::*;
use crate::{
    hooks::{logging, observer},
    interpreter::{reentrant_once::ReentrantOnce, thread_end},
};
use boardlot_client::extension::os::{origin::on_behalf_of, runtime::runtime};

/// Makes the result, or raises, when the awaiting coroutine takes it.
pub type PythonResult = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// A call that is awaited once. Its work starts when a coroutine awaits it.
#[pyclass(frozen, module = "boardlot._core")]
pub struct AwaitedCall {
    state: Mutex<State>,
    /// The Python object that keeps alive the objects to which the core has weak references.
    owner: Option<Py<PyAny>>,
}

enum State {
    Created(BoxFuture<'static, PythonResult>),
    Started {
        queue: Arc<CompletionQueue>,
        /// The number of the asyncio future that the coroutine waits for.
        waiter: u64,
        completion: oneshot::Receiver<PythonResult>,
        task: AbortHandle,
    },
    Ended,
}

impl AwaitedCall {
    pub fn new(work: BoxFuture<'static, PythonResult>, owner: Option<Py<PyAny>>) -> Self {
        AwaitedCall { state: Mutex::new(State::Created(work)), owner }
    }

    /// Python code never runs under this lock.
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn replace(&self, state: State) -> State {
        std::mem::replace(&mut *self.state(), state)
    }
}

#[pymethods]
impl AwaitedCall {
    /// An iterator of the future that `await` waits for.
    fn __await__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        static AWAITED: ReentrantOnce<Py<PyAny>> = ReentrantOnce::new();
        let py = this.py();
        let awaited = AWAITED.import(py, "boardlot._support.awaiting", "awaited")?;
        awaited.invoke((this,))
    }

    /// Starts the work. Returns a future of the running loop, which is resolved once the work has
    /// ended.
    fn start<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        thread_end::register();
        let event_loop = running_loop(py)?;
        let State::Created(work) = self.replace(State::Ended) else {
            return Err(PyRuntimeError::new_err("this call was awaited before"));
        };
        let runtime = runtime().or_raise(py)?;
        logging::refresh_levels(py)?;
        let queue = CompletionQueue::of(&event_loop)?;
        let future = event_loop.invoke_method(intern!(py, "create_future"), ())?;
        let (result, completion) = oneshot::channel();
        let work = on_behalf_of(observer::origin(py)?, work);
        let waiter = queue.add(future.clone().unbind());
        let wake = Wake { queue: queue.clone(), waiter, result: Some(result) };
        let task = runtime.spawn(async move { wake.with(work.await) }).abort_handle();
        self.replace(State::Started { queue, waiter, completion, task });
        Ok(future)
    }

    /// Returns the result of the work, which has ended.
    fn result(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        let received = match &mut *self.state() {
            State::Started { completion, .. } => completion.try_recv(),
            State::Created(_) | State::Ended => Err(TryRecvError::Empty),
        };
        match received {
            Ok(result) => result(py),
            Err(TryRecvError::Closed) => Err(raise(py, Error::aborted(&"its task ended early"))),
            Err(TryRecvError::Empty) => {
                Err(PyRuntimeError::new_err("await was resumed before the call had finished"))
            }
        }
    }

    /// Ends the work, unless it has ended.
    fn abort(&self) {
        if let State::Started { queue, waiter, completion, task } = self.replace(State::Ended) {
            drop(completion);
            task.abort();
            // Nobody waits for this future any more.
            drop(queue.remove(waiter));
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }
}

impl Drop for AwaitedCall {
    fn drop(&mut self) {
        self.abort();
    }
}

/// Wakes the coroutine that waits for a call, even if the call's work panics or is aborted.
struct Wake {
    queue: Arc<CompletionQueue>,
    waiter: u64,
    result: Option<oneshot::Sender<PythonResult>>,
}

impl Wake {
    fn with(mut self, result: PythonResult) {
        // Sending fails if the coroutine no longer waits.
        if let Some(sender) = self.result.take()
            && sender.send(result).is_ok()
        {
            self.queue.push(self.waiter);
        }
    }
}

impl Drop for Wake {
    fn drop(&mut self) {
        if let Some(sender) = self.result.take()
            && !sender.is_closed()
        {
            drop(sender);
            self.queue.push(self.waiter);
        }
    }
}
