//! A client's options: from Python's arguments and a profile to a client, each refused by name.

use std::{
    fs, io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use pyo3::{
    exceptions::{PyInterruptedError, PyOSError},
    prelude::*,
    types::PyDict,
};

use super::{
    arguments,
    cassette::cassette,
    credentials::{ApiKey, credentials},
    errors::{raise, wrong_type},
    observer::PyObserver,
    shutdown_gate::{detach, with_interpreter},
};
use crate::{
    client::Client as Core,
    error::{Error, Result},
    http::{BaseUrl, SenderOptions, is_public_header},
    profile::{self, ChangeError, Profile, ProfileAuth, ProfileLogin},
};

/// Puts a profile of a login into `config.toml`; returns the path of the file. It holds no secret.
/// One that exists is refused, or with `replace` takes these values. `OSError` if the file cannot be
/// written.
#[pyfunction]
#[pyo3(name = "_keep_login", signature = (name, base_url, client_id, store, *, replace = false))]
pub fn keep_login(
    py: Python<'_>,
    name: &str,
    base_url: &str,
    client_id: &str,
    store: Option<PathBuf>,
    replace: bool,
) -> PyResult<PathBuf> {
    let login = ProfileLogin { base_url, client_id, store: store.as_deref() };
    let (kept, raised) = detach(py, || {
        let mut raised = None;
        let kept = Profile::save_login(name, &login, replace, || {
            raised = with_interpreter(|py| py.check_signals()).err();
            raised.is_some()
        });
        (kept, raised)
    });
    match (kept, raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(path), None) => Ok(path),
        (Err(ChangeError::Invalid(error)), None) => Err(raise(py, error)),
        (Err(ChangeError::Io { path, error }), None) => Err(os_error(py, &path, &error)),
        (Err(error @ ChangeError::Interrupted), None) => {
            Err(PyInterruptedError::new_err(error.to_string()))
        }
    }
}

/// The path of `config.toml`, with links followed: the file that a change would write.
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
    let told = py.import("os").and_then(|os| os.call_method1("strerror", (number,)));
    let told = told.map_or_else(|_| error.to_string(), |told| told.to_string());
    PyOSError::new_err((number, told, path.as_os_str().to_owned()))
}

/// A profile of `config.toml` as a dict: `base_url`, `kind`, and where the secret lies: `key_id` and
/// `private_key`, or `client_id` and `store` (None: the keychain). Where there is no such profile, an
/// error, or None if it `may_be_missing`.
#[pyfunction]
#[pyo3(name = "_profile", signature = (name, *, may_be_missing = false))]
pub fn profile_of<'py>(
    py: Python<'py>,
    name: &str,
    may_be_missing: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let found = if may_be_missing { Profile::find(name) } else { Profile::load(name).map(Some) };
    let Some(Profile { base_url, auth }) = found.map_err(|error| raise(py, error))? else {
        return Ok(None);
    };
    let shown = PyDict::new(py);
    shown.set_item("base_url", base_url)?;
    match auth {
        ProfileAuth::None => shown.set_item("kind", "none")?,
        ProfileAuth::ApiKey { key_id, private_key } => {
            shown.set_item("kind", "api_key")?;
            shown.set_item("key_id", key_id)?;
            shown.set_item("private_key", private_key)?;
        }
        ProfileAuth::OAuth { client_id, store } => {
            shown.set_item("kind", "oauth")?;
            shown.set_item("client_id", client_id)?;
            shown.set_item("store", store)?;
        }
    }
    Ok(Some(shown))
}

