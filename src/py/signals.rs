//! Ctrl-C while objects are made: the signals' handlers run on the thread that makes them.

use std::cell::Cell;

use pyo3::prelude::*;

/// How many objects are made until signals are looked for: a few milliseconds.
const OBJECTS: u32 = 1 << 12;

thread_local! {
    static MADE: Cell<u32> = const { Cell::new(0) };
}

/// Counts an object, and now and then handles the signals that have come.
#[inline(always)]
pub fn tick(py: Python<'_>) -> PyResult<()> {
    let made = MADE.get().wrapping_add(1);
    MADE.set(made);
    if made.is_multiple_of(OBJECTS) { py.check_signals() } else { Ok(()) }
}
