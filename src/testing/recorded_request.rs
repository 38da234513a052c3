//! `RecordedRequest`.

use crate::prelude::*;
use boardlot_sandbox as sandbox;

/// A request that the sandbox received.
#[pyclass(frozen, module = "boardlot._core")]
pub struct RecordedRequest(pub sandbox::RecordedRequest);

#[pymethods]
impl RecordedRequest {
    /// The HTTP method, in capitals.
    #[getter]
    fn method(&self) -> &str {
        &self.0.method
    }

    /// The path as it was sent, percent-encoded.
    #[getter]
    fn path(&self) -> &str {
        &self.0.path
    }

    /// The query string as it was sent, without the question mark.
    #[getter]
    fn query(&self) -> &str {
        &self.0.query
    }

    /// The HTTP status of the response; 0 if there was none.
    #[getter]
    fn status(&self) -> u16 {
        self.0.status
    }

    fn __repr__(&self) -> String {
        let question = if self.0.query.is_empty() { "" } else { "?" };
        format!("{} {}{question}{} -> {}", self.0.method, self.0.path, self.0.query, self.0.status)
    }
}
