//! Waking the tasks of an event loop whose operations have finished.
//!
//! Each loop has a queue. The runtime's worker threads never attach to the interpreter: they push the
//! asyncio future that a task waits for, and only the one that finds the queue empty wakes the loop,
//! by writing a byte to a socket that the loop reads. The loop then resolves all futures that were
//! pushed meanwhile, so that concurrent requests share a wake-up. A loop that cannot watch sockets
//! (the proactor of Windows) is woken by a thread of the callback pool, which attaches.

use std::sync::{Arc, Mutex, PoisonError, Weak};

use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

use crate::py::prelude::*;
use crate::{
    os::{callback_pool, process::PerProcess},
    py::interpreter::{attachment::with_interpreter, fork_safe_cell::ForkSafeOnce},
};

/// The event loop that runs on this thread.
pub fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    load_asyncio(py)?.invoke(()).map_err(|_| {
        let text = "no asyncio event loop is running on this thread; await this in a coroutine \
                    run by asyncio.run(), or use Client (with trio, in a thread of \
                    trio.to_thread.run_sync)";
        raise(py, Error::config(text))
    })
}

/// `asyncio.get_running_loop`, imported on first use.
pub fn load_asyncio(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static GET_RUNNING_LOOP: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();
    GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")
}

/// The asyncio futures of one event loop whose operations have finished.
pub struct CompletionQueue {
    finished: Mutex<Vec<Py<PyAny>>>,
    waker: Waker,
}

/// The means of waking an event loop.
enum Waker {
    #[cfg(unix)]
    Socket(std::os::unix::net::UnixStream),
    Callback(Py<PyAny>),
}

/// The event loops of this process, each with its queue.
static QUEUES: PerProcess<Mutex<Vec<LoopQueue>>> = PerProcess::new();

/// Both are weak: a loop that is dropped without being closed is collected, and its queue belongs to
/// the callback that the loop has, so that a closed loop leaves no socket open.
type LoopQueue = (Py<PyWeakrefReference>, Weak<CompletionQueue>);

impl CompletionQueue {
    pub fn of(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        let py = event_loop.py();
        let queues = QUEUES.get_or_make(|| Ok(Mutex::default())).or_raise(py)?;
        let queues = || queues.lock().unwrap_or_else(PoisonError::into_inner);
        let known = queues().iter().find_map(|(known, queue)| {
            let known = known.bind(py).upgrade()?;
            known.is(event_loop).then(|| queue.upgrade()).flatten()
        });
        if let Some(queue) = known {
            return Ok(queue);
        }
        let queue = CompletionQueue::new(event_loop)?;
        let entry = (PyWeakrefReference::new(event_loop)?.unbind(), Arc::downgrade(&queue));
        let mut queues = queues();
        queues.retain(|(_, queue)| queue.strong_count() > 0);
        queues.push(entry);
        Ok(queue)
    }

    fn new(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        #[cfg(unix)]
        if let Ok(queue) = CompletionQueue::with_socket(event_loop) {
            return Ok(queue);
        }
        let waker = Waker::Callback(event_loop.clone().unbind());
        Ok(Arc::new(CompletionQueue { finished: Mutex::default(), waker }))
    }

    /// A queue with a socket that the loop watches.
    #[cfg(unix)]
    fn with_socket(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        use std::os::{fd::AsRawFd, unix::net::UnixStream};
        let (sender, receiver) = UnixStream::pair()?;
        sender.set_nonblocking(true)?;
        receiver.set_nonblocking(true)?;
        let descriptor = receiver.as_raw_fd();
        let waker = Waker::Socket(sender);
        let queue = Arc::new(CompletionQueue { finished: Mutex::default(), waker });
        let callback = ResolveFinished { queue: queue.clone(), socket: Some(receiver) };
        let py = event_loop.py();
        event_loop.invoke_method(intern!(py, "add_reader"), (descriptor, callback))?;
        Ok(queue)
    }

    /// Has the event loop resolve this future.
    pub fn push(self: &Arc<Self>, waiter: Py<PyAny>) {
        let was_empty = {
            let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
            finished.push(waiter);
            finished.len() == 1
        };
        if !was_empty {
            return;
        }
        match &self.waker {
            #[cfg(unix)]
            Waker::Socket(socket) => {
                // It only fails if the loop was closed, or if it is being woken already.
                let _ = std::io::Write::write(&mut &*socket, &[0]);
            }
            Waker::Callback(_) => {
                let queue = self.clone();
                callback_pool::spawn(move || _ = with_interpreter(|py| queue.wake(py)));
            }
        }
    }

    /// Has a loop that cannot watch sockets resolve the futures.
    fn wake(self: Arc<Self>, py: Python<'_>) {
        let event_loop = match &self.waker {
            #[cfg(unix)]
            Waker::Socket(_) => return,
            Waker::Callback(event_loop) => event_loop.clone_ref(py),
        };
        let callback = ResolveFinished {
            queue: self,
            #[cfg(unix)]
            socket: None,
        };
        // It only fails if the loop was closed, and then no task waits.
        let _ = event_loop.bind(py).invoke_method(intern!(py, "call_soon_threadsafe"), (callback,));
    }
}

/// Resolves, on the event loop's own thread, every future whose operation has finished.
#[pyclass(frozen, module = "boardlot._core")]
pub struct ResolveFinished {
    queue: Arc<CompletionQueue>,
    #[cfg(unix)]
    socket: Option<std::os::unix::net::UnixStream>,
}

#[gated]
impl ResolveFinished {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        #[cfg(unix)]
        if let Some(mut socket) = self.socket.as_ref() {
            // Before the queue is emptied: a push after that writes to the socket again.
            let _ = std::io::Read::read(&mut socket, &mut [0; 16]);
        }
        let finished = std::mem::take(
            &mut *self.queue.finished.lock().unwrap_or_else(PoisonError::into_inner),
        );
        let mut waiters = finished.into_iter();
        while let Some(waiter) = waiters.next() {
            if let Err(error) = resolve(waiter.bind(py)) {
                // For example of a signal handler: the others, and this one, have their turn again.
                [waiter].into_iter().chain(waiters).for_each(|waiter| self.queue.push(waiter));
                return Err(error);
            }
        }
        Ok(())
    }
}

/// Wakes the task that waits for this future.
fn resolve(waiter: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = waiter.py();
    // It is done already if its task was cancelled.
    if !waiter.invoke_method(intern!(py, "done"), ())?.is_truthy()? {
        waiter.invoke_method(intern!(py, "set_result"), (py.None(),))?;
    }
    Ok(())
}
