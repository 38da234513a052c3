//! The conversion of all text arguments that a caller passes.

use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBool, PyBytes, PyString, PyType},
};
use zeroize::Zeroizing;

use super::{
    callback,
    errors::{is_refusal, missing_name, raise, wrong_type},
};
use boardlot_client::extension::{decode::Decimals, error::Error};

/// A string.
pub fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    let text = value.cast::<PyString>().map_err(|_| wrong_type(name, value, "a string"))?;
    text.to_str().map(str::to_owned).map_err(|_| not_unicode(name, value))
}

/// A Rust type for a text argument of a function.
pub trait GivenText<'a>: Sized {
    /// Converts the argument of that name.
    fn given(name: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Self>;
}

impl<'a> GivenText<'a> for &'a str {
    fn given(name: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        let expected = if name == "decimals" { Decimals::NAMES } else { "a str" };
        let text = value.cast::<PyString>().map_err(|_| other_type(name, value, expected))?;
        text.to_str().map_err(|_| not_unicode(name, value))
    }
}

impl<'a> GivenText<'a> for String {
    fn given(name: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        <&str>::given(name, value).map(str::to_owned)
    }
}

impl<'a, T: GivenText<'a>> GivenText<'a> for Option<T> {
    fn given(name: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        if value.is_none() { Ok(None) } else { T::given(name, value).map(Some) }
    }
}

impl<'a> GivenText<'a> for Vec<String> {
    fn given(name: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        let expected = "a list of strings";
        if value.is_instance_of::<PyString>() {
            return Err(wrong_type(name, value, expected));
        }
        let items =
            callback::reading(value.py(), || value.try_iter()?.collect::<PyResult<Vec<_>>>());
        let items = items.map_err(|error| match is_refusal(value.py(), &error) {
            true => wrong_type(name, value, expected),
            false => error,
        })?;
        items.iter().map(|item| String::given(name, item)).collect()
    }
}

macro_rules! text_arguments {
    ($($name:ident)+) => {
        /// The text arguments of functions, by their names: `#[pyo3(from_py_with = text_of::key)]`.
        /// The conversion of PyO3 would raise an exception that contains the whole text, which may
        /// be a secret, and does not name the argument.
        pub mod text_of {
            use super::{Bound, GivenText, PyAny, PyResult};

            $(pub fn $name<'a, T: GivenText<'a>>(value: &'a Bound<'_, PyAny>) -> PyResult<T> {
                T::given(stringify!($name), value)
            })+
        }
    };
}

text_arguments! {
    algorithm authorize_url base_url callback_url client_id decimals host invalid key key_id message
    method name on_error path public_pem query redirect_uri rejected scopes
    strings url
}

macro_rules! bytes_arguments {
    ($($name:ident)+) => {
        /// The bytes arguments of functions, by their names:
        /// `#[pyo3(from_py_with = bytes_of::data)]`.
        pub mod bytes_of {
            use super::{Bound, GivenBytes, PyAny, PyResult};

            $(pub fn $name<'a, T: GivenBytes<'a>>(value: &'a Bound<'_, PyAny>) -> PyResult<T> {
                T::given(stringify!($name), value)
            })+
        }
    };
}

bytes_arguments! { body data payload }

/// A Rust type for an argument of bytes, which are not shown.
pub trait GivenBytes<'a>: Sized {
    /// Converts the argument of that name.
    fn given(name: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Self>;
}

impl<'a> GivenBytes<'a> for &'a [u8] {
    fn given(name: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        let bytes = value.cast::<PyBytes>().map(|bytes| bytes.as_bytes());
        bytes.map_err(|_| other_type(name, value, "bytes"))
    }
}

impl<'a> GivenBytes<'a> for Option<&'a [u8]> {
    fn given(name: &str, value: &'a Bound<'_, PyAny>) -> PyResult<Self> {
        if value.is_none() { Ok(None) } else { <&[u8]>::given(name, value).map(Some) }
    }
}

macro_rules! flag_arguments {
    ($($name:ident)+) => {
        /// The arguments of functions that are True or False, by their names:
        /// `#[pyo3(from_py_with = flag_of::progress)]`.
        pub mod flag_of {
            use super::{Bound, PyAny, PyResult, flag};

            $(pub fn $name(value: &Bound<'_, PyAny>) -> PyResult<bool> {
                flag(stringify!($name), value)
            })+
        }
    };
}

flag_arguments! { confidential open_browser progress }

fn flag(name: &str, value: &Bound<'_, PyAny>) -> PyResult<bool> {
    match is_bool(value)? {
        true => value.is_truthy(),
        false => Err(other_type(name, value, "True or False")),
    }
}

/// Returns true for a bool, including one of numpy: bools are not numbers.
pub fn is_bool(value: &Bound<'_, PyAny>) -> PyResult<bool> {
    let is_numpy = |class: &Bound<'_, PyType>| {
        Ok::<_, PyErr>(class.name()?.to_cow()?.starts_with("bool") && class.module()? == "numpy")
    };
    Ok(value.is_instance_of::<PyBool>() || is_numpy(&value.get_type())?)
}

/// The error for a value of another type, as it is everywhere in Python. The value is not shown, as
/// it may be a secret.
fn other_type(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let shown = match (missing_name(value), value.get_type().name()) {
        (Ok(Some(missing)), _) => missing.to_owned(),
        (Ok(None), Ok(class)) => format!("of type {class}"),
        (Err(failure), _) | (_, Err(failure)) => return failure,
    };
    PyTypeError::new_err(format!("{name} is {shown}; expected {expected}"))
}

/// The error for a text that is not Unicode: it has a lone surrogate, which cannot be sent. The
/// text is not shown, as it may be a secret.
pub fn not_unicode(name: &str, value: &Bound<'_, PyAny>) -> PyErr {
    let expected = "a string without lone surrogates";
    raise(value.py(), Error::argument(name, "not valid Unicode", expected))
}

/// A string, or None.
pub fn optional_text(name: &str, value: Option<&Bound<'_, PyAny>>) -> PyResult<Option<String>> {
    value.map(|value| text(name, value)).transpose()
}

/// A string that is erased from memory when it is dropped. Python's own copy is not.
pub fn secret_text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Zeroizing<String>> {
    text(name, value).map(Zeroizing::new)
}

/// A string or bytes, erased from memory when dropped.
pub fn secret_bytes(name: &str, value: &Bound<'_, PyAny>) -> PyResult<Zeroizing<Vec<u8>>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Zeroizing::new(bytes.as_bytes().to_vec()));
    }
    if !value.is_instance_of::<PyString>() {
        return Err(wrong_type(name, value, "a string or bytes"));
    }
    let mut text = secret_text(name, value)?;
    Ok(Zeroizing::new(std::mem::take(&mut *text).into_bytes()))
}
