//! Tells the core of each fork: it need not ask for the id of its process again and again, and no thread is
//! in the middle of what a child could not use, be it the cryptographic library or SQLite.

use std::cell::Cell;
#[cfg(unix)]
use std::time::Duration;

use crate::prelude::*;
use boardlot_client::os::fork_gate::ForkGate;

static SQLITE: ForkGate = ForkGate::new();

/// How often this thread is within SQLite, in `with` statements within each other.
struct Depth(Cell<usize>);

impl Drop for Depth {
    /// A thread that has ended is not inside.
    fn drop(&mut self) {
        if self.0.get() > 0 {
            SQLITE.leave();
        }
    }
}

thread_local!(static DEPTH: Depth = const { Depth(Cell::new(0)) });

fn is_inside() -> bool {
    DEPTH.with(|depth| depth.0.get() > 0)
}

fn enter_sqlite(py: Python<'_>) {
    if !SQLITE.try_enter() {
        py.detach(|| SQLITE.enter());
    }
}

/// `with` it, a thread is within SQLite, whose own locks a forked child would inherit: so the process is not
/// forked meanwhile. Made here, as an interrupt could come between the steps of a function in Python.
#[pyclass(frozen, module = "boardlot._core", name = "_SqliteGate")]
pub struct SqliteGate;

#[gated]
impl SqliteGate {
    #[new]
    fn new() -> Self {
        SqliteGate
    }

    /// Whether this thread is inside.
    #[getter(is_inside)]
    fn is_this_thread_inside(&self) -> bool {
        is_inside()
    }

    fn __enter__(&self, py: Python<'_>) {
        let depth = DEPTH.with(|depth| depth.0.get());
        if depth == 0 {
            enter_sqlite(py);
        }
        DEPTH.with(|inside| inside.0.set(depth + 1));
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) {
        let depth = DEPTH.with(|depth| depth.0.get());
        if depth == 1 {
            SQLITE.leave();
        }
        DEPTH.with(|inside| inside.0.set(depth.saturating_sub(1)));
    }

    /// Lets another thread fork, if one is about to.
    fn pause(&self, py: Python<'_>) {
        let depth = DEPTH.with(|depth| depth.0.take());
        if depth > 0 {
            SQLITE.leave();
            enter_sqlite(py);
            DEPTH.with(|inside| inside.0.set(depth));
        }
    }
}

#[cfg(unix)]
mod handlers {
    use super::*;

    /// Waits for the other threads inside; this one is about to fork.
    #[gated]
    pub fn before(py: Python<'_>) {
        /// Statements of SQLite may take seconds.
        const TIMEOUT: Duration = Duration::from_secs(60);

        if is_inside() {
            SQLITE.leave();
        }
        py.detach(|| SQLITE.close(TIMEOUT));
    }

    /// Lets others enter again: this thread has forked.
    #[gated]
    pub fn in_parent(py: Python<'_>) {
        SQLITE.open();
        if is_inside() {
            enter_sqlite(py);
        }
    }

    /// Forgets the threads of the parent; this is the child.
    #[gated]
    pub fn in_child(py: Python<'_>) {
        SQLITE.reset();
        if is_inside() {
            enter_sqlite(py);
        }
    }
}

/// Begins to.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library has no function for it")]
pub fn watch(module: &Bound<'_, PyModule>) -> PyResult<()> {
    use std::ffi::c_int;

    use boardlot_client::os::{fork_gate::GATE, process};

    /// A signature takes milliseconds.
    const TIMEOUT: Duration = Duration::from_secs(5);

    type Handler = Option<extern "C" fn()>;

    // POSIX, `pthread_atfork`: the third is called in the child, before `fork` returns there. Python's own
    // `os.register_at_fork` would not know of a fork by another library.
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }

    extern "C" fn before() {
        GATE.close(TIMEOUT);
    }

    extern "C" fn in_parent() {
        GATE.open();
    }

    extern "C" fn in_child() {
        GATE.reset();
        process::forget_id();
    }

    // SAFETY: what is called in the child stores two numbers, which a child of a process with threads may
    // do; and the module that contains the handlers is never unloaded.
    if unsafe { pthread_atfork(Some(before), Some(in_parent), Some(in_child)) } == 0 {
        process::remember_id();
    }
    // A thread within SQLite needs the interpreter to leave it, which the handlers above could not let go.
    let handlers = PyDict::new(module.py());
    handlers.set_item("before", wrap_pyfunction!(handlers::before, module)?)?;
    handlers.set_item("after_in_parent", wrap_pyfunction!(handlers::in_parent, module)?)?;
    handlers.set_item("after_in_child", wrap_pyfunction!(handlers::in_child, module)?)?;
    import(module.py(), "os")?.getattr("register_at_fork")?.invoke_named((), Some(&handlers))?;
    Ok(())
}

/// There are none.
#[cfg(not(unix))]
pub fn watch(_module: &Bound<'_, PyModule>) -> PyResult<()> {
    Ok(())
}
