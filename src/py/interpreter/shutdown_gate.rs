//! The gate to the interpreter, which closes when the program exits.
//!
//! CPython ends any thread that attaches to an interpreter which is shutting down. If that thread is in
//! the middle of Rust code, the whole process aborts. A thread attaches when it returns from waiting,
//! and at any moment while Rust code calls Python. So each thread that does either is counted here: all
//! functions that Python calls enter the gate by their attribute, `#[gated]`. The exit waits for the
//! threads inside, and no other thread enters after that.
//!
//! The gate closes after the last `atexit` handler, when the interpreter itself is about to stop all other
//! threads: until then a handler may wait for a thread that uses boardlot. If the interpreter does not stop
//! them after all, the gate opens again.
#![expect(clippy::disallowed_methods, reason = "the gate is where threads attach and detach")]

use std::{
    cell::{Cell, RefCell},
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread::{self, ThreadId},
    time::{Duration, Instant},
};

use boardlot_gated::gated;
use pyo3::prelude::*;

use super::{arrow_call::Attached, thread_end};
use crate::{
    error::{ErrorKind, Result},
    os::process::{self, PerProcess},
};

static GATE: PerProcess<Gate> = PerProcess::new();

#[derive(Default)]
struct Gate {
    closed: AtomicBool,
    /// The thread that closed the gate, the one that exits the program, and when it was done.
    closed_by: Mutex<Option<(ThreadId, Instant)>>,
    /// The threads that have been inside.
    threads: Mutex<Vec<Weak<InsideFlag>>>,
}

/// True if a thread is inside, or about to attach. It belongs to that thread, so that threads which
/// enter at the same time do not wait for each other.
#[derive(Default)]
struct InsideFlag(AtomicBool);

/// The time that the exit waits for the threads inside. A thread that takes longer is kept where it
/// is; see `thread_end`.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);
const CLOSE_POLL: Duration = Duration::from_millis(1);
/// The time for which the gate is closed before the interpreter begins to shut down. If it does
/// not, what looked like an exit was none: a program can run its `atexit` handlers at any time, and
/// finalizers can follow them.
const CLOSED_MAX: Duration = Duration::from_millis(500);
const WAIT_POLL: Duration = Duration::from_millis(10);

thread_local! {
    static HERE: RefCell<Option<ThreadGate>> = const { RefCell::new(None) };

    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };

    static IN_INTERRUPTED_CALL: Cell<bool> = const { Cell::new(false) };
}

/// This thread at the gate.
struct ThreadGate {
    process: u32,
    gate: Arc<Gate>,
    inside: Arc<InsideFlag>,
    /// The number of calls of `enter` that have not been left.
    depth: u32,
    registration: thread_end::Registration,
}

/// Counts this thread as inside while Rust code calls Python, except within `detach`. For `#[gated]`
/// functions, whose thread is attached.
pub fn enter() -> Entered {
    try_enter().unwrap_or_else(|Closed| Python::attach(|py| py.detach(pass_or_wait)))
}

/// Counts this thread as inside until it is dropped.
pub struct Entered(());

impl Drop for Entered {
    fn drop(&mut self) {
        with_here(|here| here.set_depth(here.depth.saturating_sub(1)));
    }
}

/// Runs work that needs no interpreter, and attaches again.
pub fn detach<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let (outcome, depth) = py.detach(|| {
        let depth = with_here(|here| here.set_depth(0));
        let outcome = work();
        // Counted until this thread is attached again.
        std::mem::forget(pass_or_wait());
        (outcome, depth)
    });
    with_here(|here| here.set_depth(depth.unwrap_or(0)));
    outcome
}

/// Attaches briefly, within `detach`.
pub fn with_interpreter<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    let _entered = pass_or_wait();
    in_interrupted_call(|| Python::attach(work))
}

