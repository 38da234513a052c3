//! The context (`contextvars`) of the code that made a call: hooks and log handlers run in it.

use std::slice;

use super::reentrant_once::ReentrantOnce;
use crate::prelude::*;
use boardlot_client::extension::os::origin::Caller;

/// A copy of a context, since a context cannot be entered twice at the same time.
pub struct CallerContext {
    context: Option<Py<PyAny>>,
    /// True if the code is a handler of a log record of boardlot's. A record of the handler's own
    /// calls would be passed to the handler again, and would wait for it if the handler has a lock.
    pub is_logging: bool,
}

static COPY_CONTEXT: ReentrantOnce<Py<PyAny>> = ReentrantOnce::new();

/// Imports the module that copying a context needs.
pub fn load_contextvars(py: Python<'_>) -> PyResult<()> {
    COPY_CONTEXT.import(py, "contextvars", "copy_context").map(drop)
}

impl CallerContext {
    /// A copy of the context of the running code.
    pub fn copy(py: Python<'_>, is_logging: bool) -> PyResult<Self> {
        let context = COPY_CONTEXT.import(py, "contextvars", "copy_context")?.invoke(())?;
        Ok(CallerContext { context: Some(context.unbind()), is_logging })
    }

    /// A copy of the caller's context; without a caller, that of the running code is used.
    pub fn of(caller: Option<&Caller>, py: Python<'_>) -> Self {
        let context = caller.and_then(|caller| caller.downcast_ref::<CallerContext>());
        let copy = context.and_then(|context| {
            context.context.as_ref()?.bind(py).invoke_method(intern!(py, "copy"), ()).ok()
        });
        CallerContext {
            context: copy.map(Bound::unbind),
            is_logging: context.is_some_and(|context| context.is_logging),
        }
    }

    /// Calls a function in this context.
    pub fn run<'py>(
        &self,
        function: &Bound<'py, PyAny>,
        arguments: &[Bound<'py, PyAny>],
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = function.py();
        match &self.context {
            Some(context) => {
                let whole = [slice::from_ref(function), arguments].concat();
                let run = context.bind(py).getattr(intern!(py, "run"))?;
                run.invoke_named(PyTuple::new(py, whole)?, named)
            }
            None => function.invoke_named(PyTuple::new(py, arguments)?, named),
        }
    }
}
