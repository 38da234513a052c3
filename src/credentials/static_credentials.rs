//! `ApiKey` and `BearerToken`.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
    sync::Arc,
};

use zeroize::Zeroizing;

use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{secret_bytes, secret_text, user_path},
    calls::blocking::block,
    interpreter::{
        errors::{cannot_pickle, cannot_pickle_secret, is_refusal},
        texts::not_unicode,
    },
};
use boardlot_client::extension::{
    auth::{Credentials, KeyPair, blocking, pem, signed_headers, target},
    http::local_ms,
    os::texts::shown_path,
};

/// Far above the size of any key: the path of a larger file is a mistake.
const KEY_FILE_MAX_BYTES: u64 = 1 << 20;

/// An API key: its id, and the private key that signs the requests.
///
/// `key_id` is the id that the service assigned to the key. `private_key` is a path, PEM text or
/// bytes, in PKCS#8 (encrypted, if `password` is given) or PKCS#1. The algorithm is read from the
/// key. Raises `ConfigError` for a key that cannot be used; the error contains no part of the key.
///
/// >>> auth = bl.ApiKey("my-app-key", bl.generate_key().private_pem)
/// >>> auth.algorithm, len(auth.sign(b"any bytes"))
/// ('Ed25519', 88)
/// >>> auth.public_key_pem().splitlines()[0]
/// '-----BEGIN PUBLIC KEY-----'
#[pyclass(frozen, weakref, module = "boardlot")]
pub struct ApiKey {
    credentials: Credentials,
    key_id: String,
    key: Arc<KeyPair>,
    /// The file that the key was read from, which is what a pickle contains.
    path: Option<PathBuf>,
    has_password: bool,
}

impl ApiKey {
    /// Reads the key from a file, with a warning if other users can read the file.
    pub fn open(
        py: Python<'_>,
        key_id: &str,
        path: PathBuf,
        password: Option<&[u8]>,
    ) -> PyResult<Self> {
        let in_order = |error: Error| match Path::new(key_id).extension() {
            Some(extension) if extension == "pem" => {
                error.with_advice("The key id comes before the private key.".to_owned())
            }
            _ => error,
        };
        let read = py.detach(|| read_key_file(&path).map_err(in_order));
        let (bytes, readable_by_others) = read.or_raise(py)?;
        let key = read_key(py, bytes, password, Some(shown_path(&path)))?;
        let api_key = ApiKey::from_key(key_id, key).or_raise(py)?;
        if readable_by_others {
            let path = path.display();
            let text =
                format!("the key file {path} can be read by other users; run: chmod 600 {path}");
            warn(py, text)?;
        }
        // A pickle may be loaded in another working directory.
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(ApiKey { path: Some(path), has_password: password.is_some(), ..api_key })
    }

    fn from_key(key_id: &str, key: KeyPair) -> Result<Self> {
        let key = Arc::new(key);
        let credentials = Credentials::api_key(key_id.to_owned(), key.clone())?;
        let key_id = key_id.to_owned();
        Ok(ApiKey { credentials, key_id, key, path: None, has_password: false })
    }

    pub fn credentials(&self) -> Credentials {
        self.credentials.clone()
    }
}

