//! The profiles of `config.toml`, for clients, the command line and `doctor`.

use std::path::PathBuf;

use pyo3::exceptions::PyKeyError;

use crate::prelude::*;
use crate::{
    arguments::caller_arguments::text,
    interpreter::{attachment::with_interpreter, callback, files::os_error},
};
use boardlot_client::extension::{
    http::{self, BaseUrl},
    profile::{self, ChangeError, Profile, ProfileAuth},
};

/// Writes a profile to `config.toml`, without any secret, and returns the path of the file. The
/// entry is a dict as `_profile` returns it. Refuses to change an existing profile unless `replace`
/// is set. Raises `OSError` if the file cannot be written.
#[pyfunction]
#[pyo3(name = "_save_profile", signature = (name, entry, *, replace = false))]
pub fn save_profile(
    py: Python<'_>,
    #[pyo3(from_py_with = text_of::name)] name: &str,
    entry: &Bound<'_, PyDict>,
    replace: bool,
) -> PyResult<PathBuf> {
    let profile = from_entry(name, entry)?;
    change(py, |interrupted| profile.save(replace, interrupted))
}

/// Removes a profile from `config.toml`, and returns the path of the file.
#[pyfunction]
#[pyo3(name = "_remove_profile")]
pub fn remove_profile(
    py: Python<'_>,
    #[pyo3(from_py_with = text_of::name)] name: &str,
) -> PyResult<PathBuf> {
    change(py, |interrupted| Profile::remove(name, interrupted))
}

/// Makes a profile the default of the command line, or with None no profile; returns the path of
/// the file.
#[pyfunction]
#[pyo3(name = "_set_default_profile")]
pub fn set_default_profile(
    py: Python<'_>,
    #[pyo3(from_py_with = text_of::name)] name: Option<&str>,
) -> PyResult<PathBuf> {
    change(py, |interrupted| Profile::set_default(name, interrupted))
}

/// The names of the profiles, and the default one or None.
#[pyfunction]
#[pyo3(name = "_profiles")]
pub fn profile_names(py: Python<'_>) -> PyResult<(Vec<String>, Option<String>)> {
    profile::names().or_raise(py)
}

/// Changes the file; a signal ends the wait for another process that is changing it.
fn change(
    py: Python<'_>,
    change: impl FnOnce(&mut dyn FnMut() -> bool) -> Result<PathBuf, ChangeError> + Send,
) -> PyResult<PathBuf> {
    let (changed, raised) = py.detach(|| {
        let mut raised = None;
        let changed = change(&mut || {
            raised = with_interpreter(callback::check_signals).and_then(Result::err);
            raised.is_some()
        });
        (changed, raised)
    });
    match (changed, raised) {
        (_, Some(raised)) => Err(raised),
        (Ok(path), None) => Ok(path),
        (Err(ChangeError::Invalid(error)), None) => Err(raise(py, error)),
        (Err(ChangeError::Io { path, error }), None) => Err(os_error(py, &path, &error)),
    }
}

/// The path of `config.toml`, with symbolic links resolved.
#[pyfunction]
#[pyo3(name = "_config_file")]
pub fn config_file(py: Python<'_>) -> PyResult<PathBuf> {
    profile::config_file().or_raise(py)
}

/// A profile of `config.toml` as a dict: `name`, `base_url`, `endpoints` (a file, or None), `proxy`
/// and `ca_file` (or None), `kind`, and where the secret is stored: `key_id` and `private_key`, or
/// `client_id` and `store` (None: the keychain), and `passphrase_file` or `passphrase_command`. A
/// missing profile is an error, or with `may_be_missing` None.
#[pyfunction]
#[pyo3(name = "_profile", signature = (name, *, may_be_missing = false))]
pub fn load_profile<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = text_of::name)] name: &str,
    may_be_missing: bool,
) -> PyResult<Option<Bound<'py, PyDict>>> {
    let found = if may_be_missing { Profile::find(name) } else { Profile::load(name).map(Some) };
    found.or_raise(py)?.map(|profile| entry(py, profile)).transpose()
}

