//! Python objects that the core calls: hooks, stores and callables that return a passphrase.
//!
//! The core is shared by clients, pagers and tasks. A strong reference in it would keep its object
//! alive forever, since no class could report the reference to the garbage collector. So the core
//! has a weak reference to a `StrongRef`, which the Python classes keep alive and report to the
//! collector.

use crate::prelude::*;
use pyo3::types::{PyWeakrefMethods, PyWeakrefReference};

/// A strong reference to an object, to be kept by a Python class. Unlike the object, it always
/// supports weak references.
#[pyclass(frozen, weakref, module = "boardlot._core")]
pub struct StrongRef(Py<PyAny>);

/// A weak reference to an object, valid as long as its `StrongRef`.
pub struct WeakRef(Py<PyWeakrefReference>);

impl StrongRef {
    pub fn object(&self, py: Python<'_>) -> Py<PyAny> {
        self.0.clone_ref(py)
    }
}

#[pymethods]
impl StrongRef {
    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0)
    }
}

impl WeakRef {
    pub fn new(object: &Bound<'_, PyAny>) -> PyResult<(Py<StrongRef>, WeakRef)> {
        let py = object.py();
        let strong = Bound::new(py, StrongRef(object.clone().unbind()))?;
        let weak = PyWeakrefReference::new(strong.as_any())?;
        Ok((strong.unbind(), WeakRef(weak.unbind())))
    }

    /// Returns the `StrongRef`, if it is alive and refers to this object.
    pub fn strong(&self, object: &Bound<'_, PyAny>) -> Option<Py<StrongRef>> {
        let strong = self.0.bind(object.py()).upgrade()?.cast_into::<StrongRef>().ok()?;
        strong.get().0.is(object).then(|| strong.unbind())
    }

    /// Returns the object, if its `StrongRef` is alive.
    pub fn upgrade<'py>(&self, py: Python<'py>) -> Option<Bound<'py, PyAny>> {
        let strong = self.0.bind(py).upgrade()?;
        let strong = strong.cast::<StrongRef>().ok()?;
        Some(strong.get().0.bind(py).clone())
    }
}
