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

/// How long the exit waits for the threads inside; one may be waiting at a prompt forever.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(3);

thread_local! {
    /// Counts this thread as inside while it runs Rust code that calls Python.
    static ENTERED: Cell<Option<Inside>> = const { Cell::new(None) };

    static CALLED_BACK: Cell<bool> = const { Cell::new(false) };
}

/// Counts this thread as inside while Rust code calls Python, except during `detach`.
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

/// Does work that needs no interpreter, and attaches again.
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

/// Attaches for a moment, from within `detach`.
pub fn with_interpreter<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    let _inside = pass_or_park();
    Python::attach(work)
}

/// Attaches from a thread that Python does not know, for work that only Python can do, such as calling
/// a user's own token store.
pub fn attach<T>(work: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    let gate = GATE.get_or_make(|| Ok(Gate::default()))?;
    let _inside = gate.pass().map_err(|_| ErrorKind::Store("the program is exiting".into()))?;
    let before = CALLED_BACK.replace(true);
    let outcome = Python::attach(work);
    CALLED_BACK.set(before);
    outcome
}

/// Whether the core called the Python code that runs on this thread, and waits for it: a hook or a
/// store. Such code must not wait in turn for what the core has in use.
pub fn is_called_back() -> bool {
    CALLED_BACK.get()
}

/// Closes the gate, and waits for the threads inside.
pub fn close(py: Python<'_>) {
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

/// The gate is closed to every thread but the one that closed it.
struct Closed;

/// The thread that exits the program may pass to the last, and is not counted.
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
