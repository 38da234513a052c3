//! Text arguments: the one conversion of what a caller passes as text.

use pyo3::{
    exceptions::PyTypeError,
    prelude::*,
    types::{PyBytes, PyString},
};
use zeroize::Zeroizing;

use super::{
    callback,
    errors::{raise, wrong_type},
};
use boardlot_client::error::Error;

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
        // As it is everywhere in Python. The value is not shown, as it may be a secret.
        let other_type = |_| match value.get_type().name() {
            Ok(class) => PyTypeError::new_err(format!("{name} is of type {class}; expected a str")),
            Err(failure) => failure,
        };
        let text = value.cast::<PyString>().map_err(other_type)?;
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
        let items: Vec<Bound<'_, PyAny>> = callback::argument(value)?;
        items.iter().map(|item| String::given(name, item)).collect()
    }
}

macro_rules! text_arguments {
    ($($name:ident)+) => {
        /// The text arguments of functions, by their names: `#[pyo3(from_py_with = text_of::key)]`. The
        /// conversion of PyO3 would raise an exception that contains the whole text, which may be a
        /// secret, and does not name the argument.
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

/// The error for a text that is not Unicode: it has a lone surrogate, which cannot be sent. It is not shown,
/// as it may be a secret.
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

/// A string or bytes, erased likewise.
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
