//! `signature_payload` and `generate_key`.

use zeroize::Zeroizing;

use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{number_of, secret_text},
    calls::blocking::block,
};
use boardlot_client::extension::auth::{Algorithm, blocking, encrypted, generate, payload};

/// The canonical request (five lines) that is signed.
///
/// `timestamp_ms` is the value of `X-Timestamp`, in milliseconds since 1970. `method`, `path`,
/// `query` (without the question mark) and `body` are those of the request, exactly as they are
/// sent.
///
/// >>> payload = bl.signature_payload(1767571200000, "GET", "/api/v1.0/server-time")
/// >>> payload.decode().splitlines()[:3]
/// ['1767571200000', 'GET', '/api/v1.0/server-time']
#[pyfunction]
#[pyo3(
    signature = (timestamp_ms, method, path, query = "", body = None),
    text_signature = "(timestamp_ms, method, path, query='', body=b'')",
)]
pub fn signature_payload<'py>(
    py: Python<'py>,
    #[pyo3(from_py_with = number_of::timestamp_ms)] timestamp_ms: i64,
    #[pyo3(from_py_with = text_of::method)] method: &str,
    #[pyo3(from_py_with = text_of::path)] path: &str,
    #[pyo3(from_py_with = text_of::query)] query: &str,
    #[pyo3(from_py_with = bytes_of::body)] body: Option<&[u8]>,
) -> PyResult<Bound<'py, PyBytes>> {
    Ok(PyBytes::new(py, &payload(timestamp_ms, method, path, query, body.unwrap_or_default())))
}

/// Generates a key pair. `algorithm` is `"Ed25519"` or `"RSA-SHA256"`; `bits` is the size of an RSA
/// key: 2048, 3072, 4096 or 8192. Raises `ConfigError` for other values.
///
/// >>> bl.generate_key().private_pem.splitlines()[0]
/// '-----BEGIN PRIVATE KEY-----'
#[pyfunction]
#[pyo3(signature = (algorithm = "Ed25519", *, bits = 3072))]
pub fn generate_key(
    py: Python<'_>,
    #[pyo3(from_py_with = text_of::algorithm)] algorithm: &str,
    #[pyo3(from_py_with = number_of::bits)] bits: i64,
) -> PyResult<GeneratedKey> {
    let algorithm = Algorithm::parse(algorithm).or_raise(py)?;
    let bits = usize::try_from(bits).map_err(|_| {
        raise(py, Error::argument("bits", &bits.to_string(), "2048, 3072, 4096 or 8192"))
    })?;
    // Generating a large key takes half a minute, and nothing can stop the library meanwhile:
    // Ctrl-C ends only the wait.
    let (private_pem, public_pem) = block(py, blocking(move || generate(algorithm, bits)))?;
    Ok(GeneratedKey { private_pem, public_pem })
}

/// A new key pair.
#[pyclass(frozen, module = "boardlot")]
pub struct GeneratedKey {
    private_pem: Zeroizing<String>,
    public_pem: String,
}

#[pymethods]
impl GeneratedKey {
    /// The private key as PEM (PKCS#8). Store it where nobody else can read it.
    #[getter]
    fn private_pem<'py>(&self, py: Python<'py>) -> Bound<'py, PyString> {
        PyString::new(py, &self.private_pem)
    }

    /// The public key as PEM, to be uploaded to the dashboard.
    #[getter]
    fn public_pem(&self) -> &str {
        &self.public_pem
    }

    /// The private key as PEM, encrypted with a password.
    fn _encrypted_pem<'py>(&self, password: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyString>> {
        let (py, password) = (password.py(), secret_text("password", password)?);
        let encrypted = py.detach(|| encrypted(&self.private_pem, password.as_bytes()));
        encrypted.map(|pem| PyString::new(py, &pem)).or_raise(py)
    }

    fn __repr__(&self) -> &'static str {
        "GeneratedKey(...)"
    }
}