#[pymethods]
impl ApiKey {
    #[new]
    #[pyo3(signature = (key_id, private_key, *, password = None))]
    fn new(
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::key_id)] key_id: &str,
        private_key: &Bound<'_, PyAny>,
        password: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let password = password.map(|value| secret_bytes("password", value)).transpose()?;
        let password = password.as_ref().map(|bytes| bytes.as_slice());
        let is_empty = match private_key.cast::<PyString>() {
            Ok(text) => text.to_str().is_ok_and(|text| text.trim().is_empty()),
            Err(_) => private_key.cast::<PyBytes>().is_ok_and(|key| key.as_bytes().is_empty()),
        };
        if is_empty {
            let expected = "the path of a private key file, PEM text or key bytes";
            return Err(raise(py, Error::argument("private_key", "empty", expected)));
        }
        if let Ok(bytes) = private_key.cast::<PyBytes>() {
            let key = read_key(py, Zeroizing::new(bytes.as_bytes().to_vec()), password, None)?;
            return ApiKey::from_key(key_id, key).or_raise(py);
        }
        // A text with undecodable bytes may be a path, and cannot be PEM.
        if let Ok(text) = private_key.cast::<PyString>()
            && Zeroizing::new(text.to_string_lossy().into_owned()).contains(pem::BEGIN.trim_end())
        {
            let text = secret_text("private_key", text)?;
            let key = read_key(py, Zeroizing::new(text.as_bytes().to_vec()), password, None)?;
            return ApiKey::from_key(key_id, key).or_raise(py);
        }
        let path: PathBuf =
            user_path(private_key).map_err(|error| match is_refusal(py, &error) {
                true if private_key.is_instance_of::<PyString>() => {
                    not_unicode("private_key", private_key)
                }
                true => wrong_type("private_key", private_key, "a path, PEM text or bytes"),
                false => error,
            })?;
        ApiKey::open(py, key_id, path, password)
    }

    /// The id that the service assigned to the key: the value of `X-Api-Key`.
    #[getter]
    fn key_id(&self) -> &str {
        &self.key_id
    }

    /// `"Ed25519"` or `"RSA-SHA256"`.
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.key.algorithm().as_str()
    }

    /// The public key as PEM, to be uploaded to the dashboard.
    fn public_key_pem(&self, py: Python<'_>) -> PyResult<String> {
        self.key.public_key_pem().or_raise(py)
    }

    /// Signs the bytes of `payload` and returns the signature in Base64.
    fn sign(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = bytes_of::payload)] payload: &[u8],
    ) -> PyResult<String> {
        self.key.sign(payload).or_raise(py)
    }

    /// The four headers that sign a request of another HTTP client: `X-Api-Key`, `X-Timestamp`,
    /// `X-Nonce` and `Authorization`. Each call signs with the current time and a new nonce, so
    /// call it for each attempt.
    ///
    /// `method`, `url` and `body` are those of the request as it is sent: the final,
    /// percent-encoded URL with its query, and the raw bytes. `clock` is a client whose
    /// `clock_offset` corrects the time. Raises `ConfigError` for a URL that an HTTP client would
    /// change before it sends it. `boardlot.auth` calls this for requests, httpx and aiohttp.
    ///
    /// >>> auth = bl.ApiKey("my-app-key", bl.generate_key().private_pem)
    /// >>> headers = auth.headers("GET", "https://api.example.com/api/v1.0/server-time")
    /// >>> sorted(headers)
    /// ['Authorization', 'X-Api-Key', 'X-Nonce', 'X-Timestamp']
    #[pyo3(
        signature = (method, url, body = None, *, clock = None),
        text_signature = "(self, method, url, body=b'', *, clock=None)",
    )]
    fn headers<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text_of::method)] method: &str,
        #[pyo3(from_py_with = text_of::url)] url: &str,
        #[pyo3(from_py_with = bytes_of::body)] body: Option<&[u8]>,
        clock: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyDict>> {
        let offset_ms = match clock {
            None => 0,
            Some(client) => {
                (client.getattr("clock_offset")?.extract::<f64>()? * 1_000.0).round() as i64
            }
        };
        let (path, query) = target(url).or_raise(py)?;
        let time_ms = local_ms().saturating_add(offset_ms);
        let line = (method, path, query);
        let body = body.unwrap_or_default();
        let signed = signed_headers(&self.key_id, &self.key, time_ms, line, body).or_raise(py)?;
        let headers = PyDict::new(py);
        for (name, value) in signed {
            headers.set_item(header_name(name), value)?;
        }
        Ok(headers)
    }

    fn __repr__(&self) -> String {
        format!("ApiKey('{}', {})", self.key_id.escape_debug(), self.algorithm())
    }

    /// A pickle contains the path of the key file, never the key. The path is text, because older
    /// versions of CPython cannot read a `pathlib.Path` that CPython 3.13 has pickled.
    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<(String, OsString)> {
        match &self.path {
            Some(path) if !self.has_password => Ok((self.key_id.clone(), path.clone().into())),
            Some(_) => Err(cannot_pickle_secret(py, "an ApiKey with a password")),
            None => Err(cannot_pickle(
                py,
                "an ApiKey made from text or bytes",
                "make it from the path of a key file, whose public key a sandbox takes with upload_key",
            )),
        }
    }
}

