//! Files that Python code replaces or removes, in the way in which the core does with its own.

use std::{
    io,
    path::{Path, PathBuf},
};

use boardlot_gated::gated;
use pyo3::{exceptions::PyOSError, prelude::*};

use crate::{
    atomic_file,
    py::interpreter::{
        callback::{Invoke, import},
        shutdown_gate::detach,
    },
};

/// Gives a complete file its name, in place of a regular file or of none. Raises `OSError` if it cannot,
/// or if something else has that name: a folder, a link, a device.
#[gated]
#[pyfunction]
#[pyo3(name = "_rename_over")]
pub fn rename_over(py: Python<'_>, new: PathBuf, path: PathBuf) -> PyResult<()> {
    detach(py, || atomic_file::rename(&new, &path)).map_err(|error| os_error(py, &path, &error))
}

/// Removes a file, if there is one. Raises `OSError` if it cannot.
#[gated]
#[pyfunction]
#[pyo3(name = "_remove_file")]
pub fn remove_file(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    detach(py, || atomic_file::remove(&path)).map_err(|error| os_error(py, &path, &error))
}

/// The `OSError` that Python itself would raise.
pub fn os_error(py: Python<'_>, path: &Path, error: &io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return PyOSError::new_err(format!("{}: {error}", path.display()));
    };
    let message = import(py, "os").and_then(|os| os.invoke_method("strerror", (number,)));
    let message = message.map_or_else(|_| error.to_string(), |message| message.to_string());
    PyOSError::new_err((number, message, path.as_os_str().to_owned()))
}
