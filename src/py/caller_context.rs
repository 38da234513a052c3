//! The context (`contextvars`) of the code that made a call: hooks and log handlers run in it.

use std::slice;

use pyo3::{
    prelude::*,
    types::{PyDict, PyTuple},
};

use super::fork_safe_cell::{ForkSafeOnce, intern};
use crate::process::Caller;

/// A copy of a context, since a context cannot be entered twice at the same time.
pub struct CallerContext(Option<Py<PyAny>>);

static COPY_CONTEXT: ForkSafeOnce<Py<PyAny>> = ForkSafeOnce::new();

/// Imports what copying a context needs.
pub fn load_contextvars(py: Python<'_>) -> PyResult<()> {
    COPY_CONTEXT.import(py, "contextvars", "copy_context").map(drop)
}

impl CallerContext {
    /// A copy of the context of the running code.
    pub fn copy(py: Python<'_>) -> PyResult<Self> {
        let context = COPY_CONTEXT.import(py, "contextvars", "copy_context")?.call0()?;
        Ok(CallerContext(Some(context.unbind())))
    }

    /// A copy of the caller's context; without a caller, that of the running code is used.
    pub fn of(caller: Option<&Caller>, py: Python<'_>) -> Self {
        let context = caller.and_then(|caller| caller.downcast_ref::<CallerContext>());
        let copy = context
            .and_then(|context| context.0.as_ref()?.call_method0(py, intern!(py, "copy")).ok());
        CallerContext(copy)
    }

    /// Calls a function in this context.
    pub fn run<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        arguments: &[Bound<'py, PyAny>],
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        match &self.0 {
            Some(context) => {
                let whole = [slice::from_ref(function), arguments].concat();
                context.bind(py).call_method(intern!(py, "run"), PyTuple::new(py, whole)?, named)
            }
            None => function.call(PyTuple::new(py, arguments)?, named),
        }
    }
}
