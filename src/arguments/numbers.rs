//! Numbers that callers pass, of Python or of other libraries. A bool is not a number.

use pyo3::{conversion::FromPyObjectOwned, exceptions::PyTypeError, types::PyFloat};

pub use crate::interpreter::texts::is_bool;
use crate::interpreter::{
    callback,
    errors::{is_refusal, missing_name},
};
use crate::prelude::*;
use boardlot_client::extension::pages::Windows;

/// Reads a number, for example by the `__index__` of the value. A bool raises `TypeError`.
pub fn number<'py, T: FromPyObjectOwned<'py>>(value: &Bound<'py, PyAny>) -> PyResult<T> {
    if callback::reading(value.py(), || is_bool(value))? {
        return Err(PyTypeError::new_err("a bool is not a number"));
    }
    callback::argument(value)
}

/// Returns a number, including one of another library such as numpy, as an int or float; none for
/// other values and for bools.
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
        Err(error) if is_refusal(py, &error) => Ok(None),
        converted => converted.map(Some),
    }
}

/// A Rust type for a number that is an argument of a function.
pub trait GivenNumber: Sized {
    /// Converts the argument of that name.
    fn given(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyResult<Self>;
}

macro_rules! given_numbers {
    ($($number:ty)+) => {
        $(impl GivenNumber for $number {
            fn given(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyResult<Self> {
                read(value)?.ok_or_else(|| wrong_value(name, value, expected))
            }
        })+
    };
}

given_numbers! { f64 i64 i128 }

/// A number of windows, or 'auto'.
impl GivenNumber for Windows {
    fn given(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyResult<Self> {
        match value.cast::<PyString>() {
            Ok(text) if text.to_str().is_ok_and(|text| text == "auto") => Ok(Windows::Auto),
            _ => i64::given(name, value, expected).map(Windows::Number),
        }
    }
}

impl<T: GivenNumber> GivenNumber for Option<T> {
    fn given(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyResult<Self> {
        if value.is_none() { Ok(None) } else { T::given(name, value, expected).map(Some) }
    }
}

macro_rules! number_arguments {
    ($($name:ident: $expected:literal)+) => {
        /// The numbers among the arguments of functions, by their names, with what is expected of
        /// them: `#[pyo3(from_py_with = number_of::timeout)]`.
        pub mod number_of {
            use super::{Bound, GivenNumber, PyAny, PyResult};

            $(pub fn $name<T: GivenNumber>(value: &Bound<'_, PyAny>) -> PyResult<T> {
                T::given(stringify!($name), value, $expected)
            })+
        }
    };
}

number_arguments! {
    bits: "2048, 3072, 4096 or 8192"
    clock_offset: "a number of seconds"
    code: "an integer from -2^63 to 2^63 - 1, or None"
    concurrency: "an integer from 1 to 1024"
    drop_rate: "a number from 0 to 1"
    error_rate: "a number from 0 to 1"
    fills: "an integer from 0"
    html_rate: "a number from 0 to 1"
    latency: "a number of seconds from 0"
    max_items: "an integer from 0 to 2^63 - 1, or None"
    max_pages: "an integer from 0 to 2^63 - 1, or None"
    orders: "an integer from 0"
    plate_stocks: "an integer from 0"
    port: "an integer from 0 to 65535"
    redirect_port: "an integer from 0 to 65535"
    seed: "an integer from 0 to 2^64 - 1"
    status: "an HTTP status from 400 to 599, or 0"
    throttle_rate: "a number from 0 to 1"
    timeout: "a number of seconds above 0 and up to 86400"
    times: "an integer from 1, or None"
    timestamp_ms: "milliseconds since 1970, as an integer"
    token_lifetime: "a number of seconds"
    truncate_rate: "a number from 0 to 1"
    windows: "an integer from 1 to 64, 'auto', or None"
}

/// Converts a value, for example by its `__index__`; none if the value cannot be converted. An
/// interrupt during the conversion is raised.
pub fn read<'py, T: FromPyObjectOwned<'py>>(value: &Bound<'py, PyAny>) -> PyResult<Option<T>> {
    match number(value) {
        Ok(read) => Ok(Some(read)),
        Err(error) if is_refusal(value.py(), &error) => Ok(None),
        Err(interrupt) => Err(interrupt),
    }
}

/// The error for an argument whose value or type is not supported.
pub fn wrong_value(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    match described(value) {
        Ok(shown) => raise(value.py(), Error::argument(name, &shown, expected)),
        Err(error) => callback::no_stop_iteration(value.py(), error),
    }
}

/// The value and its type, for an error.
fn described(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if value.is_none() {
        return Ok("None".to_owned());
    }
    if let Some(missing) = missing_name(value)? {
        return Ok(missing.to_owned());
    }
    let repr: String = value.repr()?.to_string().chars().take(64).collect();
    Ok(format!("{repr}, of type {}", value.get_type().name()?))
}
