//! An operation of an async method: the first `await` starts it, and its outcome is handed over when
//! the awaiting code takes it.
//!
//! Between the moment when the event loop is woken and the moment when the awaiting code resumes, the
//! task can be cancelled: by a deadline that falls into the same iteration of the loop, for one. So a
//! finished operation only wakes the loop. What it found stays in its `Slot` until the awaiting code
//! resumes; a `Delivery` that is dropped there has moved nothing.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError, Weak},
};

use pyo3::{
    PyTraverseError, PyVisit,
    exceptions::{PyRuntimeError, PyRuntimeWarning, PyStopIteration},
    prelude::*,
};
use tokio::task::AbortHandle;

use super::{
    errors::raise,
    event_loop::{Queue, running_loop},
    fork_safe_cell::intern,
    observer, shutdown_gate,
};
use crate::{
    error::{Error, Result},
    process::runtime,
};

/// What an operation does in the runtime.
pub type Work = Pin<Box<dyn Future<Output = Delivery> + Send>>;

/// Makes the outcome for the awaiting code, at the moment when that takes it.
pub type Delivery = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// An operation before its first `await`.
pub trait Start: Send {
    /// The outcome, if no work is needed for it.
    fn at_hand(&self, _py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        Ok(None)
    }

    /// The work, whose outcome will be in this slot.
    fn work(self: Box<Self>, py: Python<'_>, slot: &Arc<Slot>) -> PyResult<Work>;

    /// What a warning calls it.
    fn name(&self) -> String;

    /// The Python object that has what the core refers to weakly.
    fn owner(&self) -> Option<&Py<PyAny>>;
}

/// To be awaited once. Whoever cancels it, or drops it, ends it.
#[pyclass(frozen, module = "boardlot._core")]
pub struct Operation(Mutex<Stage>);

enum Stage {
    New(Box<dyn Start>),
    Waiting { waiter: Py<PyAny>, slot: Arc<Slot>, abort: AbortHandle, owner: Option<Py<PyAny>> },
    Over,
}

impl Operation {
    pub fn awaitable<'py>(py: Python<'py>, start: Box<dyn Start>) -> PyResult<Bound<'py, PyAny>> {
        let operation = Operation(Mutex::new(Stage::New(start)));
        Ok(Bound::new(py, operation)?.into_any())
    }

    /// Python is never called under this lock.
    fn replace(&self, stage: Stage) -> Stage {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), stage)
    }

    /// Starts the work, unless the outcome is at hand.
    fn start(&self, py: Python<'_>, start: Box<dyn Start>) -> PyResult<Py<PyAny>> {
        let _inside = shutdown_gate::enter(py);
        if let Some(value) = start.at_hand(py)? {
            return Err(PyStopIteration::new_err((value,)));
        }
        let event_loop = running_loop(py)?;
        let runtime = runtime().map_err(|error| raise(py, error))?;
        observer::look_at_logging(py);
        let queue = Queue::of(&event_loop)?;
        let waiter = event_loop.call_method0(intern!(py, "create_future"))?.unbind();
        let slot = Arc::new(Slot { event_loop: event_loop.unbind(), state: Mutex::default() });
        let owner = start.owner().map(|owner| owner.clone_ref(py));
        let work = start.work(py, &slot)?;
        let finishing = Finishing { slot: slot.clone(), queue, waiter: Some(waiter.clone_ref(py)) };
        let task = runtime.spawn(async move { finishing.finish(work.await) });
        // As asyncio's own futures do: it tells the task that this was yielded by `await`.
        waiter.setattr(py, intern!(py, "_asyncio_future_blocking"), true)?;
        let yielded = waiter.clone_ref(py);
        self.replace(Stage::Waiting { waiter, slot, abort: task.abort_handle(), owner });
        Ok(yielded)
    }

    fn give_up(&self, py: Python<'_>) -> PyResult<()> {
        if let Stage::Waiting { waiter, slot, abort, .. } = self.replace(Stage::Over) {
            slot.abandon();
            abort.abort();
            waiter.call_method0(py, intern!(py, "cancel"))?;
        }
        Ok(())
    }
}

// The iterator that `await` goes through. A future of the loop's own with a callback that notices
// its cancellation would cost every request one more turn of the loop.
#[pymethods]
impl Operation {
    fn __await__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// First the future to wait for, then what the operation found.
    fn __next__(&self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        match self.replace(Stage::Over) {
            Stage::New(start) => self.start(py, start),
            Stage::Waiting { slot, owner, .. } => {
                let _inside = shutdown_gate::enter(py);
                let _owner = owner;
                Err(PyStopIteration::new_err((slot.take(py)?(py)?,)))
            }
            Stage::Over => Err(PyRuntimeError::new_err("cannot reuse already awaited operation")),
        }
    }

