//! The door to the interpreter, which closes when the program ends.
//!
//! A thread that reaches for an interpreter which is going away is ended there and then, in the
//! middle of Rust code, and that ends the whole program with an abort. It reaches for it when it
//! comes back from waiting, and at any moment while Rust code calls Python. So whoever does either
//! is counted as inside; the end of the program waits for those, and nobody comes in after that.

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

static DOOR: PerProcess<Door> = PerProcess::new();

#[derive(Default)]
struct Door {
    state: Mutex<State>,
    left: Condvar,
}

#[derive(Default)]
struct State {
    /// How many are on their way in, or inside for a while.
    inside: usize,
    /// Who closed it: the thread that ends the program.
    closed_by: Option<ThreadId>,
}

/// How long the end of the program waits for those inside; one may sit before a prompt for good.
const PATIENCE: Duration = Duration::from_secs(3);

thread_local! {
    /// What counts this thread as inside, while it stays there.
    static STAYING: Cell<Option<Inside>> = const { Cell::new(None) };

    static CALLED_BACK: Cell<bool> = const { Cell::new(false) };
}

/// Keeps this thread inside while Rust code calls Python, but for its times in `detach`.
pub fn stay(py: Python<'_>) -> Stay {
    let here = STAYING.take();
    let outermost = here.is_none();
    STAYING.set(here.or_else(|| match enter() {
        Ok(inside) => inside,
        Err(Closed) => py.detach(stay_outside),
    }));
    Stay { outermost }
}

pub struct Stay {
    outermost: bool,
}

impl Drop for Stay {
    fn drop(&mut self) {
        if self.outermost {
            STAYING.take();
        }
    }
}

/// Does something that needs no interpreter, and comes back to it.
pub fn detach<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let (outcome, inside, staying) = py.detach(|| {
        let staying = STAYING.take().is_some();
        let outcome = work();
        (outcome, enter_or_stay_outside(), staying)
    });
    if staying {
        STAYING.set(inside);
    }
    outcome
}

/// Comes in for a moment, from within `detach`.
pub fn come_in<T>(work: impl FnOnce(Python<'_>) -> T) -> T {
    let _inside = enter_or_stay_outside();
    Python::attach(work)
}

/// Comes in from a thread that Python does not know, for what only Python can do, such as asking a
/// store of the user's own.
pub fn attach<T>(work: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    let door = DOOR.get_or_make(|| Ok(Door::default()))?;
    let _inside = door.enter().map_err(|_| ErrorKind::Store("the program is ending".into()))?;
    let before = CALLED_BACK.replace(true);
    let outcome = Python::attach(work);
    CALLED_BACK.set(before);
    outcome
}

/// Whether the core called the Python code that runs on this thread, and waits for it: a hook, a
/// store. Such code must not wait in turn for what the core has in use.
pub fn is_called_back() -> bool {
    CALLED_BACK.get()
}

/// Closes the door, and waits for those inside.
pub fn close(py: Python<'_>) {
    if let Ok(door) = DOOR.get_or_make(|| Ok(Door::default())) {
        py.detach(|| {
            let mut state = door.state.lock().unwrap_or_else(PoisonError::into_inner);
            state.closed_by = Some(thread::current().id());
            let emptied = door.left.wait_timeout_while(state, PATIENCE, |state| state.inside > 0);
            drop(emptied);
        });
    }
}

fn enter_or_stay_outside() -> Option<Inside> {
    enter().unwrap_or_else(|Closed| stay_outside())
}

/// The door is closed for all but the thread that closed it.
struct Closed;

/// The thread that ends the program may come in to the last, and is not counted.
fn enter() -> Result<Option<Inside>, Closed> {
    let Ok(door) = DOOR.get_or_make(|| Ok(Door::default())) else { return Ok(None) };
    match door.enter() {
        Ok(inside) => Ok(Some(inside)),
        Err(closed_by) if closed_by == thread::current().id() => Ok(None),
        Err(_) => Err(Closed),
    }
}

/// Waits for the end of the program.
fn stay_outside() -> ! {
    loop {
        thread::park();
    }
}

impl Door {
    fn enter(self: Arc<Self>) -> Result<Inside, ThreadId> {
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

struct Inside(Arc<Door>);

impl Drop for Inside {
    fn drop(&mut self) {
        let mut state = self.0.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.inside -= 1;
        if state.closed_by.is_some() {
            self.0.left.notify_all();
        }
    }
}
