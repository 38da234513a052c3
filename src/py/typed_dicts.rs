//! Records as dicts of typed values, by their schema.

use std::collections::HashMap;

use pyo3::{
    IntoPyObjectExt,
    prelude::*,
    types::{PyDict, PyString},
};

use super::{
    dates::DateClasses,
    errors::raise,
    fork_safe_cell::ForkSafeOnce,
    objects::{ObjectError, dict_with_key, object},
    signals::check_periodically,
};
use crate::{
    api::{Field, Kind, TimeUnit},
    decode::{
        PushError, Raw, RecordNumber, RowAt, Rows, TypedValue, Value, field_name, parse_members,
        parse_typed, type_mismatch,
    },
};

/// Converts records to dicts with `Decimal`, `datetime`, `date` and `None` as their schema declares,
/// by the same rules as typed columns.
pub struct TypedDicts<'r> {
    key_name: Option<&'r str>,
    fields: HashMap<&'r str, &'r Field>,
}

impl<'r> TypedDicts<'r> {
    pub fn new(rows: &'r Rows) -> Self {
        let fields = rows.fields().iter().rev().map(|field| (field.name.as_ref(), field)).collect();
        TypedDicts { key_name: rows.key_name(), fields }
    }

    pub fn dict<'py>(&self, py: Python<'py>, row: RowAt<'_>) -> PyResult<Bound<'py, PyDict>> {
        let dict = dict_with_key(py, self.key_name, row)?;
        for (name, raw) in row.members().map_err(|error| raise(py, error))? {
            let invalid_json = |error: serde_json::Error| raise(py, row.invalid(&error));
            let object = match self.fields.get(name.as_ref()) {
                Some(field) => {
                    let object = typed_object(py, field.kind, raw.get()).map_err(invalid_json)?;
                    object.map_err(|error| error.raise(py, &name, row.number, raw.get()))?
                }
                None => {
                    let value = Value::parse(raw.get()).map_err(invalid_json)?;
                    object(py, &value).map_err(|error| error.raise(py, &name, row.number))?
                }
            };
            dict.set_item(PyString::intern(py, &field_name(self.key_name, &name)), object)?;
        }
        Ok(dict)
    }
}

/// Why a value has no object of its declared kind.
enum TypedError {
    /// It is not of that kind.
    Mismatch,
    Object(ObjectError),
}

impl<E: Into<ObjectError>> From<E> for TypedError {
    fn from(error: E) -> Self {
        TypedError::Object(error.into())
    }
}

impl TypedError {
    fn raise(self, py: Python<'_>, field: &str, number: RecordNumber, json: &str) -> PyErr {
        match self {
            TypedError::Mismatch => raise(py, type_mismatch(field, number, json)),
            TypedError::Object(error) => error.raise(py, field, number),
        }
    }
}

type TypedResult<'py> = Result<Bound<'py, PyAny>, TypedError>;

/// The object of a value by its declared kind; the outer error is for invalid JSON.
fn typed_object<'py>(
    py: Python<'py>,
    kind: Kind,
    json: &str,
) -> serde_json::Result<TypedResult<'py>> {
    let value = match parse_typed(kind, Raw::new(json)) {
        Ok(value) => value,
        Err(PushError::Missing) => return Ok(Ok(py.None().into_bound(py))),
        Err(_) => return Ok(Err(TypedError::Mismatch)),
    };
    Ok(match value {
        TypedValue::Text(text) => text.as_ref().into_bound_py_any(py).map_err(TypedError::from),
        TypedValue::Integer(number) => number.into_bound_py_any(py).map_err(TypedError::from),
        TypedValue::Number(number) => number.into_bound_py_any(py).map_err(TypedError::from),
        TypedValue::Flag(flag) => flag.into_bound_py_any(py).map_err(TypedError::from),
        TypedValue::Decimal(text) => decimal_class(py)
            .and_then(|class| class.call1((text.as_ref(),)))
            .map_err(TypedError::from),
        TypedValue::Timestamp(time) => match kind {
            Kind::Timestamp(unit, _) => datetime(py, time, unit).map_err(TypedError::from),
            _ => Err(TypedError::Mismatch),
        },
        TypedValue::Date(date) => DateClasses::get(py)
            .and_then(|classes| {
                classes.date.bind(py).call1((date.year(), date.month(), date.day()))
            })
            .map_err(TypedError::from),
        TypedValue::Object => {
            let Kind::Object(fields) = kind else { return Ok(Err(TypedError::Mismatch)) };
            return typed_members(py, fields, json);
        }
    })
}

fn typed_members<'py>(
    py: Python<'py>,
    fields: &[Field],
    json: &str,
) -> serde_json::Result<TypedResult<'py>> {
    let dict = PyDict::new(py);
    for (name, raw) in parse_members(json)? {
        let object = match fields.iter().find(|field| field.name == name) {
            Some(field) => typed_object(py, field.kind, raw.get())?,
            None => object(py, &Value::parse(raw.get())?).map_err(TypedError::from),
        };
        let set = object.and_then(|object| {
            check_periodically(py)?;
            Ok(dict.set_item(PyString::intern(py, &name), object)?)
        });
        if let Err(error) = set {
            return Ok(Err(error));
        }
    }
    Ok(Ok(dict.into_any()))
}

/// `time` is known to be within the years that a `datetime` supports.
fn datetime(py: Python<'_>, time: i64, unit: TimeUnit) -> PyResult<Bound<'_, PyAny>> {
    let micros = time.saturating_mul(1_000_000 / unit.per_second());
    DateClasses::get(py)?.datetime_of(py, micros)
}

fn decimal_class(py: Python<'_>) -> PyResult<&Bound<'_, PyAny>> {
    static DECIMAL: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();
    DECIMAL.import(py, "decimal", "Decimal")
}
