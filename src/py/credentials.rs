//! `ApiKey`, `BearerToken`, keys and the signed payload, as Python sees them.

use std::{path::PathBuf, sync::Arc};

use pyo3::{
    exceptions::PyUserWarning,
    prelude::*,
    types::{PyBytes, PyString},
};
use zeroize::Zeroizing;

use super::{
    errors::{raise, wrong_type},
    oauth::OAuth,
    shutdown_gate::detach,
};
use crate::{
    auth::{Algorithm, Credentials, KeyPair, generate, payload},
    error::{Error, Result},
};

/// An application key: its id, and the private key that signs the requests.
///
/// `private_key` is a path, PEM text or bytes; PKCS#8 (also encrypted, with `password`) or PKCS#1.
/// The algorithm is read from the key. Raises `ConfigError` for a key that cannot be used. Service
/// document, section 5.2.
#[pyclass(frozen, module = "boardlot._core")]
pub struct ApiKey {
    credentials: Credentials,
    key_id: String,
    key: Arc<KeyPair>,
    /// Where the key was read from: all that pickling carries.
    path: Option<PathBuf>,
    has_password: bool,
}

impl ApiKey {
    /// The key of a file, with a warning where other users can read it.
    pub fn open(
        py: Python<'_>,
        key_id: &str,
        path: PathBuf,
        password: Option<&[u8]>,
    ) -> PyResult<Self> {
        let refused = |error| raise(py, error);
        let (bytes, readable_by_others) = read_key_file(&path).map_err(refused)?;
        let key = KeyPair::read(&bytes, password).map_err(refused)?;
        let api_key = ApiKey::of(key_id, key).map_err(refused)?;
        if readable_by_others {
            let path = path.display();
            let text =
                format!("the key file {path} can be read by other users; run: chmod 600 {path}");
            let category = py.get_type::<PyUserWarning>();
            py.import("warnings")?.call_method1("warn", (text, category, 1))?;
        }
        // A pickle may be opened in another folder.
        let path = std::path::absolute(&path).unwrap_or(path);
        Ok(ApiKey { path: Some(path), has_password: password.is_some(), ..api_key })
    }

    fn of(key_id: &str, key: KeyPair) -> Result<Self> {
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
        key_id: &str,
        private_key: &Bound<'_, PyAny>,
        password: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let password = password.map(secret_bytes).transpose()?;
        let password = password.as_ref().map(|bytes| bytes.as_slice());
        let refused = |error| raise(py, error);
        if let Ok(bytes) = private_key.cast::<PyBytes>() {
            let key = KeyPair::read(bytes.as_bytes(), password).map_err(refused)?;
            return ApiKey::of(key_id, key).map_err(refused);
        }
        if let Ok(text) = secret_text(private_key)
            && text.contains("-----BEGIN")
        {
            let key = KeyPair::read(text.as_bytes(), password).map_err(refused)?;
            return ApiKey::of(key_id, key).map_err(refused);
        }
        let path: PathBuf = private_key
            .extract()
            .map_err(|_| wrong_type("private_key", private_key, "a path, PEM text or bytes"))?;
        ApiKey::open(py, key_id, path, password)
    }

    /// The id that the service gave the key: the value of `X-Api-Key`.
    #[getter]
    fn key_id(&self) -> &str {
        &self.key_id
    }

    /// `"Ed25519"` or `"RSA-SHA256"`.
    #[getter]
    fn algorithm(&self) -> &'static str {
        self.key.algorithm().as_str()
    }

    /// The public key as PEM: what is uploaded to the dashboard.
    fn public_key_pem(&self, py: Python<'_>) -> PyResult<String> {
        self.key.public_key_pem().map_err(|error| raise(py, error))
    }

    /// The Base64 signature of a payload.
    fn sign(&self, py: Python<'_>, payload: &[u8]) -> PyResult<String> {
        self.key.sign(payload).map_err(|error| raise(py, error))
    }

    fn __repr__(&self) -> String {
        format!("ApiKey('{}', {})", self.key_id.escape_debug(), self.algorithm())
    }

    /// A pickle carries the path of the key file, never the key.
    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<(String, PathBuf)> {
        match &self.path {
            Some(path) if !self.has_password => Ok((self.key_id.clone(), path.clone())),
            Some(_) => Err(raise(
                py,
                Error::config(
                    "an ApiKey with a password is not pickled: the password would be too",
                ),
            )),
            None => Err(raise(
                py,
                Error::config(
                    "an ApiKey made from text or bytes is not pickled, since the private key would \
                     be in the pickle; make it from a path",
                ),
            )),
        }
    }
}

/// A bearer token of your own, sent as it is.
#[pyclass(frozen, module = "boardlot._core")]
pub struct BearerToken(Credentials);

impl BearerToken {
    pub fn credentials(&self) -> Credentials {
        self.0.clone()
    }
}

#[pymethods]
impl BearerToken {
    #[new]
    fn new(py: Python<'_>, token: &Bound<'_, PyAny>) -> PyResult<Self> {
        Credentials::bearer(secret_text(token)?).map(BearerToken).map_err(|error| raise(py, error))
    }

    fn __repr__(&self) -> &'static str {
        "BearerToken(...)"
    }

    fn __getnewargs__(&self, py: Python<'_>) -> PyResult<()> {
        Err(raise(
            py,
            Error::config("a BearerToken is not pickled: the token would be in the pickle"),
        ))
    }
}

