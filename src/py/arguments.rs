//! Arguments from Python, checked for their type here and for their value by the endpoint's row.

use ::http::HeaderMap;
use bytes::Bytes;
use jiff::{Timestamp, civil::Date};
use pyo3::{
    prelude::*,
    types::{PyBool, PyBytes, PyDict, PyFloat, PyInt, PyList, PyMapping, PyString, PyTuple},
};
use serde_json::value::RawValue;

use super::{
    errors::{raise, wrong_type},
    fork_safe_cell::ForkSafeOnce,
};
use crate::{
    api::Argument,
    error::Error,
    http::{Body, header_pair},
};

/// An argument of a typed method.
pub fn argument(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Argument> {
    let py = value.py();
    let refuse = |what: &str, expected: &str| Err(raise(py, Error::argument(name, what, expected)));
    if value.is_instance_of::<PyBool>() {
        return refuse(&typed(value)?, EXPECTED);
    }
    if let Ok(text) = value.cast::<PyString>() {
        // A lone surrogate cannot be sent.
        return match text.to_str() {
            Ok(text) => Ok(Argument::Text(text.to_owned())),
            Err(_) => refuse("not valid Unicode", "a string without lone surrogates"),
        };
    }
    // Whole numbers of other libraries too, such as numpy's: in the endpoint's own unit.
    if value.hasattr("__index__")? {
        return match value.call_method0("__index__") {
            Ok(number) => match number.extract::<i128>() {
                Ok(number) => Ok(Argument::Integer(number)),
                Err(_) => refuse("out of range", "an integer of at most 127 bits"),
            },
            Err(_) => refuse(&typed(value)?, EXPECTED),
        };
    }
    let classes = DateClasses::get(py)?;
    if value.is_instance(classes.datetime.bind(py))? {
        if value.getattr("tzinfo")?.is_none() || value.call_method0("utcoffset")?.is_none() {
            let shown = format!("{value}, a naive datetime");
            return refuse(
                &shown,
                "an aware datetime: write datetime(..., tzinfo=timezone.utc) or \
                 .replace(tzinfo=ZoneInfo('Asia/Hong_Kong'))",
            );
        }
        let since = value.sub(classes.epoch.bind(py))?;
        let micros = since.floor_div(classes.microsecond.bind(py))?.extract::<i64>()?;
        return match (Timestamp::from_microsecond(micros), date(value)?) {
            (Ok(instant), Some(date)) => Ok(Argument::Instant(instant, date)),
            _ => refuse("out of range", "a datetime in the years 1 to 9999"),
        };
    }
    if value.is_instance(classes.date.bind(py))? {
        return match date(value)? {
            Some(date) => Ok(Argument::Date(date)),
            None => refuse("out of range", "a date in the years 1 to 9999"),
        };
    }
    refuse(&typed(value)?, EXPECTED)
}

const EXPECTED: &str = "a string, an integer, a date or an aware datetime";

/// A value with its type, for an error message.
fn typed(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let shown: String = value.repr()?.to_string().chars().take(64).collect();
    Ok(format!("{shown}, of type {}", value.get_type().name()?))
}

/// The calendar date that a `date`, or a `datetime` in its own time zone, shows.
fn date(value: &Bound<'_, PyAny>) -> PyResult<Option<Date>> {
    let field = |name: &str| value.getattr(name)?.extract::<i16>();
    let (year, month, day) = (field("year")?, field("month")?, field("day")?);
    let (Ok(month), Ok(day)) = (i8::try_from(month), i8::try_from(day)) else { return Ok(None) };
    Ok(Date::new(year, month, day).ok())
}

/// The classes of `datetime`, loaded when first needed.
pub struct DateClasses {
    pub datetime: Py<PyAny>,
    pub date: Py<PyAny>,
    pub timedelta: Py<PyAny>,
    /// 1970-01-01 in UTC.
    pub epoch: Py<PyAny>,
    pub microsecond: Py<PyAny>,
}

impl DateClasses {
    pub fn get(py: Python<'_>) -> PyResult<&Self> {
        static CLASSES: ForkSafeOnce<DateClasses> = ForkSafeOnce::new();
        CLASSES.get_or_try_init(py, || {
            let module = py.import("datetime")?;
            let datetime = module.getattr("datetime")?;
            let timedelta = module.getattr("timedelta")?;
            let utc = module.getattr("timezone")?.getattr("utc")?;
            let microsecond = timedelta.call1((0, 0, 1))?.unbind();
            let epoch = datetime.call1((1970, 1, 1, 0, 0, 0, 0, utc))?.unbind();
            Ok(DateClasses {
                datetime: datetime.unbind(),
                date: module.getattr("date")?.unbind(),
                timedelta: timedelta.unbind(),
                epoch,
                microsecond,
            })
        })
    }

    /// The aware UTC datetime of a count since 1970.
    pub fn datetime_of<'py>(&self, py: Python<'py>, micros: i64) -> PyResult<Bound<'py, PyAny>> {
        self.epoch.bind(py).add(self.timedelta.bind(py).call1((0, 0, micros))?)
    }
}

