//! Finished operations on their way to those who await them in an event loop.
//!
//! Each loop has a queue. The runtime's threads never touch the interpreter: they push what has
//! finished, and only who finds the queue empty wakes the loop, by a byte through a socket that the
//! loop reads. It then resolves all that has been pushed meanwhile, so that many requests at once
//! share one wake-up. Where a loop watches no sockets (the proactor of Windows), a thread that may
//! touch the interpreter wakes it.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
};

use pyo3::{exceptions::PyStopIteration, prelude::*};
use tokio::task::AbortHandle;

use super::{
    bridge::Finish,
    door,
    errors::raise,
    notifier::{self, Notifier},
    once::{Once, intern},
    watcher,
};
use crate::{
    error::Result,
    process::{PerProcess, runtime},
};

/// An operation in the runtime, to be awaited once. Who cancels it, or drops it, ends it.
#[pyclass(module = "boardlot._core")]
pub struct Operation {
    /// The future of the event loop that is resolved when it has finished.
    waiter: Py<PyAny>,
    abort: AbortHandle,
    awaited: bool,
}

/// Makes the types that the module does not show while nobody can fork: see `once`.
pub fn make_types(py: Python<'_>) {
    py.get_type::<Operation>();
    py.get_type::<Drain>();
}

/// Starts an operation for the running event loop.
pub fn spawn<'py, T: Send + 'static>(
    py: Python<'py>,
    future: impl Future<Output = Result<T>> + Send + 'static,
    finish: Finish<T>,
) -> PyResult<Bound<'py, PyAny>> {
    let runtime = runtime().map_err(|error| raise(py, error))?;
    watcher::look_at_logging(py);
    let event_loop = running_loop(py)?;
    let queue = Queue::of(&event_loop)?;
    let waiter = event_loop.call_method0(intern!(py, "create_future"))?.unbind();
    let target = waiter.clone_ref(py);
    let task = runtime.spawn(async move {
        let outcome = future.await;
        let resolve = move |py: Python<'_>| match outcome {
            Ok(value) => finish(py, value),
            Err(error) => Err(raise(py, error)),
        };
        queue.push(Finished { waiter: target, resolve: Box::new(resolve) });
    });
    let operation = Operation { waiter, abort: task.abort_handle(), awaited: false };
    Ok(Bound::new(py, operation)?.into_any())
}

fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    load_asyncio(py)?.call0()
}

/// Gives `asyncio.get_running_loop`.
pub fn load_asyncio(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static GET_RUNNING_LOOP: Once<Py<PyAny>> = Once::new();
    GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")
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

    /// First the future to wait for, then what it was resolved to.
    fn __next__(&mut self, py: Python<'_>) -> PyResult<Py<PyAny>> {
        if self.awaited {
            let value = self.waiter.call_method0(py, intern!(py, "result"))?;
            return Err(PyStopIteration::new_err((value,)));
        }
        self.awaited = true;
        // As asyncio's own futures do: it tells the task that this was yielded by `await`.
        self.waiter.setattr(py, intern!(py, "_asyncio_future_blocking"), true)?;
        Ok(self.waiter.clone_ref(py))
    }

    fn send(&mut self, py: Python<'_>, _value: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
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
        self.abort.abort();
        self.waiter.call_method0(py, intern!(py, "cancel"))?;
        Ok(())
    }
}

impl Drop for Operation {
    fn drop(&mut self) {
        self.abort.abort();
    }
}

/// A finished operation and who waits for it.
struct Finished {
    waiter: Py<PyAny>,
    resolve: Resolve,
}

