//! The description of the service.

use pyo3::prelude::*;

/// The service as an OpenAPI 3.1 description, in JSON.
#[pyfunction(name = "_openapi_json")]
pub fn openapi_json() -> &'static str {
    boardlot_sandbox::OPENAPI
}
