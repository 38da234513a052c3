//! Records as Python objects: the service's own values, or typed by the schema.

use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyDict, PyInt, PyList, PyString},
};

use super::{
    arguments::DateClasses,
    errors::raise,
    once::{Once, intern},
};
use crate::{
    api::{Field, Kind},
    decode::{RowAt, Rows, Value, calendar_date, unfit},
    error::Error,
};

/// A record as a dict of the service's own values: the simple way, beside `shapes`.
pub fn dict<'py>(
    py: Python<'py>,
    key_name: Option<&'static str>,
    row: RowAt<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = keyed(py, key_name, row)?;
    for (name, raw) in row.members().map_err(|error| raise(py, error))? {
        let value = Value::parse(raw.get()).map_err(|error| raise(py, row.broken(&error)))?;
        dict.set_item(PyString::intern(py, &name), object(py, &value)?)?;
    }
    Ok(dict)
}

/// A record as a dict of `Decimal`, `datetime`, `date` and `None` where the schema says so.
pub fn typed_dict<'py>(
    py: Python<'py>,
    rows: &Rows,
    row: RowAt<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = keyed(py, rows.key_name(), row)?;
    for (name, raw) in row.members().map_err(|error| raise(py, error))? {
        let value = Value::parse(raw.get()).map_err(|error| raise(py, row.broken(&error)))?;
        let field = rows.fields().iter().find(|field| field.name == name);
        let object = match field {
            Some(field) => typed(py, field, &value)
                .ok_or_else(|| raise(py, unfit(&name, row.index, raw.get())))??,
            None => object(py, &value)?,
        };
        dict.set_item(PyString::intern(py, &name), object)?;
    }
    Ok(dict)
}

fn keyed<'py>(
    py: Python<'py>,
    key_name: Option<&'static str>,
    row: RowAt<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    if let (Some(name), Some(key)) = (key_name, row.key) {
        dict.set_item(PyString::intern(py, name), key)?;
    }
    Ok(dict)
}

/// A JSON value as Python reads it: integers of any size stay integers.
pub fn object<'py>(py: Python<'py>, value: &Value<'_>) -> PyResult<Bound<'py, PyAny>> {
    match value {
        Value::Null => Ok(py.None().into_bound(py)),
        Value::Bool(flag) => flag.into_bound_py_any(py),
        Value::Text(text) => text.as_ref().into_bound_py_any(py),
        Value::Number(text) => number(py, text),
        Value::List(items) => {
            let list = PyList::empty(py);
            for item in items {
                list.append(object(py, item)?)?;
            }
            Ok(list.into_any())
        }
        Value::Object(members) => {
            let dict = PyDict::new(py);
            for (name, member) in members {
                dict.set_item(PyString::intern(py, name), object(py, member)?)?;
            }
            Ok(dict.into_any())
        }
    }
}

/// Integers of any size stay integers.
pub fn number<'py>(py: Python<'py>, text: &str) -> PyResult<Bound<'py, PyAny>> {
    if text.contains(['.', 'e', 'E']) {
        // Valid JSON numbers are valid floats.
        return text.parse::<f64>().unwrap_or(f64::NAN).into_bound_py_any(py);
    }
    match text.parse::<i64>() {
        Ok(number) => number.into_bound_py_any(py),
        Err(_) => py.get_type::<PyInt>().call1((text,)).map_err(|_| {
            // Python itself refuses to read integers of thousands of digits.
            let text = format!("the answer holds an integer of {} digits", text.len());
            raise(py, Error::protocol(text, b""))
        }),
    }
}

/// The value by its field's kind; nothing where the kind cannot hold it.
fn typed<'py>(
    py: Python<'py>,
    field: &Field,
    value: &Value<'_>,
) -> Option<PyResult<Bound<'py, PyAny>>> {
    let none = || Some(Ok(py.None().into_bound(py)));
    let text = match value {
        Value::Null => return none(),
        Value::Text(text) => text.as_ref(),
        Value::Number(text) => text,
        _ if matches!(field.kind, Kind::Decimal | Kind::Timestamp(..) | Kind::Date) => return None,
        _ => "",
    };
    match field.kind {
        Kind::Decimal => match text {
            "" => none(),
            text => {
                Some(decimal_class(py).and_then(|class| class.call1((text,)))).filter(Result::is_ok)
            }
        },
        Kind::Timestamp(unit, _) => match text {
            "" | "0" => none(),
            text => {
                let count = text.parse::<i64>().ok()?;
                let micros = count.checked_mul(1_000_000 / unit.per_second())?;
                let time = DateClasses::get(py).and_then(|classes| classes.datetime_of(py, micros));
                Some(time).filter(Result::is_ok)
            }
        },
        Kind::Date => match text {
            "" | "--" => none(),
            text => {
                let date = calendar_date(text)?;
                Some(DateClasses::get(py).and_then(|classes| {
                    classes.date.bind(py).call1((date.year(), date.month(), date.day()))
                }))
            }
        },
        // As the columns have it, whichever way it was sent.
        Kind::Integer if matches!(value, Value::Text(_)) => {
            Some(text.parse::<i64>().ok()?.into_bound_py_any(py))
        }
        Kind::Text | Kind::Integer | Kind::Number | Kind::Flag | Kind::Object(_) => {
            Some(object(py, value))
        }
    }
}

fn decimal_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static DECIMAL: Once<Py<PyAny>> = Once::new();
    DECIMAL.import(py, "decimal", "Decimal")
}

/// What stood beside the list, as a dict.
pub fn meta<'py>(py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    for piece in rows.pieces() {
        let target = match &piece.key {
            // Of many keys, each has its own.
            Some(key) => {
                let own = PyDict::new(py);
                dict.set_item(key.as_ref(), &own)?;
                own
            }
            None => {
                dict.call_method0(intern!(py, "clear"))?;
                dict.clone()
            }
        };
        for (name, value) in piece.page.meta() {
            target.set_item(name, object(py, &value)?)?;
        }
    }
    Ok(dict)
}
