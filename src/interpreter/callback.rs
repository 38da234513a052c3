//! Calls into Python code: the caller's code, such as hooks, stores and constructors, and other
//! modules. All calls of Python code go through these functions (`tools/clippy.toml`), so one rule
//! holds for all of them: `StopIteration` is an error of the code that raised it, never the end of
//! an iteration (PEP 479).
#![expect(clippy::disallowed_methods, reason = "here are the calls that replace them")]

use pyo3::{
    BoundObject,
    conversion::FromPyObjectOwned,
    exceptions::{PyRuntimeError, PyStopAsyncIteration, PyStopIteration},
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

use super::thread_end;

/// Calls of Python objects, used instead of PyO3's.
pub trait Invoke<'py> {
    /// `self(*arguments)`.
    fn invoke<A>(&self, arguments: A) -> PyResult<Bound<'py, PyAny>>
    where
        A: IntoPyObject<'py, Target = PyTuple>;

    /// `self(*arguments, **named)`.
    fn invoke_named<A>(
        &self,
        arguments: A,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        A: IntoPyObject<'py, Target = PyTuple>;

    /// `self.name(*arguments)`.
    fn invoke_method<N, A>(&self, name: N, arguments: A) -> PyResult<Bound<'py, PyAny>>
    where
        N: IntoPyObject<'py, Target = PyString>,
        A: IntoPyObject<'py, Target = PyTuple>;
}

impl<'py> Invoke<'py> for Bound<'py, PyAny> {
    fn invoke<A>(&self, arguments: A) -> PyResult<Bound<'py, PyAny>>
    where
        A: IntoPyObject<'py, Target = PyTuple>,
    {
        self.invoke_named(arguments, None)
    }

    fn invoke_named<A>(
        &self,
        arguments: A,
        named: Option<&Bound<'py, PyDict>>,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        A: IntoPyObject<'py, Target = PyTuple>,
    {
        let arguments = arguments.into_pyobject(self.py()).map_err(Into::into)?;
        call(self, arguments.as_borrowed(), named)
    }

    fn invoke_method<N, A>(&self, name: N, arguments: A) -> PyResult<Bound<'py, PyAny>>
    where
        N: IntoPyObject<'py, Target = PyString>,
        A: IntoPyObject<'py, Target = PyTuple>,
    {
        let method = self.getattr(name).map_err(|error| no_stop_iteration(self.py(), error))?;
        method.invoke(arguments)
    }
}

/// `function(*arguments, **named)`.
#[inline(always)]
pub fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: Borrowed<'_, 'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    // CPython may end a thread that runs Python code.
    thread_end::register();
    function.call(arguments, named).map_err(|error| no_stop_iteration(function.py(), error))
}

/// Imports a module.
pub fn import<'py>(py: Python<'py>, module: &str) -> PyResult<Bound<'py, PyAny>> {
    // The first import of a module runs Python code, too.
    thread_end::register();
    let imported = py.import(module).map(Bound::into_any);
    imported.map_err(|error| no_stop_iteration(py, error))
}

/// Warns the caller of boardlot, at the line of the call.
pub fn warn(py: Python<'_>, text: String) -> PyResult<()> {
    import(py, "boardlot._support.clients")?.invoke_method("warn", (text,)).map(drop)
}

/// Runs the handlers of signals that have arrived.
pub fn check_signals(py: Python<'_>) -> PyResult<()> {
    py.check_signals().map_err(|error| no_stop_iteration(py, error))
}

/// Reads an argument, which may run methods of the caller's object, such as `__index__`, `__str__`
/// or `items`.
pub fn reading<T>(py: Python<'_>, read: impl FnOnce() -> PyResult<T>) -> PyResult<T> {
    read().map_err(|error| no_stop_iteration(py, error))
}

/// Converts an argument.
pub fn argument<'py, T: FromPyObjectOwned<'py>>(value: &Bound<'py, PyAny>) -> PyResult<T> {
    reading(value.py(), || value.extract().map_err(Into::into))
}

/// Makes `StopIteration` an error like others, as Python does for generators.
#[cold]
pub fn no_stop_iteration(py: Python<'_>, error: PyErr) -> PyErr {
    let class = match () {
        () if error.is_instance_of::<PyStopIteration>(py) => "StopIteration",
        () if error.is_instance_of::<PyStopAsyncIteration>(py) => "StopAsyncIteration",
        () => return error,
    };
    let wrapped = PyRuntimeError::new_err(format!("a callback raised {class}"));
    // The new error gets the traceback of the original one.
    wrapped.set_traceback(py, error.traceback(py));
    wrapped.set_cause(py, Some(error));
    wrapped
}
