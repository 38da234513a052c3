//! Waking the tasks of an event loop whose operations have finished.
//!
//! Each loop has a queue. The runtime's worker threads never attach to the interpreter: they push
//! the number of the asyncio future that a task waits for, and only the thread that finds the queue
//! empty wakes the loop, by writing a byte to a socket that the loop reads. The loop then resolves
//! all futures that were pushed meanwhile, so that concurrent requests share a wake-up. A loop that
//! cannot watch sockets (the proactor of Windows) is woken by a thread of the callback pool, which
//! attaches.
//!
//! The futures belong to the callback of the loop, and so to the loop. A loop that is closed, or
//! dropped without being closed, ends its tasks, and the tasks end the calls that they wait for.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
};

use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

use crate::interpreter::{
    attachment::with_interpreter, errors::is_refusal, reentrant_once::ReentrantOnce,
};
use crate::prelude::*;
use boardlot_client::extension::os::{callback_pool, process::shared};

/// Returns the event loop that runs on this thread.
pub fn running_loop(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    load_asyncio(py)?.invoke(()).map_err(|error| {
        if !is_refusal(py, &error) {
            return error;
        }
        let text = "no asyncio event loop is running on this thread; await this in a coroutine \
                    run by asyncio.run(), or use Client (with trio, in a thread of \
                    trio.to_thread.run_sync)";
        raise(py, Error::config(text))
    })
}

/// `asyncio.get_running_loop`, imported on first use.
fn load_asyncio(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static GET_RUNNING_LOOP: ReentrantOnce<Py<PyAny>> = ReentrantOnce::new();
    GET_RUNNING_LOOP.import(py, "asyncio", "get_running_loop")
}

/// The asyncio futures that the tasks of one event loop wait for.
pub struct CompletionQueue {
    /// The futures by number. Only attached threads take this lock, and no Python code runs under
    /// it.
    waiters: Mutex<HashMap<u64, Py<PyAny>>>,
    /// The numbers of the futures whose operations have finished.
    finished: Mutex<Vec<u64>>,
    waker: Waker,
}

/// A socket that a loop can watch. On systems other than Unix, asyncio's loop does not watch
/// sockets of other code.
#[cfg(unix)]
type Socket = std::os::unix::net::UnixStream;
#[cfg(not(unix))]
type Socket = std::convert::Infallible;

/// The means of waking an event loop.
enum Waker {
    #[cfg(unix)]
    Socket(Socket),
    Callback(Arc<Py<PyAny>>),
}

/// The event loops of this process, each with its queue.
#[derive(Default)]
struct Queues(Mutex<Vec<LoopQueue>>);

/// A loop and its queue. Both references are weak: a loop that is dropped without being closed is
/// collected, and its queue belongs to the loop's callback, so that a closed loop leaves no socket
/// open.
type LoopQueue = (Py<PyWeakrefReference>, Weak<CompletionQueue>);

impl CompletionQueue {
    pub fn of(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        let py = event_loop.py();
        let queues = shared::<Queues>().or_raise(py)?;
        let queues = || queues.0.lock().unwrap_or_else(PoisonError::into_inner);
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
        Ok(CompletionQueue::woken_by(Waker::Callback(Arc::new(event_loop.clone().unbind()))))
    }

    fn woken_by(waker: Waker) -> Arc<Self> {
        Arc::new(CompletionQueue { waiters: Mutex::default(), finished: Mutex::default(), waker })
    }

    /// A queue with a socket that the loop watches.
    #[cfg(unix)]
    fn with_socket(event_loop: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        use std::os::fd::AsRawFd;
        let (sender, receiver) = Socket::pair()?;
        sender.set_nonblocking(true)?;
        receiver.set_nonblocking(true)?;
        let descriptor = receiver.as_raw_fd();
        let queue = CompletionQueue::woken_by(Waker::Socket(sender));
        let callback = ResolveFinished { queue: queue.clone(), socket: Some(receiver) };
        let py = event_loop.py();
        event_loop.invoke_method(intern!(py, "add_reader"), (descriptor, callback))?;
        Ok(queue)
    }

