//! The names that nearly every file of the extension uses.

pub use pyo3::{
    PyTraverseError, PyVisit, intern,
    prelude::*,
    types::{IntoPyDict, PyBytes, PyDict, PyList, PyString, PyTuple, PyType},
};

pub use super::interpreter::{
    callback::{Invoke, import, warn},
    errors::{OrRaise, raise, wrong_type},
    texts::{bytes_of, flag_of, text_of},
};
pub use boardlot_client::extension::error::{Error, Result};
