//! The query, body and headers of a custom request.

use ::http::HeaderMap;
use bytes::Bytes;
use pyo3::{
    exceptions::PyTypeError,
    types::{PyFloat, PyMapping},
    wrap_pyfunction,
};
use serde_json::value::RawValue;

use super::numbers::plain_number;
use crate::interpreter::{
    callback::reading,
    errors::{is_refusal, missing_name, shown},
    texts::text,
};
use crate::prelude::*;
use boardlot_client::extension::http::{Body, header_pair};

/// Query pairs from a dict or a list of pairs, in their order.
pub fn query(value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, String)>> {
    value.map_or_else(|| Ok(Vec::new()), |value| reading(value.py(), || pairs(value)))
}

fn pairs(value: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    const EXPECTED: &str = "a dict or a list of pairs, with strings or numbers as values";
    let refuse = |shown: &str| Err(raise(value.py(), Error::argument("query", shown, EXPECTED)));
    let items = match value.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() => {
            value.clone()
        }
        Err(_) => return Err(wrong_type("query", value, EXPECTED)),
    };
    let mut pairs = Vec::new();
    for item in items.try_iter()? {
        let (name, item) = match item?.extract::<(Bound<'_, PyAny>, Bound<'_, PyAny>)>() {
            Err(error) if is_refusal(value.py(), &error) => {
                return refuse("a list with an entry that is not a pair");
            }
            pair => pair?,
        };
        let name = text("a name in query", &name)?;
        let item = if item.is_instance_of::<PyString>() {
            // An enum member stands for its value.
            item.getattr_opt("value")?.unwrap_or(item)
        } else if let Some(number) = plain_number(&item)? {
            // An int of any size is finite.
            if number.cast::<PyFloat>().is_ok_and(|number| !number.value().is_finite()) {
                let number = shown(&number)?;
                return refuse(&format!("invalid: '{}' is {number}", name.escape_debug()));
            }
            number
        } else {
            let shown = match missing_name(&item)? {
                Some(missing) => missing.to_owned(),
                None => format!("of type {}", item.get_type().name()?),
            };
            let shown = format!("invalid: '{}' is {shown}", name.escape_debug());
            return refuse(&shown);
        };
        let value =
            text(&format!("query: the value of '{}'", name.escape_debug()), item.str()?.as_any())?;
        pairs.push((name, value));
    }
    Ok(pairs)
}

/// A request body: a dict or list as compact JSON, or bytes unchanged.
pub fn body(value: Option<&Bound<'_, PyAny>>) -> PyResult<Body> {
    let Some(value) = value else { return Ok(Body::None) };
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Body::Bytes(Bytes::copy_from_slice(bytes.as_bytes()), None));
    }
    if value.is_instance_of::<PyDict>() || value.is_instance_of::<PyList>() {
        return Ok(Body::Bytes(compact_json("body", value)?.into(), Some("application/json")));
    }
    Err(wrong_type("body", value, "a dict, a list or bytes"))
}

/// Reads the body of a listing: a JSON object, to which a cursor is added for each page.
pub fn body_members(value: Option<&Bound<'_, PyAny>>) -> PyResult<Body> {
    let Some(value) = value else { return Ok(Body::None) };
    let dict = value.cast::<PyDict>().map_err(|_| wrong_type("body", value, "a dict"))?;
    let mut members = Vec::new();
    for (name, member) in dict {
        let raw = RawValue::from_string(compact_json("body", &member)?).map_err(|error| {
            raise(value.py(), Error::config(format!("body cannot be written as JSON: {error}")))
        })?;
        members.push((text("a key of body", &name)?, raw));
    }
    Ok(Body::Json(members))
}

/// Returns the JSON value of an object that `json` does not know: the number for any number,
/// including numpy's, and a bool for a bool of numpy.
#[pyfunction]
fn json_number<'py>(value: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    let class = value.get_type().name()?;
    let module = value.get_type().module()?;
    if module.to_str()? == "numpy" && matches!(class.to_str()?, "bool" | "bool_") {
        return value.invoke_method("item", ());
    }
    if let Some(missing) = missing_name(value)? {
        let text = format!("{missing}, is not JSON serializable; write None, which is null");
        return Err(PyTypeError::new_err(text));
    }
    plain_number(value)?.ok_or_else(|| {
        let sent = match class.to_string_lossy().as_ref() {
            "datetime" | "Timestamp" => "a count since 1970 or a text",
            _ => "often a text",
        };
        PyTypeError::new_err(format!(
            "Object of type {class} is not JSON serializable; write the value as the service sends it, {sent}"
        ))
    })
}

/// Returns a number, including one of numpy, as an int or float; None for other values and for
/// bools.
#[pyfunction]
#[pyo3(name = "_plain_number")]
pub fn python_number<'py>(value: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyAny>>> {
    plain_number(value)
}

/// A value as compact JSON; `name` is the argument, for errors.
pub fn compact_json(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("separators", (",", ":"))?;
    options.set_item("ensure_ascii", false)?;
    options.set_item("allow_nan", false)?;
    options.set_item("default", wrap_pyfunction!(json_number, py)?)?;
    let text = import(py, "json")?.getattr("dumps")?.invoke_named((value,), Some(&options));
    let error = match text.and_then(|text| text.extract()) {
        Err(error) if is_refusal(py, &error) => error,
        text => return text,
    };
    let why = shown(error.value(py).as_any())?;
    Err(raise(py, Error::config(format!("{name} cannot be written as JSON: {why}"))))
}

/// Reads the caller's own headers; `name` is the argument, for messages.
pub fn headers(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<HeaderMap> {
    let read = |value| header_map(name, value);
    value.map_or_else(|| Ok(HeaderMap::new()), |value| reading(value.py(), || read(value)))
}

fn header_map(name: &str, value: &Bound<'_, PyAny>) -> PyResult<HeaderMap> {
    let mut map = HeaderMap::new();
    const EXPECTED: &str = "a dict with strings as keys and values";
    let mapping = value.cast::<PyMapping>().map_err(|_| wrong_type(name, value, EXPECTED))?;
    for item in mapping.items()? {
        let (key, item): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let key = text(&format!("a key of {name}"), &key)?;
        let item = text(&format!("a value of {name}"), &item)?;
        let (key, item) = header_pair(&key, &item).or_raise(value.py())?;
        map.append(key, item);
    }
    Ok(map)
}
