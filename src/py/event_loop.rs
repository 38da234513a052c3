//! Waking the tasks of an event loop whose operations have finished.
//!
//! Each loop has a queue. The runtime's threads never touch the interpreter: they push the future
//! that a task waits for, and only who finds the queue empty wakes the loop, by a byte through a
//! socket that the loop reads. It then resolves all that have been pushed meanwhile, so that many
//! requests at once share one wake-up. If a loop cannot watch sockets (the proactor of Windows), a
//! thread that may touch the interpreter wakes it.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::prelude::*;

use super::{
    errors::raise,
    fork_safe_cell::{ForkSafeOnce, intern},
    notifier::{self, Notifier},
    operation::Operation,
    shutdown_gate,
    weak::Holder,
};
use crate::{error::Error, process::PerProcess};

/// Makes the types that the module does not show while nobody can fork: see `once`.
pub fn make_types(py: Python<'_>) {
    py.get_type::<Operation>();
    py.get_type::<Drain>();
    py.get_type::<Holder>();
}

/// The event loop that runs on this thread.
pub fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    load_asyncio(py)?.call0().map_err(|_| {
        let text = "no asyncio event loop is running on this thread; await this in a coroutine \
                    run by asyncio.run(), or use Client (in trio: in a thread of \
                    trio.to_thread.run_sync)";
        raise(py, Error::config(text))
    })
}

/// `asyncio.get_running_loop`.
pub fn load_asyncio(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static GET_RUNNING_LOOP: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();
    GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")
}

/// The futures of one event loop whose operations have finished.
pub struct Queue {
    finished: Mutex<Vec<Py<PyAny>>>,
    bell: Waker,
}

/// How the loop is told that its queue is no longer empty.
enum Waker {
    #[cfg(unix)]
    Socket(std::os::unix::net::UnixStream),
    Notifier(Arc<Notifier>, Py<PyAny>),
}

/// The event loops of this process, each with its queue.
static QUEUES: PerProcess<Mutex<Vec<Served>>> = PerProcess::new();

type Served = (Py<PyAny>, Arc<Queue>);

impl Queue {
    pub fn of(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
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
        let bell = Waker::Notifier(notifier, event_loop.clone().unbind());
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
        let queue = Arc::new(Queue { finished: Mutex::default(), bell: Waker::Socket(ours) });
        let drain = Drain { queue: queue.clone(), heard: Some(theirs) };
        let py = event_loop.py();
        event_loop.call_method1(intern!(py, "add_reader"), (descriptor, drain))?;
        Ok(queue)
    }

    /// Wakes whoever waits for this future.
    pub fn push(self: &Arc<Self>, waiter: Py<PyAny>) {
        let first = {
            let mut queue = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
            queue.push(waiter);
            queue.len() == 1
        };
        if first {
            self.ring();
        }
    }

    fn ring(self: &Arc<Self>) {
        match &self.bell {
            #[cfg(unix)]
            Waker::Socket(socket) => {
                // It only fails where nobody listens any more, or where it rings already.
                let _ = std::io::Write::write(&mut &*socket, &[0]);
            }
            Waker::Notifier(notifier, _) => notifier.ring(self.clone()),
        }
    }

    /// Wakes a loop that does not hear its bell; called by the notifier.
    pub fn wake(self: Arc<Self>, py: Python<'_>) {
        if let Waker::Notifier(_, event_loop) = &self.bell {
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
        let _inside = shutdown_gate::enter(py);
        #[cfg(unix)]
        if let Some(mut socket) = self.heard.as_ref() {
            // Before the queue is taken: who pushes after that rings again.
            let _ = std::io::Read::read(&mut socket, &mut [0; 16]);
        }
        let finished = std::mem::take(
            &mut *self.queue.finished.lock().unwrap_or_else(PoisonError::into_inner),
        );
        for waiter in finished {
            // One that was cancelled meanwhile has nobody waiting any more.
            if !waiter.call_method0(py, intern!(py, "done"))?.is_truthy(py)? {
                waiter.call_method1(py, intern!(py, "set_result"), (py.None(),))?;
            }
        }
        Ok(())
    }
}
