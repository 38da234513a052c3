//! Between Python and the runtime: `block` for sync calls, `spawn` for asyncio.
//!
//! The runtime's threads never touch the interpreter. A finished request is handed to one notifier
//! thread, which wakes the event loop once for all that finished meanwhile; `atexit` joins it, so
//! that nothing attaches to an interpreter that is going away.

use std::{
    future::Future,
    pin::pin,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::JoinHandle,
    time::Duration,
};

use pyo3::{exceptions::PyStopIteration, intern, prelude::*, sync::PyOnceLock};
use tokio::{task::AbortHandle, time::timeout};

use super::errors::raise;
use crate::{
    error::{Error, ErrorKind, Result},
    http::{Lane, Sender},
    process::{PerProcess, runtime},
};

/// How often a blocking call looks for Ctrl-C.
const SIGNAL_POLL: Duration = Duration::from_millis(50);

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
        match self {
            Face::Sync => {
                let value = block(py, future, |_| Ok(()))?;
                finish(py, value).map(|object| object.into_bound(py))
            }
            Face::Async => spawn(py, future, finish),
        }
    }

    /// The same for a single call of a client, which starts nothing beside itself.
    pub fn call<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        sender: &Sender,
        future: impl Future<Output = Result<T>> + Send + 'static,
        finish: Finish<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Face::Sync => {
                let lane = sender.lane().map_err(|error| raise(py, error))?;
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
    let outcome = py.detach(|| {
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
            Err(_) => Python::attach(|py| py.check_signals().and_then(|()| tick(py)))?,
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

/// An asyncio future for it; cancelling that cancels the operation.
fn spawn<'py, T: Send + 'static>(
    py: Python<'py>,
    future: impl Future<Output = Result<T>> + Send + 'static,
    finish: Finish<T>,
) -> PyResult<Bound<'py, PyAny>> {
    let runtime = runtime().map_err(|error| raise(py, error))?;
    let notifier = NOTIFIER.get_or_make(Notifier::start).map_err(|error| raise(py, error))?;
    let event_loop = running_loop(py)?;
    let waiter = event_loop.call_method0(intern!(py, "create_future"))?;
    let (to, target) = (event_loop.unbind(), waiter.clone().unbind());
    let task = runtime.spawn(async move {
        let outcome = future.await;
        notifier.deliver(Delivery {
            event_loop: to,
            waiter: target,
            finish: Box::new(move |py| match outcome {
                Ok(value) => finish(py, value),
                Err(error) => Err(raise(py, error)),
            }),
        });
    });
    let abort = Abort(task.abort_handle());
    waiter.call_method1(intern!(py, "add_done_callback"), (abort,))?;
    Ok(waiter)
}

fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    static GET_RUNNING_LOOP: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")?.call0()
}

/// The future's callback: whatever ended it, its operation is no longer wanted.
#[pyclass(frozen, module = "boardlot._core")]
struct Abort(AbortHandle);

#[pymethods]
impl Abort {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        self.0.abort();
    }
}

/// A finished operation on its way to its event loop.
struct Delivery {
    event_loop: Py<PyAny>,
    waiter: Py<PyAny>,
    finish: Resolve,
}

/// Makes the outcome, attached to the interpreter.
type Resolve = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

static NOTIFIER: PerProcess<Arc<Notifier>> = PerProcess::new();

struct Notifier {
    queue: Mutex<Queue>,
    ready: Condvar,
    thread: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Default)]
struct Queue {
    deliveries: Vec<Delivery>,
    closed: bool,
}

impl Notifier {
    fn start() -> Result<Arc<Self>> {
        let notifier = Arc::new(Notifier {
            queue: Mutex::default(),
            ready: Condvar::new(),
            thread: Mutex::new(None),
        });
        let worker = notifier.clone();
        let thread = std::thread::Builder::new()
            .name("boardlot-notify".into())
            .spawn(move || worker.notify())
            .map_err(|error| Error::config(format!("no thread can be started: {error}")))?;
        *notifier.thread.lock().unwrap_or_else(PoisonError::into_inner) = Some(thread);
        Ok(notifier)
    }

    fn deliver(&self, delivery: Delivery) {
        let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        if !queue.closed {
            queue.deliveries.push(delivery);
            self.ready.notify_one();
        }
    }