const QUERY: &str = "a dict or a list of pairs, with strings or numbers as values";

/// Query pairs from a dict or a list of pairs, in their order.
pub fn query(value: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<(String, String)>> {
    let Some(value) = value else { return Ok(Vec::new()) };
    let refuse = |what: &str| Err(raise(value.py(), Error::argument("query", what, QUERY)));
    let items = match value.cast::<PyMapping>() {
        Ok(mapping) => mapping.items()?.into_any(),
        Err(_) if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() => {
            value.clone()
        }
        Err(_) => return Err(wrong_type("query", value, QUERY)),
    };
    let mut pairs = Vec::new();
    for item in items.try_iter()? {
        let Ok((name, item)) = item?.extract::<(String, Bound<'_, PyAny>)>() else {
            return refuse("a list with an entry that is not a pair");
        };
        let plain = !item.is_instance_of::<PyBool>()
            && (item.is_instance_of::<PyString>()
                || item.is_instance_of::<PyInt>()
                || item.is_instance_of::<PyFloat>());
        if !plain {
            return refuse(&format!(
                "invalid: '{}' is of type {}",
                name.escape_debug(),
                item.get_type().name()?
            ));
        }
        // An enum member stands for its value.
        let item = item.getattr("value").unwrap_or(item);
        pairs.push((name, item.str()?.extract()?));
    }
    Ok(pairs)
}

/// A request body: a dict or list as compact JSON, bytes as they are.
pub fn body(value: Option<&Bound<'_, PyAny>>) -> PyResult<Body> {
    let Some(value) = value else { return Ok(Body::None) };
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Body::Bytes(Bytes::copy_from_slice(bytes.as_bytes()), None));
    }
    if value.is_instance_of::<PyDict>() || value.is_instance_of::<PyList>() {
        return Ok(Body::Bytes(compact_json(value)?.into(), Some("application/json")));
    }
    Err(wrong_type("body", value, "a dict, a list or bytes"))
}

/// A JSON object whose members can still be set: the body of a listing.
pub fn body_members(value: Option<&Bound<'_, PyAny>>) -> PyResult<Body> {
    let Some(value) = value else { return Ok(Body::None) };
    let Ok(dict) = value.cast::<PyDict>() else {
        return Err(wrong_type("body", value, "a dict"));
    };
    let refuse = |what: &str| {
        let expected = "a dict with string keys and JSON values";
        Err(raise(value.py(), Error::argument("body", what, expected)))
    };
    let mut members = Vec::new();
    for (name, member) in dict {
        let Ok(raw) = RawValue::from_string(compact_json(&member)?) else {
            return refuse("not valid JSON");
        };
        let Ok(name) = name.extract() else {
            return refuse("a dict with a key that is not a string");
        };
        members.push((name, raw));
    }
    Ok(Body::Json(members))
}

fn compact_json(value: &Bound<'_, PyAny>) -> PyResult<String> {
    let py = value.py();
    let options = PyDict::new(py);
    options.set_item("separators", (",", ":"))?;
    options.set_item("ensure_ascii", false)?;
    options.set_item("allow_nan", false)?;
    let text = py.import("json")?.call_method("dumps", (value,), Some(&options));
    text.and_then(|text| text.extract()).map_err(|error| {
        raise(py, Error::config(format!("body cannot be written as JSON: {}", error.value(py))))
    })
}

/// Headers of the caller's own.
pub fn headers(value: Option<&Bound<'_, PyAny>>) -> PyResult<HeaderMap> {
    let mut map = HeaderMap::new();
    let Some(value) = value else { return Ok(map) };
    let expected = "a dict with strings as keys and values";
    let mapping = value.cast::<PyMapping>().map_err(|_| wrong_type("headers", value, expected))?;
    for item in mapping.items()? {
        let (name, text): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let pair = match (name.extract::<String>(), text.extract::<String>()) {
            (Ok(name), Ok(text)) => header_pair(&name, &text),
            _ => {
                let shown = "a dict with other keys or values";
                return Err(raise(value.py(), Error::argument("headers", shown, expected)));
            }
        };
        let (name, text) = pair.map_err(|error| raise(value.py(), error))?;
        map.append(name, text);
    }
    Ok(map)
}
