//! The profiles of `config.toml`, for the command line and `doctor`.

use std::{
    io,
    path::{Path, PathBuf},
};

use pyo3::{
    exceptions::{PyInterruptedError, PyOSError},
    prelude::*,
    types::PyDict,
};

use super::{
    errors::raise,
    shutdown_gate::{detach, with_interpreter},
};
use crate::profile::{self, ChangeError, Profile, ProfileAuth, ProfileLogin};

/// Writes a profile for a login to `config.toml`, without any secret, and returns the path of the
/// file. Refuses to change an existing profile unless `replace` is set. Raises `OSError` if the file
/// cannot be written.
#[pyfunction]
#[pyo3(name = "_save_profile", signature = (name, base_url, client_id, store, *, replace = false))]
pub fn save_profile(
    py: Python<'_>,
    name: &str,
    base_url: &str,
    client_id: &str,
    store: Option<PathBuf>,
    replace: bool,
) -> PyResult<PathBuf> {
    let login = ProfileLogin { base_url, client_id, store: store.as_deref() };
    let (saved, raised) = detach(py, || {
        let mut raised = None;
        let saved = Profile::save_login(name, &login, replace, || {
            raised = with_interpreter(|py| py.check_signals()).err();
            raised.is_some()
        });
        (saved, raised)
    });
    match (saved, raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(path), None) => Ok(path),
        (Err(ChangeError::Invalid(error)), None) => Err(raise(py, error)),
        (Err(ChangeError::Io { path, error }), None) => Err(os_error(py, &path, &error)),
        (Err(error @ ChangeError::Interrupted), None) => {
            Err(PyInterruptedError::new_err(error.to_string()))
        }
    }
}

/// The path of `config.toml`, with symbolic links resolved.
#[pyfunction]
#[pyo3(name = "_config_file")]
pub fn config_file(py: Python<'_>) -> PyResult<PathBuf> {
    profile::config_file().map_err(|error| raise(py, error))
}

/// The `OSError` that Python itself would raise.
fn os_error(py: Python<'_>, path: &Path, error: &io::Error) -> PyErr {
    let Some(number) = error.raw_os_error() else {
        return PyOSError::new_err(format!("{}: {error}", path.display()));
    };
    let message = py.import("os").and_then(|os| os.call_method1("strerror", (number,)));
    let message = message.map_or_else(|_| error.to_string(), |message| message.to_string());
    PyOSError::new_err((number, message, path.as_os_str().to_owned()))
}

/// A profile of `config.toml` as a dict: `base_url`, `endpoints` (a file, or None), `kind`, and where the secret is stored: `key_id`
/// and `private_key`, or `client_id` and `store` (None: the keychain). A missing profile is an error,
/// or with `may_be_missing` None.
#[pyfunction]
#[pyo3(name = "_profile", signature = (name, *, may_be_missing = false))]
pub fn load_profile<'py>(
    py: Python<'py>,
    name: &str,
    may_be_missing: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let found = if may_be_missing { Profile::find(name) } else { Profile::load(name).map(Some) };
    let Some(Profile { base_url, auth, endpoints }) = found.map_err(|error| raise(py, error))?
    else {
        return Ok(None);
    };
    let dict = PyDict::new(py);
    dict.set_item("base_url", base_url)?;
    dict.set_item("endpoints", endpoints)?;
    match auth {
        ProfileAuth::None => dict.set_item("kind", "none")?,
        ProfileAuth::ApiKey { key_id, private_key } => {
            dict.set_item("kind", "api_key")?;
            dict.set_item("key_id", key_id)?;
            dict.set_item("private_key", private_key)?;
        }
        ProfileAuth::OAuth { client_id, store } => {
            dict.set_item("kind", "oauth")?;
            dict.set_item("client_id", client_id)?;
            dict.set_item("store", store)?;
        }
    }
    Ok(Some(dict))
}
