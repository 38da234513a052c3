//! Records as Python objects: the service's own values, or typed by the schema.

use std::{collections::HashMap, fmt::Display};

use pyo3::{
    IntoPyObjectExt,
    exceptions::PyValueError,
    prelude::*,
    types::{PyDict, PyInt, PyList, PyString},
};

use super::{
    dates::DateClasses, errors::raise, fork_safe_cell::ForkSafeOnce, signals::check_periodically,
};
use crate::{
    api::{Field, Kind, TimeUnit},
    decode::{
        Page, PushError, Raw, RecordNumber, RowAt, Rows, TypedValue, Value, field_name,
        parse_members, parse_typed, type_mismatch,
    },
    error::Error,
};

/// Why a value is no Python object.
pub enum Failed {
    /// An integer of so many digits, which Python itself refuses to read.
    LongInteger(usize),
    Python(PyErr),
}

impl From<PyErr> for Failed {
    fn from(error: PyErr) -> Self {
        Failed::Python(error)
    }
}

impl Failed {
    fn raised(self, py: Python<'_>, field: &str, of: impl Display) -> PyErr {
        match self {
            Failed::LongInteger(digits) => {
                let text = format!(
                    "{field} of {of} is an integer of {digits} digits, and Python reads no more \
                     than sys.get_int_max_str_digits() of them"
                );
                raise(py, Error::protocol(text, b""))
            }
            Failed::Python(error) => error,
        }
    }
}

/// A record as a dict of the service's own values: the simple way, beside `shapes`.
pub fn dict<'py>(
    py: Python<'py>,
    key_name: Option<&'static str>,
    row: RowAt<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    let dict = keyed(py, key_name, row)?;
    for (name, raw) in row.members().map_err(|error| raise(py, error))? {
        let value = Value::parse(raw.get()).map_err(|error| raise(py, row.invalid(&error)))?;
        let object = object(py, &value).map_err(|failed| failed.raised(py, &name, row.number))?;
        dict.set_item(PyString::intern(py, &field_name(key_name, &name)), object)?;
    }
    Ok(dict)
}

/// What reads records as dicts of `Decimal`, `datetime`, `date` and `None` where their schema says
/// so: what is taken for a value of its kind is what the columns take.
pub struct TypedDicts {
    key_name: Option<&'static str>,
    fields: HashMap<&'static str, &'static Field>,
}

impl TypedDicts {
    pub fn of(rows: &Rows) -> Self {
        let fields = rows.fields().iter().rev().map(|field| (field.name, *field)).collect();
        TypedDicts { key_name: rows.key_name(), fields }
    }

    pub fn dict<'py>(&self, py: Python<'py>, row: RowAt<'_>) -> PyResult<Bound<'py, PyDict>> {
        let dict = keyed(py, self.key_name, row)?;
        for (name, raw) in row.members().map_err(|error| raise(py, error))? {
            let broken = |error: serde_json::Error| raise(py, row.invalid(&error));
            let object = match self.fields.get(name.as_ref()) {
                Some(field) => {
                    let object = typed_object(py, field.kind, raw.get()).map_err(broken)?;
                    object.map_err(|failed| failed.raised(py, &name, row.number, raw.get()))?
                }
                None => {
                    let value = Value::parse(raw.get()).map_err(broken)?;
                    object(py, &value).map_err(|failed| failed.raised(py, &name, row.number))?
                }
            };
            dict.set_item(PyString::intern(py, &field_name(self.key_name, &name)), object)?;
        }
        Ok(dict)
    }
}

fn keyed<'py>(
    py: Python<'py>,
    key_name: Option<&'static str>,
    row: RowAt<'_>,
) -> PyResult<Bound<'py, PyDict>> {
    check_periodically(py)?;
    let dict = PyDict::new(py);
    if let (Some(name), Some(key)) = (key_name, row.key) {
        dict.set_item(PyString::intern(py, name), key)?;
    }
    Ok(dict)
}

/// A JSON value as Python reads it: integers of any size stay integers.
pub fn object<'py>(py: Python<'py>, value: &Value<'_>) -> Result<Bound<'py, PyAny>, Failed> {
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

/// Integers of any size stay integers.
pub fn number<'py>(py: Python<'py>, text: &str) -> Result<Bound<'py, PyAny>, Failed> {
    if text.contains(['.', 'e', 'E']) {
        // Valid JSON numbers are valid floats.
        return Ok(text.parse::<f64>().unwrap_or(f64::NAN).into_bound_py_any(py)?);
    }
    match text.parse::<i64>() {
        Ok(number) => Ok(number.into_bound_py_any(py)?),
        Err(_) => py.get_type::<PyInt>().call1((text,)).map_err(|error| {
            // Python itself refuses to read integers of thousands of digits.
            if error.is_instance_of::<PyValueError>(py) {
                Failed::LongInteger(text.trim_start_matches('-').len())
            } else {
                Failed::Python(error)
            }
        }),
    }
}