/// Runs Python code, such as a signal handler, in the middle of a call that waits.
pub fn in_interrupted_call<T>(work: impl FnOnce() -> T) -> T {
    let before = IN_INTERRUPTED_CALL.replace(true);
    let outcome = work();
    IN_INTERRUPTED_CALL.set(before);
    outcome
}

/// Attaches for work that only Python can do, such as calling a custom token store: on a
/// thread of the callback pool, or on a caller's thread that is detached.
pub fn attach<T>(work: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    let _entered =
        try_enter().map_err(|Closed| ErrorKind::Store("the program is exiting".into()))?;
    let before = IN_CALLBACK.replace(true);
    let outcome = Python::attach(work);
    IN_CALLBACK.set(before);
    outcome
}

/// Attaches for the consumer of an Arrow stream, which calls from any thread, attached or not: see
/// `arrow_call`.
pub fn attach_consumer<T>(work: impl FnOnce(Python<'_>) -> T) -> Result<T> {
    let exiting = || ErrorKind::Config("the program is exiting".into());
    let _entered = try_enter().map_err(|Closed| exiting())?;
    let _attached = Attached::new().ok_or_else(exiting)?;
    Ok(Python::try_attach(work).ok_or_else(exiting)?)
}

/// Runs work that attaches several times on this thread, and keeps the thread's Python state until it ends:
/// what Python code has put into a `threading.local` stays there. The work begins detached.
pub fn with_one_thread_state(work: impl FnOnce() + Send) {
    // Once the gate is closed, the work finds that it cannot attach.
    let Ok(_entered) = try_enter() else { return work() };
    Python::attach(|py| detach(py, work));
}

/// Returns true if this thread runs Python code that the core called and waits for: a hook or a
/// store. Such code must not wait for a lock that the core holds.
pub fn is_in_callback() -> bool {
    IN_CALLBACK.get()
}

/// Returns true if a call of the core waits for the Python code that this thread runs: a hook or a
/// store, or a signal handler or finalizer that has interrupted the call.
pub fn is_nested() -> bool {
    IN_CALLBACK.get() || IN_INTERRUPTED_CALL.get()
}

/// Closes the gate when the last `atexit` handler has returned.
///
/// Handlers run in the reverse order of their registration, so that of a module which was imported late
/// runs early. But the interpreter drops them all when the last one has returned, and right after that it
/// begins to stop threads. So nothing but the registry refers to this handler, and it closes the gate
/// when it is dropped.
#[pyclass(frozen, module = "boardlot._core")]
pub struct ExitHandler {
    is_exiting: AtomicBool,
}

impl ExitHandler {
    /// Registers the handler of this process.
    pub fn register(py: Python<'_>) -> PyResult<()> {
        Self::register_new(py, false)
    }

    fn register_new(py: Python<'_>, is_exiting: bool) -> PyResult<()> {
        let handler = Bound::new(py, ExitHandler { is_exiting: AtomicBool::new(is_exiting) })?;
        py.import("atexit")?.call_method1("register", (handler,)).map(drop)
    }
}

#[gated]
impl ExitHandler {
    /// Without an interpreter lock, only the thread that made an object drops it at once. So the thread that
    /// exits makes another handler, which is dropped with the others but not called any more.
    fn __call__(&self, py: Python<'_>) -> PyResult<()> {
        self.is_exiting.store(true, Ordering::Relaxed);
        Self::register_new(py, true)
    }
}

impl Drop for ExitHandler {
    fn drop(&mut self) {
        // Otherwise it was unregistered.
        if self.is_exiting.load(Ordering::Relaxed) {
            Python::attach(|py| py.detach(close));
        }
    }
}

fn close() {
    let Ok(gate) = GATE.get_or_make(|| Ok(Gate::default())) else { return };
    // The exit has two handlers, and waits for the threads inside once.
    let closed_by = gate.closed_by.lock().unwrap_or_else(PoisonError::into_inner).map(|by| by.0);
    if gate.closed.load(Ordering::SeqCst) && closed_by == Some(thread::current().id()) {
        return;
    }
    let close_by_this_thread = |at| {
        let closed = (thread::current().id(), at);
        *gate.closed_by.lock().unwrap_or_else(PoisonError::into_inner) = Some(closed);
        // Either a thread that enters sees this, or this thread sees that it is inside.
        gate.closed.store(true, Ordering::SeqCst);
    };
    let deadline = Instant::now() + CLOSE_TIMEOUT;
    close_by_this_thread(deadline);
    let own = with_here(|here| here.inside.clone()).unwrap_or_default();
    while gate.is_any_other_inside(&own) && Instant::now() < deadline {
        thread::sleep(CLOSE_POLL);
    }
    close_by_this_thread(Instant::now());
}

/// Enters when the gate is open; never if the interpreter is shutting down.
fn pass_or_wait() -> Entered {
    loop {
        match try_enter() {
            Ok(entered) => return entered,
            Err(Closed) => thread::sleep(WAIT_POLL),
        }
    }
}

/// The gate is closed, and this is not the thread that closed it.
struct Closed;

/// Counts this thread as inside. The thread that exits the program can always enter.
fn try_enter() -> Result<Entered, Closed> {
    let entered = with_here(|here| {
        if here.depth == 0 {
            here.inside.0.store(true, Ordering::SeqCst);
            if here.gate.closed.load(Ordering::SeqCst) && !here.gate.opens_for_this_thread() {
                here.inside.0.store(false, Ordering::Release);
                return Err(Closed);
            }
        }
        here.depth += 1;
        Ok(())
    });
    entered.unwrap_or(Ok(())).map(Entered)
}

/// This thread at the gate; none if the thread is ending.
fn with_here<T>(work: impl FnOnce(&mut ThreadGate) -> T) -> Option<T> {
    let result = HERE.try_with(|here| {
        let mut here = here.try_borrow_mut().ok()?;
        let here = match &mut *here {
            Some(here) if here.process == process::id() => here,
            // In a forked child, the threads of the parent do not exist.
            other => {
                let registration = other.take().map(|parent| parent.registration);
                other.insert(ThreadGate::new(registration.unwrap_or_default())?)
            }
        };
        Some(work(here))
    });
    result.ok().flatten()
}

impl ThreadGate {
    fn new(registration: thread_end::Registration) -> Option<Self> {
        let gate = GATE.get_or_make(|| Ok(Gate::default())).ok()?;
        let inside = Arc::new(InsideFlag::default());
        gate.add(&inside);
        Some(ThreadGate { process: process::id(), gate, inside, depth: 0, registration })
    }

    /// Returns the depth before.
    fn set_depth(&mut self, depth: u32) -> u32 {
        if depth == 0 {
            self.inside.0.store(false, Ordering::Release);
        }
        std::mem::replace(&mut self.depth, depth)
    }
}

impl Gate {
    fn add(&self, inside: &Arc<InsideFlag>) {
        let mut threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        // Of threads that have ended.
        threads.retain(|inside| inside.strong_count() > 0);
        threads.push(Arc::downgrade(inside));
    }

    /// Returns true if this is the thread that closed it, or the interpreter was not shut down.
    #[cold]
    fn opens_for_this_thread(&self) -> bool {
        let closed = self.closed_by.lock().unwrap_or_else(PoisonError::into_inner);
        let Some((thread, at)) = *closed else { return true };
        if thread == thread::current().id() {
            return true;
        }
        let is_over = at.elapsed() > CLOSED_MAX && !thread_end::is_finalizing();
        if is_over {
            self.closed.store(false, Ordering::SeqCst);
        }
        is_over
    }

    fn is_any_other_inside(&self, own: &Arc<InsideFlag>) -> bool {
        let threads = self.threads.lock().unwrap_or_else(PoisonError::into_inner);
        let mut others =
            threads.iter().filter_map(Weak::upgrade).filter(|other| !Arc::ptr_eq(other, own));
        others.any(|other| other.0.load(Ordering::SeqCst))
    }
}
