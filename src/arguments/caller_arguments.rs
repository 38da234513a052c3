//! Values of Python arguments. This module checks their types; the core checks which values an
//! endpoint allows.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Duration,
};

use pyo3::types::PyFloat;

pub use super::numbers::{is_bool, number_of, plain_number, read, wrong_value};
use super::request_arguments::compact_json;
pub use crate::interpreter::texts::{optional_text, secret_bytes, secret_text, text};
use crate::prelude::*;
use crate::{
    interpreter::{
        callback,
        errors::{is_refusal, missing_name, shown},
        texts::not_unicode,
    },
    values::dates::{DateClasses, date},
};
use boardlot_client::extension::{
    api::Argument,
    os::{
        atomic_file,
        texts::{expand_user, shown_path, without_mark},
    },
};

/// An argument of an endpoint's method.
pub fn argument(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Argument> {
    callback::reading(value.py(), || checked(name, value))
}

fn checked(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Argument> {
    const EXPECTED: &str = "a string, a number, a date or an aware datetime";
    let py = value.py();
    let refuse =
        |shown: &str, expected: &str| Err(raise(py, Error::argument(name, shown, expected)));
    if is_bool(value)? {
        let flag = value.is_truthy()?;
        return Ok(Argument::Flag(flag, if flag { "True" } else { "False" }));
    }
    if let Ok(text) = value.cast::<PyString>() {
        return match text.to_str() {
            Ok(text) => Ok(Argument::Text(text.to_owned())),
            Err(_) => Err(not_unicode(name, value)),
        };
    }
    if let Some(number) = plain_number(value)? {
        let Ok(number) = number.cast::<PyFloat>() else {
            return match read::<i128>(&number)? {
                Some(number) => Ok(Argument::Integer(number)),
                None => refuse("out of range", "an integer of at most 127 bits"),
            };
        };
        let number = number.value();
        return match number.is_finite() {
            true => Ok(Argument::Number(format!("{number:?}"))),
            false => refuse(&number.to_string(), "a finite number"),
        };
    }
    if value.is_instance_of::<PyDict>()
        || value.is_instance_of::<PyList>()
        || value.is_instance_of::<PyTuple>()
    {
        let shown = if value.is_instance_of::<PyDict>() { "a dict" } else { "a list" };
        return Ok(Argument::Json(compact_json(name, value)?, shown));
    }
    let classes = DateClasses::get(py)?;
    if value.is_instance(classes.datetime.bind(py))? {
        if let Some(missing) = missing_name(value)? {
            return refuse(missing, "an aware datetime");
        }
        let Some(micros) = classes.micros_of(value)? else {
            return refuse(
                &format!("{}, a naive datetime", shown(value)?),
                "an aware datetime, such as datetime(..., tzinfo=ZoneInfo('Asia/Hong_Kong')) or \
                 datetime.now(timezone.utc); or for a day, its date()",
            );
        };
        return match date(value)? {
            Some(date) => Ok(Argument::Instant(micros, date)),
            None => refuse("out of range", "a datetime in the years 1 to 9999"),
        };
    }
    if value.is_instance(classes.date.bind(py))? {
        return match date(value)? {
            Some(date) => Ok(Argument::Date(date)),
            None => refuse("out of range", "a date in the years 1 to 9999"),
        };
    }
    if value.get_type().fully_qualified_name()? == "decimal.Decimal" {
        return match value.invoke_method("is_finite", ())?.is_truthy()? {
            // The service writes decimal numbers as text.
            true => Ok(Argument::Text(shown(value)?)),
            false => refuse(&shown(value)?, "a finite number"),
        };
    }
    Err(wrong_value(name, value, EXPECTED))
}

/// A number of seconds.
pub fn seconds(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Duration> {
    /// A day: every call is bounded in time.
    const SECONDS_MAX: f64 = 86_400.0;
    match read::<f64>(value)? {
        Some(seconds) if seconds > 0.0 && seconds <= SECONDS_MAX => {
            Ok(Duration::from_secs_f64(seconds))
        }
        _ => Err(wrong_value(name, value, "a number of seconds above 0 and up to 86400")),
    }
}

/// A number of requests per second.
pub fn rate(name: &str, value: &Bound<'_, PyAny>) -> PyResult<f64> {
    match read::<f64>(value)? {
        Some(rate) if (0.001..=1_000_000.0).contains(&rate) => Ok(rate),
        _ => Err(wrong_value(name, value, "requests per second from 0.001 to 1000000, or None")),
    }
}

/// An integer of a range.
pub fn integer(name: &str, value: &Bound<'_, PyAny>, min: usize, max: usize) -> PyResult<usize> {
    match read::<usize>(value)? {
        Some(number) if (min..=max).contains(&number) => Ok(number),
        _ => Err(wrong_value(name, value, &format!("an integer from {min} to {max}"))),
    }
}

/// A limit: none, or an integer from 0.
pub fn limit(py: Python<'_>, name: &str, value: Option<i64>) -> PyResult<Option<usize>> {
    let refuse =
        |value: i64| raise(py, Error::argument(name, &value.to_string(), "an integer from 0"));
    value.map(|value| usize::try_from(value).map_err(|_| refuse(value))).transpose()
}

/// A path.
pub fn path(name: &str, value: &Bound<'_, PyAny>) -> PyResult<PathBuf> {
    user_path(value).map_err(|error| match is_refusal(value.py(), &error) {
        true => wrong_type(name, value, "a path"),
        false => error,
    })
}

/// A path, or an `Option` of one, as an argument of a function:
/// `#[pyo3(from_py_with = user_path)]`.
pub fn user_path<T: UserPath>(value: &Bound<'_, PyAny>) -> PyResult<T> {
    T::given(value)
}

/// A Rust type for the path of a user, in which `~` is expanded.
pub trait UserPath: Sized {
    /// Converts the argument.
    fn given(value: &Bound<'_, PyAny>) -> PyResult<Self>;
}

impl UserPath for PathBuf {
    fn given(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        callback::argument(value).map(|path: PathBuf| expand_user(&path))
    }
}

impl UserPath for Option<PathBuf> {
    fn given(value: &Bound<'_, PyAny>) -> PyResult<Self> {
        if value.is_none() { Ok(None) } else { PathBuf::given(value).map(Some) }
    }
}

/// Reads the contents of the regular file with this path, without a byte order mark.
pub fn file_contents(py: Python<'_>, name: &str, path: &Path) -> PyResult<Vec<u8>> {
    let content = py.detach(|| atomic_file::check_regular(path).and_then(|()| fs::read(path)));
    let content = content.map_err(|error| {
        raise(py, Error::config(format!("{name} {}: {error}", shown_path(path))).caused_by(&error))
    })?;
    Ok(without_mark(&content).to_vec())
}

/// Reads the names of fields, passed one by one.
pub fn field_names(names: &Bound<'_, PyTuple>) -> PyResult<Vec<String>> {
    let name = |name: Bound<'_, PyAny>| match name.is_instance_of::<PyString>() {
        true => text("names", &name),
        false => Err(wrong_type("names", &name, "strings, such as select('code', 'qty')")),
    };
    names.iter().map(name).collect()
}

/// Returns true if a call of the caller's function returns an object that has to be awaited.
pub fn is_async(function: &Bound<'_, PyAny>) -> PyResult<bool> {
    let module = import(function.py(), "boardlot._support.coroutines")?;
    module.invoke_method("is_async", (function,))?.is_truthy()
}

/// Refuses a callback that nothing would await.
pub fn reject_async(function: &Bound<'_, PyAny>, name: &str, expected: &str) -> PyResult<()> {
    if !is_async(function)? {
        return Ok(());
    }
    let shown = "an async function, which would not be awaited";
    Err(raise(function.py(), Error::argument(name, shown, expected)))
}

/// Refuses a callback whose call with one argument would fail, if its signature is known.
pub fn check_takes_one(function: &Bound<'_, PyAny>, name: &str) -> PyResult<()> {
    let module = import(function.py(), "boardlot._support.coroutines")?;
    if module.invoke_method("takes_one_argument", (function,))?.is_truthy()? {
        return Ok(());
    }
    let shown = "a function that cannot be called with one argument";
    Err(raise(function.py(), Error::argument(name, shown, "a function of one argument, the event")))
}
