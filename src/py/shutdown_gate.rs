//! The gate to the interpreter, which closes when the program exits.
//!
//! CPython ends any thread that attaches to an interpreter which is shutting down. If that thread is in
//! the middle of Rust code, the whole process aborts. A thread attaches when it returns from waiting,
//! and at any moment while Rust code calls Python. So each thread that does either passes this gate
//! and is counted; the exit waits for the threads inside, and no other thread enters after that.

use std::{
    cell::Cell,
    sync::{Arc, Condvar, Mutex, PoisonError},
    thread::{self, ThreadId},
    time::Duration,
};

use pyo3::prelude::*;

use super::notifier;
use crate::{
    error::{ErrorKind, Result},
    process::PerProcess,
};

static GATE: PerProcess<Gate> = PerProcess::new();

#[derive(Default)]
struct Gate {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    /// The number of threads inside, or about to attach.
    inside: usize,
    /// The thread that closed the gate: the one that exits the program.
    closed_by: Option<ThreadId>,
}

/// How long the exit waits for the threads inside, one of which may be waiting at a prompt.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

thread_local! {
    /// Counts this thread as inside while it runs Rust code that calls Python.
    static ENTERED: Cell<Option<Inside>> = const { Cell::new(None) };

    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };
}

/// Counts this thread as inside while Rust code calls Python, except within `detach`.
pub fn enter(py: Python<'_>) -> Entered {
    let here = ENTERED.take();
    let outermost = here.is_none();
    ENTERED.set(here.or_else(|| match pass() {
        Ok(inside) => inside,
        Err(Closed) => py.detach(park_forever),
    }));
    Entered { outermost }
}

pub struct Entered {
    outermost: bool,
}

impl Drop for Entered {
    fn drop(&mut self) {
        if self.outermost {
            ENTERED.take();
        }
    }
}

/// Runs work that needs no interpreter, and attaches again.
pub fn detach<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let (outcome, inside, had_entered) = py.detach(|| {
        let had_entered = ENTERED.take().is_some();
        let outcome = work();
        (outcome, pass_or_park(), had_entered)
    });
    if had_entered {
        ENTERED.set(inside);
    }
    outcome
}

/// Attaches briefly, within `detach`.
pub fn with_interpreter<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    let _guard = pass_or_park();
    Python::attach(work)
}

/// Attaches for work that only Python can do, such as calling a token store of the caller's own: on a
/// thread of the runtime's blocking pool, or on a caller's thread that is detached.
pub fn attach<T>(work: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    let gate = GATE.get_or_make(|| Ok(Gate::default()))?;
    let _guard = gate.pass().map_err(|_| ErrorKind::Store("the program is exiting".into()))?;
    let before = IN_CALLBACK.replace(true);
    let outcome = Python::attach(work);
    IN_CALLBACK.set(before);
    outcome
}

/// Runs work that attaches several times on this thread, and keeps the thread's Python state until it ends:
/// what Python code has put into a `threading.local` stays there. The work begins detached.
pub fn with_one_thread_state(work: impl FnOnce() + Send) {
    // Once the gate is closed, the work finds that it cannot attach.
    let Ok(entering) = pass() else { return work() };
    let leaving = Python::attach(|py| {
        py.detach(|| {
            drop(entering);
            work();
            // To remove the state, the thread attaches again.
            pass_or_park()
        })
    });
    drop(leaving);
}

/// Whether this thread runs Python code that the core called and waits for: a hook or a store. Such
/// code must not wait for a lock that the core holds.
pub fn is_in_callback() -> bool {
    IN_CALLBACK.get()
}

/// Closes the gate and waits for the threads inside, then joins the notifier. Registered with `atexit`.
#[pyfunction]
#[pyo3(name = "_shut_down")]
pub fn shut_down(py: Python<'_>) {
    close(py);
    notifier::close(py);
}

fn close(py: Python<'_>) {
    if let Ok(gate) = GATE.get_or_make(|| Ok(Gate::default())) {
        py.detach(|| {
            let mut state = gate.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.closed_by = Some(thread::current().id());
            let emptied =
                gate.left.wait_timeout_while(state, CLOSE_TIMEOUT, |state| state.inside > 0);
            drop(emptied);
        });
    }
}

fn pass_or_park() -> Option<Inside> {
    pass().unwrap_or_else(|Closed| park_forever())
}

/// The gate is closed, and this is not the thread that closed it.
struct Closed;

/// The thread that exits the program can always pass, and is not counted.
fn pass() -> Result<Option<Inside>, Closed> {
    let Ok(gate) = GATE.get_or_make(|| Ok(Gate::default())) else { return Ok(None) };
    match gate.pass() {
        Ok(inside) => Ok(Some(inside)),
        Err(closed_by) if closed_by == thread::current().id() => Ok(None),
        Err(_) => Err(Closed),
    }
}

/// Waits until the process has exited.
fn park_forever() -> ! {
    loop {
        thread::park();
    }
}

impl Gate {
    fn pass(self: Arc<Self>) -> Result<Inside, ThreadId> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        match state.closed_by {
            Some(thread) => Err(thread),
            None => {
                state.inside += 1;
                drop(state);
                Ok(Inside(self))
            }
        }
    }
}

/// Counts a thread as inside.
struct Inside(Arc<Gate>);

impl Drop for Inside {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.inside -= 1;
        if state.closed_by.is_some() {
            self.0.left.notify_all();
        }
    }
}
