//! The core's errors as the exceptions of `boardlot.errors`: one exhaustive conversion.

use pyo3::{prelude::*, types::PyDict};

use super::once::Once;
use crate::error::{BODY_SHOWN_BYTES, Error, ErrorKind, FailureClass, Refusal, excerpt};

/// The exception for an error, ready to be raised.
pub fn raise(py: Python<'_>, error: Error) -> PyErr {
    match exception(py, &error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

/// The exception object for an error.
pub fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    static ERRORS: Once<Py<PyModule>> = Once::new();
    let errors =
        ERRORS.get_or_try_init(py, || py.import("boardlot.errors").map(Bound::unbind))?.bind(py);
    let attributes = PyDict::new(py);
    attributes.set_item("endpoint", &error.endpoint)?;
    attributes.set_item("retryable", error.retryable())?;
    attributes.set_item("hint", error.hint())?;
    attributes.set_item("checkpoint", &error.checkpoint)?;
    let class = match error.kind.as_ref() {
        ErrorKind::Config(_) => "ConfigError",
        ErrorKind::Transport { .. } => "TransportError",
        ErrorKind::Timeout(_) => "RequestTimeout",
        ErrorKind::Protocol { .. } => "ProtocolError",
        ErrorKind::Pagination(_) => "PaginationError",
        ErrorKind::Api(refusal) => {
            describe(&attributes, refusal)?;
            class_of(refusal.class)
        }
        ErrorKind::OAuth { error, description } => {
            attributes.set_item("error", excerpt(error))?;
            attributes.set_item("description", excerpt(description))?;
            "OAuthError"
        }
        ErrorKind::LoginRequired { error, message, .. } => {
            attributes.set_item("error", excerpt(error))?;
            attributes.set_item("description", message)?;
            "LoginRequired"
        }
        ErrorKind::Store(_) => "StoreError",
    };
    errors.getattr(class)?.call((error.to_string(),), Some(&attributes))
}

fn describe(attributes: &Bound<'_, PyDict>, refusal: &Refusal) -> PyResult<()> {
    let headers = PyDict::new(attributes.py());
    for (name, value) in &refusal.headers {
        headers.set_item(name, value)?;
    }
    attributes.set_item("http_status", refusal.http_status)?;
    attributes.set_item("code", refusal.code)?;
    attributes.set_item("error_code", &refusal.error_code)?;
    attributes.set_item("message", &refusal.message)?;
    attributes.set_item("headers", headers)?;
    attributes.set_item("body", shown(&refusal.body))?;
    if refusal.class == FailureClass::RateLimited {
        attributes.set_item("retry_after", refusal.retry_after.map(|wait| wait.as_secs_f64()))?;
    }
    Ok(())
}

/// The first of a body, cut at a whole character.
fn shown(body: &str) -> &str {
    let mut end = body.len().min(BODY_SHOWN_BYTES);
    while !body.is_char_boundary(end) {
        end -= 1;
    }
    body.get(..end).unwrap_or_default()
}

const fn class_of(class: FailureClass) -> &'static str {
    match class {
        FailureClass::InvalidParameter => "InvalidParameter",
        FailureClass::InvalidSymbol => "InvalidSymbol",
        FailureClass::Service => "ServiceError",
        FailureClass::Authentication => "AuthenticationError",
        FailureClass::ClockSkew => "ClockSkewError",
        FailureClass::PermissionDenied => "PermissionDenied",
        FailureClass::RateLimited => "RateLimited",
        FailureClass::Other => "ApiError",
    }
}
