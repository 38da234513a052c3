//! The errors for what a pager does not have, because it does not know what follows.

use pyo3::exceptions::PyTypeError;

use crate::py::calls::call::CallMode;
use crate::py::prelude::*;

/// The error for `pager[0]`, and for `for` over an async pager.
pub fn no_index(mode: CallMode) -> PyErr {
    PyTypeError::new_err(match mode {
        CallMode::Sync => "a pager has no indices: call `next(pager)` for a row, or `pager.all()`",
        CallMode::Async => {
            "an AsyncPager is asynchronous and has no indices: write `async for`, or \
             `await pager.all()`"
        }
    })
}
