//! Numbers of callers, of Python and of other libraries. A bool is not one.

use pyo3::{
    conversion::FromPyObjectOwned,
    exceptions::PyTypeError,
    types::{PyBool, PyFloat},
};

use crate::interpreter::{
    callback::{self, no_stop_iteration},
    errors::is_error,
};
use crate::prelude::*;

/// Returns true for a bool, also of numpy: it is not a number.
pub fn is_bool(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_numpy = |class: &Bound<'_, PyType>| {
        Ok::<_, PyErr>(class.name()?.to_cow()?.starts_with("bool") && class.module()? == "numpy")
    };
    Ok(value.is_instance_of::<PyBool>() || is_numpy(&value.get_type())?)
}

/// A number as an argument of a function: `#[pyo3(from_py_with = number)]`. What is not a number is
/// converted as it is elsewhere.
pub fn number<'py, T: FromPyObjectOwned<'py>>(value: &Bound<'py, PyAny>) -> PyResult<T> {
    // It runs before the body of that function.
    if is_bool(value).map_err(|error| no_stop_iteration(value.py(), error))? {
        return Err(PyTypeError::new_err("a bool is not a number"));
    }
    callback::argument(value)
}

/// The int or float that a number is, also of other libraries such as numpy; none for other values and for
/// bools.
pub fn plain_number<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    let py = value.py();
    if value.is_instance_of::<PyFloat>() {
        return Ok(Some(value.clone()));
    }
    let converted = if is_bool(value)? {
        return Ok(None);
    } else if value.hasattr("__index__")? {
        value.invoke_method("__index__", ())
    } else {
        let numbers = import(py, "numbers")?;
        let is = |class: &str| value.is_instance(&numbers.getattr(class)?);
        if !is("Real")? || is("Rational")? {
            return Ok(None);
        }
        value.invoke_method("__float__", ())
    };
    match converted {
        Err(error) if is_error(py, &error) => Ok(None),
        converted => converted.map(Some),
    }
}
