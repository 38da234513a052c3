//! The results of `request` and `explain`.

use super::rate_limit::description;
use crate::{
    interpreter::errors::{is_refusal, shown, unchangeable},
    prelude::*,
};
use boardlot_client::extension::http::{HttpResponse, is_public_header};

/// A response as it was received; the envelope is not checked.
///
/// >>> path = "/api/v1.0/quote/HK.00700/corporate-actions/dividends"
/// >>> response = client.request("GET", path)
/// >>> response.status, response.headers["content-type"], response.json()["ret_code"]
/// (200, 'application/json', 0)
#[pyclass(frozen, module = "boardlot")]
pub struct Response(pub HttpResponse);

#[pymethods]
impl Response {
    fn __setattr__(this: &Bound<'_, Self>, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    // A test whose patch has failed deletes the attribute that it could not set.
    fn __delattr__(this: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    /// The HTTP status.
    #[getter]
    fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// The headers by their names in any case, listed in lower case; the values of a repeated
    /// header are joined by commas.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let headers = self.0.headers();
        let joined = headers.keys().map(|name| {
            let values = headers.get_all(name).iter();
            let values: Vec<_> =
                values.map(|value| String::from_utf8_lossy(value.as_bytes())).collect();
            (name.as_str(), values.join(", "))
        });
        in_any_case(joined.into_py_dict(py)?)
    }

    /// The body as bytes, decompressed.
    #[getter]
    fn content<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.body())
    }

    /// The body parsed as JSON. Raises `ProtocolError` if it is not valid.
    fn json<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let error = match import(py, "json")?.invoke_method("loads", (self.content(py),)) {
            Err(error) if is_refusal(py, &error) => error,
            parsed => return parsed,
        };
        let text = format!("the response is not valid JSON: {}", shown(error.value(py).as_any())?);
        // The body may repeat secrets, so the error does not show it; the caller has it anyway.
        Err(raise(py, Error::protocol(text, b"")))
    }

    fn __repr__(&self) -> String {
        format!("<Response {}, {} bytes>", self.status(), self.0.body().len())
    }
}

/// Returns the headers as a dict that finds a name in any case.
fn in_any_case(headers: Bound<'_, PyDict>) -> PyResult<Bound<'_, PyAny>> {
    import(headers.py(), "boardlot._headers")?.getattr("Headers")?.invoke((headers,))
}

/// A request as it would be sent: signed, but without secrets.
#[pyclass(frozen, module = "boardlot")]
pub struct Explanation(pub boardlot_client::extension::client::Explanation);

#[pymethods]
impl Explanation {
    fn __setattr__(this: &Bound<'_, Self>, name: &str, _value: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    // A test whose patch has failed deletes the attribute that it could not set.
    fn __delattr__(this: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        Err(unchangeable(this.as_any(), name))
    }

    /// The HTTP method.
    #[getter]
    fn method(&self) -> &str {
        &self.0.method
    }

    /// The whole URL, encoded as it is sent.
    #[getter]
    fn url(&self) -> &str {
        &self.0.url
    }

    /// The five lines of the canonical request; empty if the client has no `ApiKey`.
    #[getter]
    fn payload_lines(&self) -> Vec<&str> {
        self.0.payload.as_ref().map(|text| text.split('\n').collect()).unwrap_or_default()
    }

    /// The signed bytes.
    #[getter]
    fn payload<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.payload.as_deref().unwrap_or_default().as_bytes())
    }

    /// The lowercase hex SHA-256 of the body; empty without a body.
    #[getter]
    fn body_hash(&self) -> &str {
        &self.0.body_hash
    }

    /// The headers that authorize and describe the request; tokens are redacted.
    #[getter]
    fn headers<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        in_any_case(self.0.headers.iter().chain(&self.0.authorization).into_py_dict(py)?)
    }

    /// The rate limit that applies to the request, and how much of it is free now; None without a
    /// limit.
    #[getter]
    fn rate_limit(&self) -> Option<String> {
        description(self.0.rate_limit.as_ref())
    }

    /// The values of other headers may be secrets and are not shown.
    fn __repr__(&self) -> String {
        let mut text = format!("{} {}\n", self.0.method, self.0.url);
        let own = self.0.headers.iter().map(|(name, value)| {
            (name, if is_public_header(name) { value.as_str() } else { "***" })
        });
        let authorization = self.0.authorization.iter().map(|(name, value)| (name, value.as_str()));
        for (name, value) in own.chain(authorization) {
            text += &format!("{name}: {value}\n");
        }
        for (number, line) in (1..).zip(self.payload_lines()) {
            text += &format!("canonical request, line {number}: {line}\n");
        }
        if let Some(limit) = self.rate_limit() {
            text += &format!("rate limit: {limit}\n");
        }
        text.trim_end().to_owned()
    }
}
