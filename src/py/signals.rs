//! Ctrl-C while many objects are made: signal handlers run on the thread that makes them.

use std::cell::Cell;

use pyo3::prelude::*;

/// How many objects are made between two checks: a few milliseconds.
pub const OBJECTS_PER_CHECK: u64 = 1 << 12;

thread_local! {
    static OBJECTS: Cell<u64> = const { Cell::new(0) };
}

/// Called for each object. Every so often it runs the handlers of signals that have arrived.
#[inline(always)]
pub fn check_periodically(py: Python<'_>) -> PyResult<()> {
    let objects = OBJECTS.get().wrapping_add(1);
    OBJECTS.set(objects);
    if objects.is_multiple_of(OBJECTS_PER_CHECK) { py.check_signals() } else { Ok(()) }
}
