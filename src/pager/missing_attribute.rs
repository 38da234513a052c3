//! The errors for what a pager does not have, because it does not know what follows.

use pyo3::exceptions::{PyTypeError, PyUserWarning};

use super::pager_state::PagerState;
use crate::calls::call::CallMode;
use crate::prelude::*;

/// The error for `pager[0]`, and for `for` over an async pager.
pub fn no_index(mode: CallMode) -> PyErr {
    PyTypeError::new_err(match mode {
        CallMode::Sync => {
            "a pager has no indices: call `next(pager)` for a row, `pager.all(max_items=5)` for some \
             or `pager.all()`"
        }
        CallMode::Async => {
            "an AsyncPager is asynchronous and has no indices: write `async for`, or \
             `await pager.all()`"
        }
    })
}

/// The warning for a second loop over a pager.
pub fn warn_if_exhausted(py: Python<'_>, state: &PagerState) -> PyResult<()> {
    let text = c"this pager is used up, so the loop has no rows: make a new pager, or keep \
                 `rows = pager.all()` and loop over that";
    match state.delivery(py)?.is_exhausted() {
        true => PyErr::warn(py, &py.get_type::<PyUserWarning>(), text, 1),
        false => Ok(()),
    }
}
