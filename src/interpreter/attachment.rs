//! Attaches threads to the interpreter, also while the program exits. A callback then fails; PyO3
//! (in `detach`, too) and `thread_end` make any other thread that would attach stay where it is.
#![expect(clippy::disallowed_methods, reason = "here is where threads attach")]

use std::cell::Cell;

use pyo3::prelude::*;

use super::{arrow_call::Attached, thread_end};
use boardlot_client::extension::error::{ErrorKind, Result};

thread_local! {
    static IN_CALLBACK: Cell<bool> = const { Cell::new(false) };

    static IN_INTERRUPTED_CALL: Cell<bool> = const { Cell::new(false) };
}

/// Attaches for work that only Python can do, such as calling a custom token store: on a
/// thread of the callback pool, or on a caller's thread that is detached.
pub fn attach<T>(work: impl FnOnce(Python<'_>) -> Result<T>) -> Result<T> {
    let before = IN_CALLBACK.replace(true);
    let outcome = attach_if_running(work);
    IN_CALLBACK.set(before);
    outcome.ok_or_else(|| ErrorKind::Store("the program is exiting".into()))?
}

/// Attaches briefly, within `detach`; none if the program is exiting.
pub fn with_interpreter<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    in_interrupted_call(|| attach_if_running(work))
}

/// Attaches for the consumer of an Arrow stream, which calls from any thread, attached or not: see
/// `arrow_call`.
pub fn attach_consumer<T>(work: impl FnOnce(Python<'_>) -> T) -> Result<T> {
    let exiting = || ErrorKind::Config("the program is exiting".into());
    thread_end::register();
    let _attached = Attached::new().ok_or_else(exiting)?;
    Ok(Python::try_attach(work).ok_or_else(exiting)?)
}

/// Runs work that attaches several times on this thread, and keeps the thread's Python state until
/// the work ends: values that Python code has put into a `threading.local` stay there. The work
/// begins detached.
pub fn with_one_thread_state(work: impl FnOnce() + Send) {
    let mut work = Some(work);
    attach_if_running(|py| py.detach(|| work.take().map(|work| work())));
    // The program is exiting: the work finds that it cannot attach.
    if let Some(work) = work {
        work();
    }
}

fn attach_if_running<T>(work: impl FnOnce(Python<'_>) -> T) -> Option<T> {
    thread_end::register();
    Python::try_attach(work)
}

/// Runs Python code, such as a signal handler, in the middle of a call that waits.
pub fn in_interrupted_call<T>(work: impl FnOnce() -> T) -> T {
    let before = IN_INTERRUPTED_CALL.replace(true);
    let outcome = work();
    IN_INTERRUPTED_CALL.set(before);
    outcome
}

/// Returns true if a call of the core waits for the Python code that this thread runs: a hook or a
/// store, or a signal handler or finalizer that has interrupted the call.
pub fn is_nested() -> bool {
    IN_CALLBACK.get() || IN_INTERRUPTED_CALL.get()
}