/// A bearer token: `token` is sent unchanged, and never refreshed.
///
/// >>> client = bl.Client(sandbox.base_url, auth=bl.BearerToken("a-token"))
#[pyclass(frozen, weakref, module = "boardlot")]
pub struct BearerToken(Credentials);

impl BearerToken {
    pub fn credentials(&self) -> Credentials {
        self.0.clone()
    }
}

#[pymethods]
impl BearerToken {
    #[new]
    #[pyo3(signature = (token))]
    fn new(py: Python<'_>, token: &Bound<'_, PyAny>) -> PyResult<Self> {
        let token = secret_text("token", token)?;
        Credentials::bearer(token).map(BearerToken).or_raise(py)
    }

    fn __repr__(&self) -> &'static str {
        "BearerToken(...)"
    }

    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<()> {
        Err(cannot_pickle_secret(py, "a BearerToken"))
    }
}

/// A header's name as the service document writes it: `X-Api-Key`.
fn header_name(name: &str) -> String {
    let words = name.split('-').map(|word| {
        let (first, rest) = word.split_at_checked(1).unwrap_or((word, ""));
        first.to_ascii_uppercase() + rest
    });
    words.collect::<Vec<_>>().join("-")
}

/// Reads a key, detached from the interpreter. `file` is the file that contained the key, if any.
/// Stretching the password of an encrypted key may take seconds; Ctrl-C ends that wait.
fn read_key(
    py: Python<'_>,
    bytes: Zeroizing<Vec<u8>>,
    password: Option<&[u8]>,
    file: Option<String>,
) -> PyResult<KeyPair> {
    let Some(password) = password else {
        return py.detach(|| KeyPair::read_from(file.as_deref(), &bytes, None)).or_raise(py);
    };
    let password = Zeroizing::new(password.to_vec());
    block(py, blocking(move || KeyPair::read_from(file.as_deref(), &bytes, Some(&password))))
}

/// Returns the contents of a key file, and true if other users can read the file. The argument may
/// be a secret instead of a path, so an error shows it only if it looks like a path.
fn read_key_file(path: &Path) -> Result<(Zeroizing<Vec<u8>>, bool)> {
    let shown = shown_path(path);
    let secret = ", or PEM text with its -----BEGIN line. This service needs a private key, which signs \
                  the requests; an API secret is not a private key";
    let or = if shown.starts_with('(') { secret } else { "" };
    let refuse = |error: std::io::Error| {
        let expected = format!("expected the path of a private key file{or}");
        let advice = match error.kind() == std::io::ErrorKind::PermissionDenied {
            true => "Run the job as the owner of the key file (see `ls -l`), or chmod the file.",
            false if path.is_absolute() => {
                "Check the path. If you do not have a key yet, `boardlot keygen FILE` generates one."
            }
            false => {
                "Check the path: a relative path starts at the working directory. If you do not have a key \
                 yet, `boardlot keygen FILE` generates one."
            }
        };
        Error::misuse(format!("private_key {shown} cannot be read: {error}; {expected}"), advice)
            .caused_by(&error)
    };
    let metadata = std::fs::metadata(path).map_err(refuse)?;
    if !metadata.is_file() {
        // Reading a pipe would wait for its writer, and would work only once.
        let advice = "Pass the key itself, as PEM text or bytes: for the output of a program, \
                      `private_key=subprocess.check_output([...])`. Commands accept only a file.";
        let text = format!("private_key {shown} is not a regular file; expected the file of a key");
        return Err(Error::misuse(text, advice));
    }
    if metadata.len() > KEY_FILE_MAX_BYTES {
        let what = format!("is a file of {} bytes; expected the file of a key", metadata.len());
        return Err(Error::config(format!("private_key {shown} {what}")));
    }
    let bytes = std::fs::read(path).map_err(refuse)?;
    Ok((Zeroizing::new(bytes), readable_by_others(&metadata)))
}

#[cfg(unix)]
fn readable_by_others(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o044 != 0
}

#[cfg(not(unix))]
fn readable_by_others(_metadata: &std::fs::Metadata) -> bool {
    // On Windows a user's files are private by default.
    false
}