/// Makes the outcome, attached to the interpreter.
type Resolve = Box<dyn FnOnce(Python<'_>) -> PyResult<Py<PyAny>> + Send>;

/// What has finished for one event loop.
pub struct Queue {
    finished: Mutex<Vec<Finished>>,
    bell: Bell,
}

/// How the loop is told that its queue is no longer empty.
enum Bell {
    #[cfg(unix)]
    Socket(std::os::unix::net::UnixStream),
    Notifier(Arc<Notifier>, Py<PyAny>),
}

/// The event loops of this process, each with its queue.
static QUEUES: PerProcess<Mutex<Vec<Served>>> = PerProcess::new();

type Served = (Py<PyAny>, Arc<Queue>);

impl Queue {
    fn of(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        let py = event_loop.py();
        let queues = QUEUES.get_or_make(|| Ok(Mutex::default())).map_err(|e| raise(py, e))?;
        let known = |queues: &[Served]| {
            let found = queues.iter().find(|(known, _)| known.is(event_loop));
            found.map(|(_, queue)| queue.clone())
        };
        let all = || queues.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(queue) = known(&all()) {
            return Ok(queue);
        }
        // Loops come and go, as `asyncio.run` makes them; what is closed is forgotten now. Asking
        // them runs Python, which must not happen under the lock.
        let before = std::mem::take(&mut *all());
        let open = |known: &Py<PyAny>| -> PyResult<bool> {
            Ok(!known.call_method0(py, intern!(py, "is_closed"))?.is_truthy(py)?)
        };
        let mut kept = Vec::with_capacity(before.len() + 1);
        for entry in before {
            if open(&entry.0).unwrap_or(false) {
                kept.push(entry);
            }
        }
        let queue = Queue::new(event_loop)?;
        kept.push((event_loop.clone().unbind(), queue.clone()));
        // Another thread with a loop of its own may have been here meanwhile.
        all().append(&mut kept);
        Ok(queue)
    }

    fn new(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        #[cfg(unix)]
        if let Ok(queue) = Queue::read_by(event_loop) {
            return Ok(queue);
        }
        let notifier = notifier::get().map_err(|error| raise(event_loop.py(), error))?;
        let bell = Bell::Notifier(notifier, event_loop.clone().unbind());
        Ok(Arc::new(Queue { finished: Mutex::default(), bell }))
    }

    /// A queue whose bell the loop hears by itself.
    #[cfg(unix)]
    fn read_by(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        use std::os::{fd::AsRawFd, unix::net::UnixStream};
        let (ours, theirs) = UnixStream::pair()?;
        ours.set_nonblocking(true)?;
        theirs.set_nonblocking(true)?;
        let descriptor = theirs.as_raw_fd();
        let queue = Arc::new(Queue { finished: Mutex::default(), bell: Bell::Socket(ours) });
        let drain = Drain { queue: queue.clone(), heard: Some(theirs) };
        let py = event_loop.py();
        event_loop.call_method1(intern!(py, "add_reader"), (descriptor, drain))?;
        Ok(queue)
    }

    fn push(self: &Arc<Self>, finished: Finished) {
        let first = {
            let mut queue = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
            queue.push(finished);
            queue.len() == 1
        };
        if first {
            self.ring();
        }
    }

    fn ring(self: &Arc<Self>) {
        match &self.bell {
            #[cfg(unix)]
            Bell::Socket(socket) => {
                // It only fails where nobody listens any more, or where it rings already.
                let _ = std::io::Write::write(&mut &*socket, &[0]);
            }
            Bell::Notifier(notifier, _) => notifier.ring(self.clone()),
        }
    }

    /// Wakes a loop that does not hear its bell; called by the notifier.
    pub fn wake(self: Arc<Self>, py: Python<'_>) {
        if let Bell::Notifier(_, event_loop) = &self.bell {
            let event_loop = event_loop.clone_ref(py);
            let drain = Drain {
                queue: self,
                #[cfg(unix)]
                heard: None,
            };
            // A loop that was closed meanwhile has nobody waiting any more.
            let _ = event_loop.call_method1(py, intern!(py, "call_soon_threadsafe"), (drain,));
        }
    }
}

/// Resolves, on the event loop's own thread, every future whose operation has finished.
#[pyclass(frozen, module = "boardlot._core")]
struct Drain {
    queue: Arc<Queue>,
    #[cfg(unix)]
    heard: Option<std::os::unix::net::UnixStream>,
}

#[pymethods]
impl Drain {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        let _inside = door::stay(py);
        #[cfg(unix)]
        if let Some(mut socket) = self.heard.as_ref() {
            // Before the queue is taken: who pushes after that rings again.
            let _ = std::io::Read::read(&mut socket, &mut [0; 16]);
        }
        let finished = std::mem::take(
            &mut *self.queue.finished.lock().unwrap_or_else(PoisonError::into_inner),
        );
        for Finished { waiter, resolve } in finished {
            if waiter.call_method0(py, intern!(py, "done"))?.is_truthy(py)? {
                continue;
            }
            match resolve(py) {
                Ok(value) => waiter.call_method1(py, intern!(py, "set_result"), (value,))?,
                Err(error) => {
                    waiter.call_method1(py, intern!(py, "set_exception"), (error.value(py),))?
                }
            };
        }
        Ok(())
    }
}
