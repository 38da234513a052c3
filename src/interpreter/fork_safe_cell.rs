//! Cells for Python objects that are made once.
//!
//! Like PyO3's, but no thread waits for another one that is making the object, which can release the
//! interpreter: in a child that was forked at that moment the other thread does not exist, and the wait
//! would never end. Two threads may both make the object; the first one is kept.

use std::sync::OnceLock;

use pyo3::{prelude::*, types::PyString};

use super::callback::import;

pub struct ForkSafeOnce<T>(OnceLock<T>);

impl<T> ForkSafeOnce<T> {
    pub const fn new() -> Self {
        ForkSafeOnce(OnceLock::new())
    }

    pub fn get_or_try_init(&self, make: impl FnOnce() -> PyResult<T>) -> PyResult<&T> {
        if let Some(value) = self.0.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.0.get_or_init(|| value))
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
        let value = self.get_or_try_init(|| Ok(import(py, module)?.getattr(name)?.unbind()));
        value.map(|object| object.bind(py))
    }
}

impl ForkSafeOnce<Py<PyString>> {
    pub fn interned<'py>(&self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        if let Some(value) = self.0.get() {
            return value.bind(py).clone();
        }
        let value = PyString::intern(py, text).unbind();
        self.0.get_or_init(|| value).bind(py).clone()
    }
}

/// A string that is interned once.
macro_rules! intern {
    ($py:expr, $text:literal) => {{
        static NAME: $crate::interpreter::fork_safe_cell::ForkSafeOnce<
            pyo3::Py<pyo3::types::PyString>,
        > = $crate::interpreter::fork_safe_cell::ForkSafeOnce::new();
        NAME.interned($py, $text)
    }};
}
pub(crate) use intern;