    fn send(&self, py: Python<'_>, _value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        self.__next__(py)
    }

    /// The task was cancelled.
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
        self.give_up(py)
    }

    fn __repr__(&self) -> String {
        match &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            Stage::New(start) => format!("<operation {}, to be awaited>", start.name()),
            Stage::Waiting { .. } => "<operation under way>".to_owned(),
            Stage::Over => "<operation, awaited>".to_owned(),
        }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // Whoever holds the lock runs on a thread, so that this is no garbage.
        match self.0.try_lock().as_deref() {
            Ok(Stage::New(start)) => visit.call(start.owner()),
            Ok(Stage::Waiting { waiter, owner, .. }) => {
                visit.call(waiter)?;
                visit.call(owner)
            }
            _ => Ok(()),
        }
    }

    fn __clear__(&self) {
        self.replace(Stage::Over);
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        match std::mem::replace(
            self.0.get_mut().unwrap_or_else(PoisonError::into_inner),
            Stage::Over,
        ) {
            Stage::New(start) => warn_never_awaited(&start.name()),
            Stage::Waiting { slot, abort, .. } => {
                slot.abandon();
                abort.abort();
            }
            Stage::Over => {}
        }
    }
}

/// As Python warns of its own coroutines.
fn warn_never_awaited(name: &str) {
    let _ = Python::try_attach(|py| {
        // Objects are dropped at any moment, also while an exception is on its way.
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

/// What an operation has found, until the awaiting code takes it.
pub struct Slot {
    event_loop: Py<PyAny>,
    state: Mutex<Found>,
}

#[derive(Default)]
enum Found {
    #[default]
    Nothing,
    Outcome(Delivery),
    /// Nobody waits any more.
    Abandoned,
}

impl Slot {
    fn replace(&self, found: Found) -> Found {
        std::mem::replace(&mut *self.state.lock().unwrap_or_else(PoisonError::into_inner), found)
    }

    /// Whether anybody waits for what was found.
    fn put(&self, delivery: Delivery) -> bool {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        if matches!(*state, Found::Abandoned) {
            drop(state);
            drop(delivery);
            return false;
        }
        *state = Found::Outcome(delivery);
        true
    }

    fn take(&self, py: Python<'_>) -> PyResult<Delivery> {
        match self.replace(Found::Abandoned) {
            Found::Outcome(delivery) => Ok(delivery),
            Found::Nothing | Found::Abandoned => {
                let text = "this operation was given up, since its event loop had stopped and \
                            another one went on with the pager; call the method again";
                Err(raise(py, Error::config(text)))
            }
        }
    }

    fn abandon(&self) {
        // What is dropped here has moved nothing.
        self.replace(Found::Abandoned);
    }
}

/// Hands over what the work found, also if it panics: nobody shall wait forever.
struct Finishing {
    slot: Arc<Slot>,
    queue: Arc<Queue>,
    waiter: Option<Py<PyAny>>,
}

impl Finishing {
    fn finish(mut self, delivery: Delivery) {
        self.wake_after(delivery);
    }

    fn wake_after(&mut self, delivery: Delivery) {
        if let Some(waiter) = self.waiter.take()
            && self.slot.put(delivery)
        {
            self.queue.push(waiter);
        }
    }
}

impl Drop for Finishing {
    fn drop(&mut self) {
        if self.waiter.is_some() {
            let lost = Error::aborted(&"its task ended early");
            self.wake_after(Box::new(|py| Err(raise(py, lost))));
        }
    }
}

/// The operations of one pager, of which one at a time has it.
///
/// One that has finished has the pager until its awaiting code resumes. If its event loop was stopped
/// for good before that, the next operation would wait forever: it takes the pager instead.
#[derive(Default)]
pub struct Unreceived(Mutex<Vec<Weak<Slot>>>);

impl Unreceived {
    /// One more operation; those whose event loops do not run are given up.
    pub fn enter(&self, py: Python<'_>, slot: &Arc<Slot>) -> PyResult<()> {
        let before: Vec<Arc<Slot>> = {
            let mut slots = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            slots.retain(|slot| slot.strong_count() > 0);
            let before = slots.iter().filter_map(Weak::upgrade).collect();
            slots.push(Arc::downgrade(slot));
            before
        };
        for slot in before {
            let running = slot.event_loop.call_method0(py, intern!(py, "is_running"))?;
            if !running.is_truthy(py)? {
                slot.abandon();
            }
        }
        Ok(())
    }
}

/// The outcome of a future, for the awaiting code.
pub async fn delivered<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send,
    finish: impl FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send + 'static,
) -> Delivery {
    match future.await {
        Ok(value) => Box::new(move |py| finish(py, value)),
        Err(error) => Box::new(move |py| Err(raise(py, error))),
    }
}
