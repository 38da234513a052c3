//! The conversion of the core's errors to the exceptions of `boardlot.errors`.

use pyo3::{
    exceptions::{PyAttributeError, PyException, PyTypeError},
    prelude::*,
    types::{IntoPyDict, PyDict},
};

use super::{
    callback::{self, Invoke, import},
    python_words::{advise, log_in},
};
use boardlot_client::extension::{
    error::{ApiFailure, Error, ErrorKind, FailureClass, Result},
    http::redactor_of_all_clients,
};

/// Makes the exception for an error, ready to be raised.
pub fn raise(py: Python<'_>, error: Error) -> PyErr {
    // The error may show a value that was received long ago, and that may repeat a secret of any
    // client.
    let error = match *error.kind {
        ErrorKind::Protocol { .. } if !error.is_redacted => {
            error.redacted(&redactor_of_all_clients())
        }
        _ => error,
    };
    match exception(py, &error) {
        Ok(exception) => PyErr::from_value(exception),
        Err(failure) => failure,
    }
}

/// Makes exceptions of the core's errors, for `?`.
pub trait OrRaise<T> {
    /// Returns the result, with its error converted to an exception.
    fn or_raise(self, py: Python<'_>) -> PyResult<T>;
}

impl<T> OrRaise<T> for Result<T> {
    fn or_raise(self, py: Python<'_>) -> PyResult<T> {
        self.map_err(|error| raise(py, error))
    }
}

/// The exception for an argument of the wrong type. The value is not shown, as it may be a secret.
pub fn wrong_type(name: &str, value: &Bound<'_, PyAny>, expected: &str) -> PyErr {
    let shown = match missing_name(value) {
        Ok(Some(missing)) => missing.to_owned(),
        Ok(None) => match value.get_type().name() {
            Ok(class) => format!("of type {class}"),
            Err(failure) => return failure,
        },
        Err(failure) => return failure,
    };
    raise(value.py(), Error::argument(name, &shown, expected))
}

/// The name of a missing value of pandas or numpy, for errors: its type is not one that a caller
/// wrote.
pub fn missing_name(value: &Bound<'_, PyAny>) -> PyResult<Option<&'static str>> {
    let class = value.get_type();
    let (name, module) = (class.name()?, class.module()?);
    let package = module.to_cow()?.split('.').next().unwrap_or_default().to_owned();
    Ok(match (package.as_str(), name.to_cow()?.as_ref()) {
        ("pandas", "NAType") => Some("pandas.NA, a missing value"),
        ("pandas", "NaTType") => Some("pandas.NaT, a missing time"),
        // NaT is the only one of these values that is not equal to itself.
        ("numpy", "datetime64" | "timedelta64") if value.ne(value)? => {
            Some("numpy's NaT, a missing time")
        }
        _ => None,
    })
}

/// The error of pickling an object that has a connection or a secret; `advice` says what to do
/// instead.
pub fn cannot_pickle(py: Python<'_>, object: &str, advice: &str) -> PyErr {
    raise(py, Error::config(format!("cannot pickle {object}; {advice}")))
}

/// The error of pickling an object with a secret.
pub fn cannot_pickle_secret(py: Python<'_>, object: &str) -> PyErr {
    cannot_pickle(py, object, "create it in the process that uses it")
}

/// The error of setting an attribute of an object that callers receive, as a test may try.
pub fn unchangeable(object: &Bound<'_, PyAny>, name: &str) -> PyErr {
    unchangeable_but(object, name, |class| {
        format!("use mock.create_autospec(boardlot.{class}, instance=True)")
    })
}

/// The error of setting an attribute, with advice on what a test should use instead.
pub fn unchangeable_but(
    object: &Bound<'_, PyAny>,
    name: &str,
    instead: impl FnOnce(&str) -> String,
) -> PyErr {
    let class = match object.get_type().name() {
        Ok(class) => class.to_string(),
        Err(failure) => return failure,
    };
    let instead = instead(&class);
    PyAttributeError::new_err(format!(
        "a {class} does not change, so its {name} cannot be set; in a test, {instead}"
    ))
}

/// Returns true if an exception is an error, and not an interrupt or an exit.
fn is_error(py: Python<'_>, exception: &PyErr) -> bool {
    exception.is_instance_of::<PyException>(py)
}

/// Returns true if an exception says that a value cannot be converted. Any other exception has to
/// reach the caller unchanged: an interrupt, an exit, or an exception of the caller's code, such as
/// a signal handler or a method that was called to read an argument.
pub fn is_refusal(py: Python<'_>, exception: &PyErr) -> bool {
    /// Modules of the standard library that convert values by Python code.
    const CONVERTING: [&str; 2] = ["enum", "json"];
    if !is_error(py, exception) {
        return false;
    }
    // A method such as `__index__`, even one in Python, raises `TypeError` for a value that is not
    // of its kind.
    if exception.is_instance_of::<PyTypeError>(py) {
        return true;
    }
    // An exception of the interpreter itself has no traceback.
    modules_of(py, exception).is_ok_and(|modules| {
        modules.iter().all(|name| CONVERTING.contains(&name.split('.').next().unwrap_or_default()))
    })
}

/// Returns the modules of the Python code that an exception has passed through.
fn modules_of(py: Python<'_>, exception: &PyErr) -> PyResult<Vec<String>> {
    let mut modules = Vec::new();
    let mut next = exception.traceback(py).map(Bound::into_any);
    while let Some(traceback) = next {
        let names = traceback.getattr("tb_frame")?.getattr("f_globals")?;
        modules.push(names.get_item("__name__")?.extract()?);
        next = Some(traceback.getattr("tb_next")?).filter(|next| !next.is_none());
    }
    Ok(modules)
}

/// Returns the text of a caller's object, by its `__str__`. `Display` would drop an exception of
/// that method.
pub fn shown(value: &Bound<'_, PyAny>) -> PyResult<String> {
    callback::reading(value.py(), || Ok(value.str()?.to_string_lossy().into_owned()))
}

/// Returns true if an exception is one of boardlot's.
pub fn is_own(py: Python<'_>, exception: &PyErr) -> bool {
    let class = classes(py).and_then(|classes| classes.getattr("BoardlotError"));
    class.and_then(|class| exception.value(py).is_instance(&class)).unwrap_or(false)
}

/// Returns the module of the exceptions: the currently imported one, as some tools import packages
/// again.
fn classes(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    import(py, "boardlot.errors")
}

/// Makes the exception object for an error.
pub fn exception<'py>(py: Python<'py>, error: &Error) -> PyResult<Bound<'py, PyAny>> {
    let errors = classes(py)?;
    let attributes = PyDict::new(py);
    attributes.set_item("endpoint", &error.endpoint)?;
    attributes.set_item("retryable", error.retryable())?;
    // If the error has no hint of its own, Python uses the hint of the exception's class.
    attributes.set_item("hint", error.own_hint(log_in, advise))?;
    attributes.set_item("checkpoint", &error.checkpoint)?;
    if let Some(failure) = error.api_failure() {
        set_response_attributes(&attributes, failure)?;
    }
    if let Some((code, description)) = error.kind.of_login() {
        attributes.set_item("error", code)?;
        attributes.set_item("description", description)?;
    }
    let class = errors.getattr(error.class().name())?;
    class.invoke_named((error.to_string(),), Some(&attributes))
}

/// Sets the content of the response as attributes of the exception.
fn set_response_attributes(attributes: &Bound<'_, PyDict>, failure: &ApiFailure) -> PyResult<()> {
    let headers = failure.headers.iter().into_py_dict(attributes.py())?;
    attributes.set_item("http_status", failure.http_status)?;
    attributes.set_item("code", failure.code)?;
    attributes.set_item("error_code", &failure.error_code)?;
    attributes.set_item("message", &failure.message)?;
    attributes.set_item("headers", headers)?;
    attributes.set_item("body", &failure.body)?;
    if failure.class == FailureClass::RateLimited {
        attributes.set_item("retry_after", failure.retry_after.map(|wait| wait.as_secs_f64()))?;
    }
    Ok(())
}
