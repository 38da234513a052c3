//! The cores of objects that callers build, whose classes are Python.

use pyo3::PyTypeCheck;

use crate::prelude::*;

/// Returns the core of an object, such as a `RateLimit`; none if the object is not of the Python
/// class whose core is a `T`.
pub fn core_of<'py, T: PyTypeCheck>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, T>>> {
    let core = object.getattr_opt(intern!(object.py(), "_boardlot_core"))?;
    Ok(core.and_then(|core| core.cast_into().ok()))
}
