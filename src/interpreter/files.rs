//! Locks, replaces and removes files for Python code, in the same way as the core does for its own
//! files.

use std::{
    ffi::OsString,
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
};

use pyo3::exceptions::{PyBlockingIOError, PyFileExistsError, PyOSError};

use crate::prelude::*;
use boardlot_client::extension::os::{atomic_file, lock::LockFile, texts};

/// The `errno` of `FileExistsError`, the same on all systems.
const EEXIST: i32 = 17;

/// Gives a complete file its name: its content is on disk, and it has the mode of the file that it
/// replaces. Raises `FileExistsError` if such a file exists and `force` is false, and `OSError` if
/// the file cannot be replaced, or if something else has that name: a folder, a link, a device.
#[pyfunction]
#[pyo3(name = "_replace_file", signature = (new, path, force = true))]
pub fn replace_file(py: Python<'_>, new: PathBuf, path: PathBuf, force: bool) -> PyResult<()> {
    py.detach(|| atomic_file::complete(&new, &path, force))
        .map_err(|error| os_error(py, &path, &error))
}

/// Removes a file, if it exists. Raises `OSError` if the file cannot be removed.
#[pyfunction]
#[pyo3(name = "_remove_file")]
pub fn remove_file(py: Python<'_>, path: PathBuf) -> PyResult<()> {
    py.detach(|| atomic_file::remove(&path)).map_err(|error| os_error(py, &path, &error))
}

/// The path with the home folder for a `~` at its start.
#[pyfunction]
#[pyo3(name = "_expand_user")]
pub fn expand_user(path: PathBuf) -> OsString {
    texts::expand_user(&path).into_os_string()
}

/// Returns the path of a file with a secret in a form that an error may show: the argument may be
/// the secret itself.
#[pyfunction]
#[pyo3(name = "_shown_path")]
pub fn shown_path(path: PathBuf) -> String {
    texts::shown_path(&path)
}

/// Responds to SQLite's authorizer: 0 for an action that only reads, 1 to refuse another one. A
/// function in Python would run the handlers of signals, whose exceptions SQLite drops.
#[pyfunction]
#[pyo3(name = "_authorize_reading", signature = (action, _first, second, *_others))]
pub fn authorize_reading(
    action: u32,
    _first: Option<&Bound<'_, PyAny>>,
    second: Option<&str>,
    _others: &Bound<'_, PyTuple>,
) -> u32 {
    const READ: u32 = 20;
    const SELECT: u32 = 21;
    const FUNCTION: u32 = 31;
    const RECURSIVE: u32 = 33;
    let reads = match action {
        READ | SELECT | RECURSIVE => true,
        FUNCTION => second != Some("load_extension"),
        _ => false,
    };
    u32::from(!reads)
}

/// A lock between processes: a file that exists for the lock alone. The lock ends with the process
/// that has it, however that process ends. Raises `BlockingIOError` if another process, or another
/// part of this one, has the lock.
#[pyclass(frozen, module = "boardlot._core", name = "_FileLock")]
pub struct FileLock(Mutex<Option<LockFile>>);

#[pymethods]
impl FileLock {
    #[new]
    fn new(py: Python<'_>, path: PathBuf) -> PyResult<Self> {
        match py.detach(|| LockFile::acquire(&path)) {
            Ok(Some(lock)) => Ok(FileLock(Mutex::new(Some(lock)))),
            Ok(None) => Err(PyBlockingIOError::new_err("is locked by another process")),
            Err(error) => Err(os_error(py, &path, &error)),
        }
    }

    /// True if the lock is still there: its file was neither removed nor replaced.
    fn is_held(&self) -> bool {
        self.lock().as_ref().is_some_and(LockFile::is_current)
    }

    /// Releases the lock and removes its file; does nothing if the lock was released before.
    fn release(&self) {
        if let Some(lock) = self.lock().take() {
            lock.release();
        }
    }

    /// Closes the file, in a forked child: the lock is the parent's.
    fn close(&self) {
        self.lock().take();
    }
}

impl FileLock {
    fn lock(&self) -> std::sync::MutexGuard<'_, Option<LockFile>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Makes the `OSError` that Python itself would raise.
pub fn os_error(py: Python<'_>, path: &Path, error: &io::Error) -> PyErr {
    if error.kind() == io::ErrorKind::AlreadyExists {
        let message = "was created in the meantime and is not replaced";
        return PyFileExistsError::new_err((EEXIST, message, path.as_os_str().to_owned()));
    }
    let Some(number) = error.raw_os_error() else {
        return PyOSError::new_err(format!("{}: {error}", path.display()));
    };
    let message = import(py, "os").and_then(|os| os.invoke_method("strerror", (number,)));
    let message = message.map_or_else(|_| error.to_string(), |message| message.to_string());
    PyOSError::new_err((number, message, path.as_os_str().to_owned()))
}
