//! Cells for Python objects that are made once.
//!
//! Like PyO3's cells, but no thread waits for another one to make the object: a signal handler that
//! interrupts the making may need the object, too, on the same thread. Both then make an object,
//! and the first one is kept.

use std::sync::OnceLock;

use pyo3::prelude::*;

use super::callback::import;

pub struct ReentrantOnce<T>(OnceLock<T>);

impl<T> ReentrantOnce<T> {
    pub const fn new() -> Self {
        ReentrantOnce(OnceLock::new())
    }

    pub fn get_or_try_init(&self, make: impl FnOnce() -> PyResult<T>) -> PyResult<&T> {
        if let Some(value) = self.0.get() {
            return Ok(value);
        }
        let value = make()?;
        Ok(self.0.get_or_init(|| value))
    }
}

impl ReentrantOnce<Py<PyAny>> {
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
