//! Python objects that the core calls: hooks, stores, functions that ask.
//!
//! The core is shared by clients, pagers and tasks, so an object in it could never be collected: no
//! class could tell the garbage collector that it alone refers to it. So a `Holder` has the object,
//! the Python classes have the `Holder`, each telling the collector of it, and the core has a weak
//! reference.

use pyo3::{
    PyTraverseError, PyVisit,
    prelude::*,
    types::{PyWeakrefMethods, PyWeakrefReference},
};

/// Has an object for those who refer to it weakly.
#[pyclass(frozen, weakref, module = "boardlot._core")]
pub struct Holder(Py<PyAny>);

impl Holder {
    pub fn object(&self, py: Python<'_>) -> Py<PyAny> {
        self.0.clone_ref(py)
    }
}

#[pymethods]
impl Holder {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0)
    }
}

/// A weak reference to a held object.
pub struct Weak(Py<PyWeakrefReference>);

impl Weak {
    /// The holder, to be kept by a Python object, and a reference to what it holds.
    pub fn of(object: &Bound<'_, PyAny>) -> PyResult<(Py<Holder>, Weak)> {
        let py = object.py();
        let holder = Bound::new(py, Holder(object.clone().unbind()))?;
        let weak = PyWeakrefReference::new(holder.as_any())?;
        Ok((holder.unbind(), Weak(weak.unbind())))
    }

    /// The object, if it is still held.
    pub fn get<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let holder = self.0.bind(py).upgrade()?;
        let holder = holder.cast::<Holder>().ok()?;
        Some(holder.get().0.bind(py).clone())
    }
}
