//! Calls with arguments that a function does not take.

use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};

use crate::interpreter::callback::{Invoke, import};

/// Raises a `TypeError` that says what to write, if a function that takes arguments of these names was called with
/// others; `#[gated]` puts it into each function.
#[inline]
pub fn check(
    function: &str,
    positional: &[&str],
    named: &[&str],
    others: Option<&Bound<'_, PyTuple>>,
    unknown: Option<&Bound<'_, PyDict>>,
) -> PyResult<()> {
    let others = others.filter(|others| !others.is_empty());
    let unknown = unknown.filter(|unknown| !unknown.is_empty());
    let Some(py) = others.map(Bound::py).or(unknown.map(Bound::py)) else { return Ok(()) };
    let made = import(py, "boardlot._support.wrong_calls").and_then(|module| {
        let given = (function, positional.to_vec(), named.to_vec(), others, unknown);
        module.invoke_method("wrong_call", given)
    });
    Err(made.map_or_else(|error| error, PyErr::from_value))
}
