//! Ctrl-C while many objects are made: signal handlers run on the thread that makes them.

use std::cell::Cell;

use pyo3::prelude::*;

use super::callback;

/// The number of objects that are made between two checks: a few milliseconds.
const OBJECTS_PER_CHECK: u32 = 1 << 12;

thread_local! {
    static OBJECTS: Cell<u32> = const { Cell::new(0) };
}

/// Called for each object. Every so often it runs the handlers of signals that have arrived.
pub fn check_periodically(py: Python<'_>) -> PyResult<()> {
    let mut count = OBJECTS.get();
    let checked = check_by_count(py, &mut count);
    OBJECTS.set(count);
    checked
}

/// Does the same as `check_periodically` with the caller's own count, which is faster.
#[inline(always)]
pub fn check_by_count(py: Python<'_>, objects: &mut u32) -> PyResult<()> {
    *objects = objects.wrapping_add(1);
    if objects.is_multiple_of(OBJECTS_PER_CHECK) { callback::check_signals(py) } else { Ok(()) }
}