/// The five signed lines of section 5.2.
#[pyfunction]
#[pyo3(
    signature = (timestamp_ms, method, path, query = "", body = None),
    text_signature = "(timestamp_ms, method, path, query='', body=b'')",
)]
pub fn signature_payload<'py>(
    py: Python<'py>,
    timestamp_ms: i64,
    method: &str,
    path: &str,
    query: &str,
    body: Option<&[u8]>,
) -> Bound<'py, PyBytes> {
    PyBytes::new(py, &payload(timestamp_ms, method, path, query, body.unwrap_or_default()))
}

/// A new key pair: `.private_pem` (PKCS#8) and `.public_pem`. `bits` is the size of an RSA key.
#[pyfunction]
#[pyo3(signature = (algorithm = "Ed25519", *, bits = 3072))]
pub fn generate_key(py: Python<'_>, algorithm: &str, bits: i64) -> PyResult<GeneratedKey> {
    let made = Algorithm::parse(algorithm)
        .and_then(|algorithm| {
            let bits = usize::try_from(bits).map_err(|_| {
                Error::argument("bits", &bits.to_string(), "2048, 3072, 4096 or 8192")
            })?;
            detach(py, || generate(algorithm, bits))
        })
        .map_err(|error| raise(py, error))?;
    Ok(GeneratedKey { private_pem: made.0, public_pem: made.1 })
}

/// A key pair that was just made.
#[pyclass(frozen, module = "boardlot._core")]
pub struct GeneratedKey {
    private_pem: Zeroizing<String>,
    public_pem: String,
}

#[pymethods]
impl GeneratedKey {
    /// The private key as PEM (PKCS#8): keep it where nobody else can read it.
    #[getter]
    fn private_pem<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, &self.private_pem)
    }

    /// The public key as PEM: what is uploaded to the dashboard.
    #[getter]
    fn public_pem(&self) -> &str {
        &self.public_pem
    }

    #[expect(clippy::unused_self, reason = "a method of the Python class")]
    fn __repr__(&self) -> &'static str {
        "GeneratedKey(...)"
    }
}

/// The credentials that an `auth` argument stands for.
pub fn credentials(auth: &Bound<'_, PyAny>) -> PyResult<Credentials> {
    if let Ok(key) = auth.cast::<ApiKey>() {
        return Ok(key.get().credentials());
    }
    if let Ok(token) = auth.cast::<BearerToken>() {
        return Ok(token.get().credentials());
    }
    if let Ok(oauth) = auth.cast::<OAuth>() {
        return Ok(oauth.get().credentials());
    }
    Err(wrong_type("auth", auth, "an ApiKey, a BearerToken or an OAuth"))
}

fn secret_bytes(value: &Bound<'_, PyAny>) -> PyResult<Zeroizing<Vec<u8>>> {
    if let Ok(bytes) = value.cast::<PyBytes>() {
        return Ok(Zeroizing::new(bytes.as_bytes().to_vec()));
    }
    match secret_text(value) {
        Ok(text) => Ok(Zeroizing::new(text.as_bytes().to_vec())),
        Err(_) => Err(wrong_type("password", value, "a string or bytes")),
    }
}

/// A text that is wiped from memory when it is dropped; Python's own copy is Python's.
pub fn secret_text(value: &Bound<'_, PyAny>) -> PyResult<Zeroizing<String>> {
    value.extract::<String>().map(Zeroizing::new)
}

fn read_key_file(path: &PathBuf) -> Result<(Zeroizing<Vec<u8>>, bool)> {
    /// Far above any key; a path to something huge is a mistake.
    const KEY_FILE_MAX_BYTES: u64 = 1 << 20;
    if looks_like_a_key(&path.to_string_lossy()) && !path.exists() {
        return Err(Error::config(
            "private_key is neither the path of a file nor PEM text; it is not shown, since it \
             looks like a key itself. Give a path, or PEM text with its -----BEGIN line",
        ));
    }
    let refused =
        |error: std::io::Error| Error::config(format!("private_key {}: {error}", path.display()));
    let metadata = std::fs::metadata(path).map_err(refused)?;
    if !metadata.is_file() || metadata.len() > KEY_FILE_MAX_BYTES {
        return Err(Error::config(format!("private_key {} is no key file", path.display())));
    }
    let bytes = std::fs::read(path).map_err(refused)?;
    Ok((Zeroizing::new(bytes), readable_by_others(&metadata)))
}

/// Whether a text that should be a path may be the key itself: it must not get into an error.
fn looks_like_a_key(text: &str) -> bool {
    /// 32 bytes as Base64 without padding: the shortest key there is.
    const SHORTEST: usize = 43;
    let of_base64 = |c: char| c.is_ascii_alphanumeric() || "+/-_=".contains(c);
    text.contains('\n') || (text.len() >= SHORTEST && text.chars().all(of_base64))
}

#[cfg(unix)]
fn readable_by_others(metadata: &std::fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt;
    metadata.permissions().mode() & 0o044 != 0
}

#[cfg(not(unix))]
fn readable_by_others(_metadata: &std::fs::Metadata) -> bool {
    // Windows keeps a user's files from other users by itself.
    false
}
