//! The errors for what records, pagers and responses do not have, with what to call instead.

use crate::prelude::*;
use pyo3::{exceptions::PyTypeError, types::PyAny};

/// The error for an attribute, such as `to_df`.
pub fn no_attribute(rows: &Bound<'_, PyAny>, name: &str) -> PyErr {
    let made = import(rows.py(), "boardlot._support.clients")
        .and_then(|module| module.invoke_method("missing_attribute", (rows, name)));
    made.map_or_else(|error| error, PyErr::from_value)
}

/// The error for a key that is neither a number nor a slice, such as the name of a field.
pub fn no_index(key: &Bound<'_, PyAny>) -> PyErr {
    let class = key.get_type().name().map_or_else(|_| String::new(), |name| name.to_string());
    PyTypeError::new_err(format!(
        "records are indexed by integers or slices, not {class}; for a field, write \
         `records[0]['code']`, or `records.to_pandas()['code']` for all of its values"
    ))
}
