//! Places for objects of Python's that are made once.
//!
//! As PyO3's own, but nobody waits for another thread that is making the object, as making it may let
//! the interpreter go: in a child forked at that moment the other thread is not there, and the wait
//! would have no end. Two threads may both make it; the first one's is kept.

use std::sync::OnceLock;

use pyo3::{prelude::*, types::PyString};

use super::errors::raise;
use crate::error::Error;

pub struct ForkSafeOnce<T>(OnceLock<T>);

impl<T> ForkSafeOnce<T> {
    pub const fn new() -> Self {
        ForkSafeOnce(OnceLock::new())
    }

    pub fn get_or_try_init<'a>(
        &'a self,
        py: Python<'_>,
        make: impl FnOnce() -> PyResult<T>,
    ) -> PyResult<&'a T> {
        if let Some(made) = self.0.get() {
            return Ok(made);
        }
        let _ = self.0.set(make()?);
        self.0.get().ok_or_else(|| raise(py, Error::config("an object of Python's was not kept")))
    }
}

impl ForkSafeOnce<Py<PyAny>> {
    /// An attribute of a module.
    pub fn import<'py>(
        &self,
        py: Python<'py>,
        module: &str,
        name: &str,
    ) -> PyResult<&Bound<'py, PyAny>> {
        let made = self.get_or_try_init(py, || Ok(py.import(module)?.getattr(name)?.unbind()));
        made.map(|object| object.bind(py))
    }
}

impl ForkSafeOnce<Py<PyString>> {
    pub fn text<'py>(&self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        match self.0.get() {
            Some(made) => made.bind(py).clone(),
            None => {
                let made = PyString::intern(py, text);
                let _ = self.0.set(made.clone().unbind());
                made
            }
        }
    }
}

/// A name that is made once.
macro_rules! intern {
    ($py:expr, $text:literal) => {{
        static NAME: $crate::py::fork_safe_cell::ForkSafeOnce<pyo3::Py<pyo3::types::PyString>> =
            $crate::py::fork_safe_cell::ForkSafeOnce::new();
        NAME.text($py, $text)
    }};
}
pub(crate) use intern;
