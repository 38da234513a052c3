//! The door to the interpreter, which closes when the program ends.
//!
//! A thread that reaches for an interpreter which is going away is ended there and then, in the
//! middle of Rust code, and that ends the whole program with an abort. So whoever comes back from
//! waiting goes through here, and stays outside once the door is closed.

use std::{
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

/// Does something that needs no interpreter, and comes back to it.
pub fn detach<T: Send>(py: Python<'_>, work: impl FnOnce() -> T + Send) -> T {
    let (outcome, _inside) = py.detach(|| {
        let outcome = work();
        (outcome, enter_or_stay_outside())
    });
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
    Python::attach(work)
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

/// The thread that ends the program may come in to the last; any other waits for that end here.
fn enter_or_stay_outside() -> Option<Inside> {
    let door = DOOR.get_or_make(|| Ok(Door::default())).ok()?;
    match door.enter() {
        Ok(inside) => Some(inside),
        Err(closed_by) if closed_by == thread::current().id() => None,
        Err(_) => loop {
            thread::park();
        },
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