/// A client from its Python arguments, and the Python objects that it needs as long as it is used;
/// options not given have the core's defaults.
pub fn open(
    py: Python<'_>,
    base_url: Option<String>,
    given: Option<&Bound<'_, PyDict>>,
) -> PyResult<(Core, Vec<Py<PyAny>>)> {
    let mut needed = Vec::new();
    let refused = |error: Error| raise(py, error);
    let get = |name: &str| -> PyResult<Option<Bound<'_, PyAny>>> {
        let value = given.map(|given| given.get_item(name)).transpose()?.flatten();
        Ok(value.filter(|value| !value.is_none()))
    };
    let profile = match get("profile")? {
        Some(name) => Some(Profile::load(&text("profile", &name)?).map_err(refused)?),
        None => None,
    };
    let (cassette, recorded_at) = match get("tape")? {
        Some(value) => {
            let (cassette, base_url) = cassette(&value)?;
            (Some(cassette), base_url)
        }
        None => (None, None),
    };
    let base_url = base_url
        .or(recorded_at)
        .or_else(|| profile.as_ref().map(|profile| profile.base_url.clone()))
        .ok_or_else(|| raise(py, Error::config("base_url is missing; give it or a profile")))?;
    let auth = match (get("auth")?, profile.map(|profile| profile.auth)) {
        (Some(auth), _) => {
            needed.push(auth.clone().unbind());
            Some(credentials(&auth)?)
        }
        (None, Some(ProfileAuth::ApiKey { key_id, private_key })) => {
            Some(ApiKey::open(py, &key_id, private_key, None)?.credentials())
        }
        (None, Some(ProfileAuth::OAuth { client_id, store })) => {
            let login = py.import("boardlot._rebuild")?.getattr("login_of")?;
            let login = login.call1((client_id, store))?;
            needed.push(login.clone().unbind());
            Some(credentials(&login)?)
        }
        (None, Some(ProfileAuth::None) | None) => None,
    };
    for name in ["ws_quote_url", "ws_trade_url"] {
        if let Some(url) = get(name)? {
            check_websocket_url(name, url.extract()?).map_err(refused)?;
        }
    }
    let (watcher, hooks) = PyObserver::new(get("on_request")?, get("on_response")?)?;
    needed.extend(hooks.into_iter().map(Py::into_any));
    let defaults = SenderOptions::default();
    let options = SenderOptions {
        timeout: seconds("timeout", get("timeout")?, defaults.timeout)?,
        connect_timeout: seconds(
            "connect_timeout",
            get("connect_timeout")?,
            defaults.connect_timeout,
        )?,
        max_retries: whole("max_retries", get("max_retries")?, 0, 100)?
            .map_or(defaults.max_retries, |number| {
                u32::try_from(number).unwrap_or(defaults.max_retries)
            }),
        rate_limit: rate(get("rate_limit")?)?,
        max_connections: whole("max_connections", get("max_connections")?, 1, 65_536)?
            .unwrap_or(defaults.max_connections),
        max_body_bytes: whole("max_body_bytes", get("max_body_bytes")?, 1, isize::MAX as usize)?
            .unwrap_or(defaults.max_body_bytes),
        proxy: get("proxy")?.map(|proxy| text("proxy", &proxy)).transpose()?,
        extra_certificates: match get("ca_file")? {
            Some(path) => Some(read_certificates(path.extract()?).map_err(refused)?),
            None => None,
        },
        headers: match get("headers")? {
            Some(headers) => arguments::headers(Some(&headers))?,
            None => defaults.headers,
        },
        observer: Some(Arc::new(watcher)),
        cassette,
    };
    let base = BaseUrl::parse(&base_url).map_err(refused)?;
    Ok((Core::new(base, auth, options).map_err(refused)?, needed))
}

/// Refuses to pickle options that are secrets, or may be: a pickle is a file that others read.
pub fn refuse_secrets(given: &Bound<'_, PyDict>) -> PyResult<()> {
    let py = given.py();
    let proxy = given.get_item("proxy")?.map(|proxy| proxy.to_string()).unwrap_or_default();
    if proxy.contains('@') {
        let text = "a client whose proxy has a password is not pickled: it would be in the pickle";
        return Err(raise(py, Error::config(text)));
    }
    let headers = given.get_item("headers")?.filter(|headers| !headers.is_none());
    let headers = arguments::headers(headers.as_ref())?;
    match headers.keys().find(|name| !is_public_header(name.as_str())) {
        Some(name) => Err(raise(
            py,
            Error::config(format!(
                "a client with the header '{name}' is not pickled: its value may be a secret, and \
                 would be in the pickle; make that client where it is used"
            )),
        )),
        None => Ok(()),
    }
}

pub fn read_certificates(path: PathBuf) -> Result<Vec<u8>> {
    fs::read(&path).map_err(|error| Error::config(format!("ca_file {}: {error}", path.display())))
}

fn check_websocket_url(name: &str, url: &str) -> Result<()> {
    // The same rules as for the API's own address, by the same code.
    let like = match (url.strip_prefix("wss://"), url.strip_prefix("ws://")) {
        (Some(rest), _) => format!("https://{rest}"),
        (None, Some(rest)) => format!("http://{rest}"),
        (None, None) => String::new(),
    };
    if BaseUrl::parse(&like).is_err() {
        let expected = "wss:// (ws:// goes only to a loopback address such as ws://127.0.0.1:8080)";
        return Err(Error::argument(name, "not valid", expected));
    }
    Ok(())
}

fn text(name: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    value.extract().map_err(|_| wrong_type(name, value, "a string"))
}

pub fn seconds(
    name: &str,
    value: Option<Bound<'_, PyAny>>,
    default: Duration,
) -> PyResult<Duration> {
    /// A day: every call is bounded.
    const LONGEST: f64 = 86_400.0;
    let Some(value) = value else { return Ok(default) };
    match value.extract::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= LONGEST => Ok(Duration::from_secs_f64(seconds)),
        _ => Err(raise(
            value.py(),
            Error::argument(
                name,
                &value.repr()?.to_string(),
                "a number of seconds above 0 and up to 86400",
            ),
        )),
    }
}

fn rate(value: Option<Bound<'_, PyAny>>) -> PyResult<Option<f64>> {
    let Some(value) = value else { return Ok(None) };
    match value.extract::<f64>() {
        Ok(rate) if (0.001..=1_000_000.0).contains(&rate) => Ok(Some(rate)),
        _ => Err(raise(
            value.py(),
            Error::argument(
                "rate_limit",
                &value.repr()?.to_string(),
                "requests per second from 0.001 to 1000000, or None",
            ),
        )),
    }
}

fn whole(
    name: &str,
    value: Option<Bound<'_, PyAny>>,
    min: usize,
    max: usize,
) -> PyResult<Option<usize>> {
    let Some(value) = value else { return Ok(None) };
    match value.extract::<usize>() {
        Ok(number) if (min..=max).contains(&number) => Ok(Some(number)),
        _ => Err(raise(
            value.py(),
            Error::argument(
                name,
                &value.repr()?.to_string(),
                &format!("an integer from {min} to {max}"),
            ),
        )),
    }
}