/// Refuses to use the credentials of a profile at a service other than its own, which could replay
/// signed requests or keep a token.
#[pyfunction]
#[pyo3(name = "_check_profile_address")]
pub fn check_profile_address(py: Python<'_>, of_profile: &str, base_url: &str) -> PyResult<()> {
    let parsed = |url| BaseUrl::parse(url).or_raise(py);
    let (own, other) = (parsed(of_profile)?, parsed(base_url)?);
    if own.as_str() == other.as_str() {
        return Ok(());
    }
    let text = format!(
        "base_url is '{}'; the credentials of the profile belong to {} and are not sent elsewhere",
        other.as_str(),
        own.as_str()
    );
    let advice = "Leave the base URL out. To use the same key or login at that address, too, pass it as \
                  `auth` (`--key-id` and `--key-file`, or `--client-id`), or add a profile with `boardlot \
                  profile add`.";
    Err(raise(py, Error::config(text).with_advice(advice)))
}

/// The environment variable that names a proxy for a service, and the URL of that proxy, which may
/// have a password; None for a service that `NO_PROXY` excepts or that is on this machine.
#[pyfunction]
#[pyo3(name = "_environment_proxy")]
pub fn environment_proxy(
    py: Python<'_>,
    base_url: &str,
) -> PyResult<Option<(&'static str, String)>> {
    let base = BaseUrl::parse(base_url).or_raise(py)?;
    Ok(http::environment_proxy(&base))
}

/// A profile as a dict.
pub fn entry(py: Python<'_>, profile: Profile) -> PyResult<Bound<'_, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("name", profile.name)?;
    dict.set_item("base_url", profile.base_url)?;
    dict.set_item("endpoints", profile.endpoints)?;
    dict.set_item("proxy", profile.proxy)?;
    dict.set_item("ca_file", profile.ca_file)?;
    dict.set_item("client_cert", profile.client_cert)?;
    dict.set_item("rate_limit", profile.rate_limit)?;
    dict.set_item("rate_limit_shared", profile.rate_limit_shared)?;
    dict.set_item("read_only", profile.read_only)?;
    let (kind, file, command) = match profile.auth {
        ProfileAuth::None => ("none", None, None),
        ProfileAuth::ApiKey { key_id, private_key, passphrase_file, passphrase_command } => {
            dict.set_item("key_id", key_id)?;
            dict.set_item("private_key", private_key)?;
            ("api_key", passphrase_file, passphrase_command)
        }
        ProfileAuth::OAuth { client_id, store, passphrase_file, passphrase_command } => {
            dict.set_item("client_id", client_id)?;
            dict.set_item("store", store)?;
            ("oauth", passphrase_file, passphrase_command)
        }
    };
    dict.set_item("kind", kind)?;
    dict.set_item("passphrase_file", file)?;
    dict.set_item("passphrase_command", command)?;
    Ok(dict)
}

/// Makes a profile from a dict as `entry` returns it. Members that the profile's kind does not need
/// are ignored; missing members are None.
fn from_entry(name: &str, entry: &Bound<'_, PyDict>) -> PyResult<Profile> {
    fn member<T: for<'a, 'py> FromPyObject<'a, 'py, Error: Into<PyErr>>>(
        entry: &Bound<'_, PyDict>,
        name: &str,
    ) -> PyResult<Option<T>> {
        let value = entry.get_item(name)?.filter(|value| !value.is_none());
        value.map(|value| value.extract().map_err(Into::into)).transpose()
    }
    let required = |name: &str| {
        let value = entry.get_item(name)?.filter(|value| !value.is_none());
        value.map_or_else(|| Err(PyKeyError::new_err(name.to_owned())), |value| text(name, &value))
    };
    let passphrase_file = member(entry, "passphrase_file")?;
    let passphrase_command = member(entry, "passphrase_command")?;
    let auth = match required("kind")?.as_str() {
        "api_key" => ProfileAuth::ApiKey {
            key_id: required("key_id")?,
            private_key: member(entry, "private_key")?.unwrap_or_default(),
            passphrase_file,
            passphrase_command,
        },
        "oauth" => ProfileAuth::OAuth {
            client_id: required("client_id")?,
            store: member(entry, "store")?,
            passphrase_file,
            passphrase_command,
        },
        _ => ProfileAuth::None,
    };
    Ok(Profile {
        name: name.to_owned(),
        base_url: required("base_url")?,
        auth,
        endpoints: member(entry, "endpoints")?,
        proxy: member(entry, "proxy")?,
        ca_file: member(entry, "ca_file")?,
        client_cert: member(entry, "client_cert")?,
        rate_limit: member(entry, "rate_limit")?,
        rate_limit_shared: member(entry, "rate_limit_shared")?.unwrap_or(false),
        read_only: member(entry, "read_only")?.unwrap_or(false),
    })
}