/// Why a value is no object of its declared kind.
enum Untyped {
    /// It is not of that kind.
    Unfit,
    Value(Failed),
}

impl<E: Into<Failed>> From<E> for Untyped {
    fn from(error: E) -> Self {
        Untyped::Value(error.into())
    }
}

impl Untyped {
    fn raised(self, py: Python<'_>, field: &str, number: RecordNumber, json: &str) -> PyErr {
        match self {
            Untyped::Unfit => raise(py, type_mismatch(field, number, json)),
            Untyped::Value(failed) => failed.raised(py, field, number),
        }
    }
}

type Objects<'py> = Result<Bound<'py, PyAny>, Untyped>;

/// The value by its declared kind; the outer error is broken JSON.
fn typed_object<'py>(py: Python<'py>, kind: Kind, json: &str) -> serde_json::Result<Objects<'py>> {
    let value = match parse_typed(kind, Raw::new(json)) {
        Ok(value) => value,
        Err(PushError::Missing) => return Ok(Ok(py.None().into_bound(py))),
        Err(_) => return Ok(Err(Untyped::Unfit)),
    };
    Ok(match value {
        TypedValue::Text(text) => text.as_ref().into_bound_py_any(py).map_err(Untyped::from),
        TypedValue::Integer(number) => number.into_bound_py_any(py).map_err(Untyped::from),
        TypedValue::Number(number) => number.into_bound_py_any(py).map_err(Untyped::from),
        TypedValue::Flag(flag) => flag.into_bound_py_any(py).map_err(Untyped::from),
        TypedValue::Decimal(text) => {
            decimal_class(py).and_then(|class| class.call1((text.as_ref(),))).map_err(Untyped::from)
        }
        TypedValue::Timestamp(count) => match kind {
            Kind::Timestamp(unit, _) => datetime(py, count, unit).map_err(Untyped::from),
            _ => Err(Untyped::Unfit),
        },
        TypedValue::Date(date) => DateClasses::get(py)
            .and_then(|classes| {
                classes.date.bind(py).call1((date.year(), date.month(), date.day()))
            })
            .map_err(Untyped::from),
        TypedValue::Object => {
            let Kind::Object(fields) = kind else { return Ok(Err(Untyped::Unfit)) };
            return typed_members(py, fields, json);
        }
    })
}

fn typed_members<'py>(
    py: Python<'py>,
    fields: &[Field],
    json: &str,
) -> serde_json::Result<Objects<'py>> {
    let dict = PyDict::new(py);
    for (name, raw) in parse_members(json)? {
        let object = match fields.iter().find(|field| field.name == name) {
            Some(field) => typed_object(py, field.kind, raw.get())?,
            None => object(py, &Value::parse(raw.get())?).map_err(Untyped::from),
        };
        let set = object.and_then(|object| {
            check_periodically(py)?;
            Ok(dict.set_item(PyString::intern(py, &name), object)?)
        });
        if let Err(untyped) = set {
            return Ok(Err(untyped));
        }
    }
    Ok(Ok(dict.into_any()))
}

/// `count` was found to be within the years that a `datetime` can hold.
fn datetime(py: Python<'_>, count: i64, unit: TimeUnit) -> PyResult<Bound<'_, PyAny>> {
    let micros = count.saturating_mul(1_000_000 / unit.per_second());
    DateClasses::get(py)?.datetime_of(py, micros)
}

fn decimal_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static DECIMAL: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();
    DECIMAL.import(py, "decimal", "Decimal")
}

/// What stood beside the list, as a dict.
pub fn meta<'py>(py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    // Of several pages for the same key, or for none, the last one counts.
    let mut last: HashMap<Option<&str>, &Page> = HashMap::new();
    for slice in rows.slices() {
        last.insert(slice.key.as_deref(), &slice.page);
    }
    for slice in rows.slices() {
        let Some(page) = last.remove(&slice.key.as_deref()) else { continue };
        let target = match &slice.key {
            // Of many keys, each has its own.
            Some(key) => {
                let own = PyDict::new(py);
                dict.set_item(key.as_ref(), &own)?;
                own
            }
            None => dict.clone(),
        };
        for (name, value) in page.meta() {
            let object = object(py, &value)
                .map_err(|failed| failed.raised(py, name, "what stands beside the list"))?;
            target.set_item(name, object)?;
        }
    }
    Ok(dict)
}
