//! Calls into Python code: that of the caller, such as hooks, stores and constructors, and that of other
//! modules. There is no other way to it (`clippy.toml`), so that what holds for one call holds for all:
//!
//! - `StopIteration` is an error of the code that raised it, never the end of an iteration (PEP 479).
//! - A thread that is still in such code when the program exits remains there, however long the code takes.

use std::thread;

use pyo3::{
    BoundObject,
    exceptions::{PyRuntimeError, PyStopAsyncIteration, PyStopIteration},
    prelude::*,
    types::{PyDict, PyString, PyTuple},
};

/// Calls of Python objects, in the place of PyO3's.
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
#[expect(unsafe_code, reason = "PyO3's calls do not expect that the thread ends")]
pub fn call<'py>(
    function: &Bound<'py, PyAny>,
    arguments: Borrowed<'_, 'py, PyTuple>,
    named: Option<&Bound<'py, PyDict>>,
) -> PyResult<Bound<'py, PyAny>> {
    let py = function.py();
    let named = named.map_or(std::ptr::null_mut(), Bound::as_ptr);
    // SAFETY: all are live objects of this interpreter, to which this thread is attached; `arguments` is a
    // tuple and `named` a dict or null. The function returns a new reference, or null with an exception.
    let returned = unsafe {
        let stays = StaysForever;
        let returned = raw::PyObject_Call(function.as_ptr(), arguments.as_ptr(), named);
        std::mem::forget(stays);
        Bound::from_owned_ptr_or_err(py, returned)
    };
    returned.map_err(|error| no_stop_iteration(py, error))
}

/// Imports a module, which can run code for seconds.
#[expect(unsafe_code, reason = "PyO3's import does not expect that the thread ends")]
pub fn import<'py>(py: Python<'py>, module: &str) -> PyResult<Bound<'py, PyAny>> {
    let name = PyString::new(py, module);
    // SAFETY: a live object of this interpreter, to which this thread is attached. The function returns a
    // new reference, or null with an exception.
    unsafe {
        let stays = StaysForever;
        let imported = raw::PyImport_Import(name.as_ptr());
        std::mem::forget(stays);
        Bound::from_owned_ptr_or_err(py, imported)
    }
}

/// Makes `StopIteration` an error like others, as Python does for generators.
#[cold]
pub fn no_stop_iteration(py: Python<'_>, error: PyErr) -> PyErr {
    let class = match () {
        () if error.is_instance_of::<PyStopIteration>(py) => "StopIteration",
        () if error.is_instance_of::<PyStopAsyncIteration>(py) => "StopAsyncIteration",
        () => return error,
    };
    let wrapped = PyRuntimeError::new_err(format!("code that boardlot called raised {class}"));
    wrapped.set_cause(py, Some(error));
    wrapped
}

/// Keeps a thread that CPython ends within a call where it is. Up to version 3.13 it ends a thread by
/// `pthread_exit`, which in glibc unwinds the stack: through Rust functions that do not expect it, which
/// aborts the process. Version 3.14 does the same as this. Elsewhere, the stack is not unwound.
struct StaysForever;

impl Drop for StaysForever {
    fn drop(&mut self) {
        loop {
            thread::park();
        }
    }
}

/// The functions of CPython that can run code for long, declared so that they may unwind.
#[cfg(unix)]
#[expect(unsafe_code, reason = "PyO3 declares that they do not unwind")]
mod raw {
    use pyo3::ffi::PyObject;

    unsafe extern "C-unwind" {
        pub fn PyObject_Call(
            function: *mut PyObject,
            arguments: *mut PyObject,
            named: *mut PyObject,
        ) -> *mut PyObject;
        pub fn PyImport_Import(name: *mut PyObject) -> *mut PyObject;
    }
}
#[cfg(not(unix))]
use ffi as raw;