    fn notify(&self) {
        loop {
            let deliveries = {
                let mut queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
                while queue.deliveries.is_empty() && !queue.closed {
                    queue = self.ready.wait(queue).unwrap_or_else(PoisonError::into_inner);
                }
                if queue.closed {
                    return;
                }
                std::mem::take(&mut queue.deliveries)
            };
            Python::attach(|py| wake_loops(py, deliveries));
        }
    }

    fn close(&self) {
        self.queue.lock().unwrap_or_else(PoisonError::into_inner).closed = true;
        self.ready.notify_all();
        let thread = self.thread.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(thread) = thread {
            // It only fails if the thread panicked, and then there is nothing to wait for.
            let _ = thread.join();
        }
    }
}

/// One wake-up for each event loop that something is ready for.
fn wake_loops(py: Python<'_>, deliveries: Vec<Delivery>) {
    let mut batches: Vec<(Py<PyAny>, Vec<Delivery>)> = Vec::new();
    for delivery in deliveries {
        match batches.iter_mut().find(|(event_loop, _)| event_loop.is(&delivery.event_loop)) {
            Some((_, batch)) => batch.push(delivery),
            None => batches.push((delivery.event_loop.clone_ref(py), vec![delivery])),
        }
    }
    for (event_loop, batch) in batches {
        let batch = Batch(Mutex::new(batch));
        // A loop that was closed meanwhile has nobody waiting any more.
        let _ = event_loop.call_method1(py, intern!(py, "call_soon_threadsafe"), (batch,));
    }
}

/// Resolves, on the event loop's own thread, every future whose operation has finished.
#[pyclass(frozen, module = "boardlot._core")]
struct Batch(Mutex<Vec<Delivery>>);

#[pymethods]
impl Batch {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let deliveries =
            std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        for Delivery { waiter, finish, .. } in deliveries {
            if waiter.call_method0(py, intern!(py, "done"))?.is_truthy(py)? {
                continue;
            }
            match finish(py) {
                Ok(value) => waiter.call_method1(py, intern!(py, "set_result"), (value,))?,
                Err(error) => {
                    waiter.call_method1(py, intern!(py, "set_exception"), (error.value(py),))?
                }
            };
        }
        Ok(())
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

/// The door through which other threads reach the interpreter: for what only Python can do, such as
/// asking a store of the user's own. Once it is closed, nobody gets in any more.
static DOOR: PerProcess<Door> = PerProcess::new();

#[derive(Default)]
struct Door {
    inside: Mutex<Inside>,
    left: Condvar,
}

#[derive(Default)]
struct Inside {
    count: usize,
    closed: bool,
}

/// How long the end of the program waits for those inside; one may sit before a prompt for good.
const DOOR_PATIENCE: Duration = Duration::from_secs(3);

/// Attaches to the interpreter, unless that is going away.
pub fn attach<T>(work: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    let door = DOOR.get_or_make(|| Ok(Door::default()))?;
    {
        let mut inside = door.inside.lock().unwrap_or_else(PoisonError::into_inner);
        if inside.closed {
            return Err(ErrorKind::Store("the program is ending".into()).into());
        }
        inside.count += 1;
    }
    let leaving = Leaving(door);
    let outcome = Python::attach(work);
    drop(leaving);
    outcome
}

struct Leaving(Arc<Door>);

impl Drop for Leaving {
    fn drop(&mut self) {
        self.0.inside.lock().unwrap_or_else(PoisonError::into_inner).count -= 1;
        self.0.left.notify_all();
    }
}

impl Door {
    fn close(&self) {
        let mut inside = self.inside.lock().unwrap_or_else(PoisonError::into_inner);
        inside.closed = true;
        let emptied =
            self.left.wait_timeout_while(inside, DOOR_PATIENCE, |inside| inside.count > 0);
        drop(emptied);
    }
}

/// Closes the door and joins the notifier; registered with `atexit`.
#[pyfunction]
#[pyo3(name = "_shut_down")]
pub fn shut_down(py: Python<'_>) {
    if let Ok(door) = DOOR.get_or_make(|| Ok(Door::default())) {
        py.detach(|| door.close());
    }
    if let Some(notifier) = NOTIFIER.get() {
        py.detach(|| notifier.close());
    }
}
