//! Calls of token stores, by Python code and by the core.

use std::{
    cell::{Cell, RefCell},
    time::Instant,
};

use crate::prelude::*;
use crate::{
    calls::blocking::SIGNAL_POLL,
    interpreter::{
        attachment::{attach, with_interpreter},
        callback,
        errors::shown,
        weak_ref::WeakRef,
    },
};
use boardlot_client::extension::{error::ErrorKind, http::redact_named_secrets};

thread_local! {
    /// The exception that Python code raised on this thread within the core's work.
    static RAISED: RefCell<Option<PyErr>> = const { RefCell::new(None) };
    /// The time when this thread last checked for signals, while it calls a store for Python code.
    static SIGNALS_CHECKED: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Calls a store on the caller's own thread, so that exceptions of Python code in it propagate
/// unchanged.
pub fn call_store<T: Send>(py: Python<'_>, call: impl FnOnce() -> Result<T> + Send) -> PyResult<T> {
    RAISED.take();
    let outcome = py.detach(|| {
        SIGNALS_CHECKED.set(Some(Instant::now()));
        let outcome = call();
        SIGNALS_CHECKED.take();
        outcome
    });
    outcome.map_err(|error| RAISED.take().unwrap_or_else(|| raise(py, error)))
}

/// Calls a Python object that a store needs, from the core. `name` is the name of the object in
/// errors.
pub fn call_python<T>(
    object: &WeakRef,
    name: &str,
    call: impl FnOnce(&Bound<'_, PyAny>) -> PyResult<T>,
) -> Result<T> {
    attach(|py| {
        let object = object.upgrade(py).ok_or_else(|| {
            let text = "the credentials were dropped while they were in use; keep a reference";
            ErrorKind::Store(text.into())
        })?;
        call(&object).map_err(|error| store_error(py, name, error))
    })
}

/// Calls an object that a store's Python object has returned.
pub fn call_object<T>(name: &str, call: impl FnOnce(Python<'_>) -> PyResult<T>) -> Result<T> {
    attach(|py| call(py).map_err(|error| store_error(py, name, error)))
}

/// Lets Ctrl-C end a wait for a lock on the caller's own thread. Does nothing on other threads,
/// which do not handle signals.
pub fn check_signals() -> Result<()> {
    let Some(checked) = SIGNALS_CHECKED.get() else { return Ok(()) };
    if checked.elapsed() < SIGNAL_POLL {
        return Ok(());
    }
    SIGNALS_CHECKED.set(Some(Instant::now()));
    let checked = with_interpreter(|py| {
        callback::check_signals(py).map_err(|error| store_error(py, "waiting for the lock", error))
    });
    checked.unwrap_or(Ok(()))
}

/// Makes the core's error for an exception that Python code raised.
fn store_error(py: Python<'_>, name: &str, error: PyErr) -> Error {
    let is_store_error = import(py, "boardlot.errors")
        .and_then(|errors| error.value(py).is_instance(&errors.getattr("StoreError")?));
    let (said, error) = match shown(error.value(py).as_any()) {
        Ok(said) => (said, error),
        // Raised by the exception's own `__str__`, or by a signal handler in the meantime.
        Err(raised) => (String::new(), raised),
    };
    let (text, advice) = if is_store_error.unwrap_or(false) {
        let hint = error.value(py).getattr("hint").and_then(|hint| hint.extract::<String>());
        (said, hint.ok())
    } else {
        let class = error.get_type(py).name().map(|name| name.to_string()).unwrap_or_default();
        (format!("{name} raised {class}: {said}"), None)
    };
    // The text may quote stored data, as JSON or as Python shows it.
    let text = redact_named_secrets(&text);
    let as_json = text.replace('\'', "\"");
    let redacted = redact_named_secrets(&as_json);
    let text = if redacted == as_json { text } else { redacted };
    // The hint of the class is about boardlot's own stores.
    let of_class = Error::from(ErrorKind::Store(String::new())).hint();
    let advice = advice.filter(|hint| !hint.is_empty() && *hint != of_class).unwrap_or_else(|| {
        format!("Correct the cause of the exception in {name}, then call again.")
    });
    // In any other call nobody would take the exception, which keeps alive the frames in which it
    // was raised.
    if SIGNALS_CHECKED.get().is_some() {
        RAISED.set(Some(error));
    }
    Error::from(ErrorKind::Store(text)).with_advice(advice)
}