    fn waiters(&self) -> MutexGuard<'_, HashMap<u64, Py<PyAny>>> {
        self.waiters.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Keeps a future until its operation has finished, and gives it a number.
    pub fn add(&self, waiter: Py<PyAny>) -> u64 {
        static ADDED: AtomicU64 = AtomicU64::new(0);
        let number = ADDED.fetch_add(1, Relaxed);
        self.waiters().insert(number, waiter);
        number
    }

    /// Takes a future back; `None` if it was taken already, or if the loop was closed.
    pub fn remove(&self, number: u64) -> Option<Py<PyAny>> {
        self.waiters().remove(&number)
    }

    /// Has the event loop resolve this future.
    pub fn push(self: &Arc<Self>, number: u64) {
        let was_empty = {
            let mut finished = self.finished.lock().unwrap_or_else(PoisonError::into_inner);
            finished.push(number);
            finished.len() == 1
        };
        if !was_empty {
            return;
        }
        match &self.waker {
            #[cfg(unix)]
            Waker::Socket(socket) => {
                // Writing fails only if the loop was closed, or is already being woken.
                let _ = std::io::Write::write(&mut &*socket, &[0]);
            }
            Waker::Callback(event_loop) => {
                let (queue, event_loop) = (self.clone(), event_loop.clone());
                callback_pool::spawn(move || {
                    with_interpreter(|py| {
                        let callback = ResolveFinished { queue, socket: None };
                        let name = intern!(py, "call_soon_threadsafe");
                        // The call fails only if the loop was closed, and then no task waits.
                        let _ = event_loop.bind(py).invoke_method(name, (callback,));
                    });
                });
            }
        }
    }
}

/// Resolves, on the event loop's own thread, every future whose operation has finished.
#[pyclass(frozen, module = "boardlot._core")]
pub struct ResolveFinished {
    queue: Arc<CompletionQueue>,
    socket: Option<Socket>,
}

#[pymethods]
impl ResolveFinished {
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        #[cfg(unix)]
        if let Some(mut socket) = self.socket.as_ref() {
            // Reads the socket before the queue is emptied, as any later push writes to the socket
            // again.
            let _ = std::io::Read::read(&mut socket, &mut [0; 16]);
        }
        let lock = || self.queue.finished.lock().unwrap_or_else(PoisonError::into_inner);
        let mut numbers = std::mem::take(&mut *lock()).into_iter();
        while let Some(number) = numbers.next() {
            // The future is missing if its task was cancelled.
            let Some(waiter) = self.queue.remove(number) else { continue };
            if let Err(error) = resolve(waiter.bind(py)) {
                // The error may be that of a signal handler, so this future and the remaining ones
                // are queued again.
                self.queue.waiters().insert(number, waiter);
                [number].into_iter().chain(numbers).for_each(|number| self.queue.push(number));
                return Err(error);
            }
        }
        Ok(())
    }

    /// A loop that is woken by a callback has several of these objects, and none of them owns the
    /// futures.
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        // If the lock is held, a thread is using this object, so it is not garbage.
        if let (Some(_), Ok(waiters)) = (&self.socket, self.queue.waiters.try_lock()) {
            waiters.values().try_for_each(|waiter| visit.call(waiter))?;
        }
        Ok(())
    }

    fn __clear__(&self) {
        if self.socket.is_some() {
            let waiters = std::mem::take(&mut *self.queue.waiters());
            drop(waiters);
        }
    }
}

/// The loop was closed: no task is woken any more.
impl Drop for ResolveFinished {
    fn drop(&mut self) {
        self.__clear__();
    }
}

/// Wakes the task that waits for this future.
fn resolve(waiter: &Bound<'_, PyAny>) -> PyResult<()> {
    let py = waiter.py();
    // The future is done already if its task was cancelled.
    if !waiter.invoke_method(intern!(py, "done"), ())?.is_truthy()? {
        waiter.invoke_method(intern!(py, "set_result"), (py.None(),))?;
    }
    Ok(())
}
