//! JSON values as Python objects.

use std::{collections::HashMap, fmt::Display};

use pyo3::{IntoPyObjectExt, types::PyInt};

use crate::interpreter::{errors::is_refusal, signals::check_periodically};
use crate::prelude::*;
use boardlot_client::extension::decode::{Page, Rows, Value};

/// Converts a JSON value as Python reads it: integers of any size stay integers.
pub fn object<'py>(py: Python<'py>, value: &Value<'_>) -> Result<Bound<'py, PyAny>, ObjectError> {
    Ok(match value {
        Value::Null => py.None().into_bound(py),
        Value::Bool(flag) => flag.into_bound_py_any(py)?,
        Value::Text(text) => text.as_ref().into_bound_py_any(py)?,
        Value::Number(text) => number(py, text)?,
        Value::List(items) => {
            let list = PyList::empty(py);
            for item in items {
                check_periodically(py)?;
                list.append(object(py, item)?)?;
            }
            list.into_any()
        }
        Value::Object(members) => {
            let dict = PyDict::new(py);
            for (name, member) in members {
                check_periodically(py)?;
                dict.set_item(PyString::intern(py, name), object(py, member)?)?;
            }
            dict.into_any()
        }
    })
}

/// Converts a JSON number. Integers of any size stay integers.
pub fn number<'py>(py: Python<'py>, text: &str) -> Result<Bound<'py, PyAny>, ObjectError> {
    if text.contains(['.', 'e', 'E']) {
        // Valid JSON numbers are valid Rust floats.
        return Ok(text.parse::<f64>().unwrap_or(f64::NAN).into_bound_py_any(py)?);
    }
    match text.parse::<i64>() {
        Ok(number) => Ok(number.into_bound_py_any(py)?),
        Err(_) => py.get_type::<PyInt>().invoke((text,)).map_err(|error| {
            // Python itself does not convert integers of thousands of digits.
            if is_refusal(py, &error) {
                ObjectError::LongInteger(text.trim_start_matches('-').len())
            } else {
                ObjectError::Python(error)
            }
        }),
    }
}

/// Returns the members next to the list, as a dict.
pub fn meta<'py>(py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    // If there are several pages for one key, or several without keys, the last one counts.
    let mut last: HashMap<Option<&str>, &Page> = HashMap::new();
    for slice in rows.slices() {
        last.insert(slice.key.as_deref(), &slice.page);
    }
    for slice in rows.slices() {
        let Some(page) = last.remove(&slice.key.as_deref()) else { continue };
        let target = match &slice.key {
            // Each key of `fetch_many` has a dict of its own.
            Some(key) => {
                let own = PyDict::new(py);
                dict.set_item(key.as_ref(), &own)?;
                own
            }
            None => dict.clone(),
        };
        for (name, value) in page.meta() {
            let object =
                object(py, &value).map_err(|error| error.raise(py, name, "the metadata"))?;
            target.set_item(name, object)?;
        }
    }
    Ok(dict)
}

/// Reasons why a value has no Python object.
pub enum ObjectError {
    /// An integer with this many digits, more than Python itself converts.
    LongInteger(usize),
    Python(PyErr),
}

impl From<PyErr> for ObjectError {
    fn from(error: PyErr) -> Self {
        ObjectError::Python(error)
    }
}

impl ObjectError {
    pub fn raise(self, py: Python<'_>, field: &str, of: impl Display) -> PyErr {
        match self {
            ObjectError::LongInteger(digits) => {
                let text = format!(
                    "{field} of {of} is an integer of {digits} digits; expected at most \
                     sys.get_int_max_str_digits(): raise the limit with sys.set_int_max_str_digits()"
                );
                raise(py, Error::conversion(text))
            }
            ObjectError::Python(error) => error,
        }
    }
}
