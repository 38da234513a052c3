//! The iterators of a pager's pages.

use std::sync::Arc;

use pyo3::{PyTraverseError, PyVisit, prelude::*};

use super::{
    call::CallMode,
    pager_state::{ItemKind, PagerState},
};

/// An iterator over the pages of a pager, from its current position.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct PageIterator(Pages);

/// An async iterator over the pages of a pager, from its current position.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct AsyncPageIterator(Pages);

struct Pages {
    state: Arc<PagerState>,
    kind: ItemKind,
    /// The client, which keeps alive what the core has weak references to.
    owner: Option<Py<PyAny>>,
}

/// The iterator of a pager's pages.
pub fn iterate_pages<'py>(
    py: Python<'py>,
    mode: CallMode,
    state: &Arc<PagerState>,
    kind: ItemKind,
    owner: Option<&Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let owner = owner.map(|owner| owner.clone_ref(py));
    let pages = Pages { state: state.clone(), kind, owner };
    match mode {
        CallMode::Sync => Ok(Bound::new(py, PageIterator(pages))?.into_any()),
        CallMode::Async => Ok(Bound::new(py, AsyncPageIterator(pages))?.into_any()),
    }
}

#[pymethods]
impl PageIterator {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.state.next(py, self.0.kind)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0.owner)
    }
}

#[pymethods]
impl AsyncPageIterator {
    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.state.next_async(py, self.0.kind, self.0.owner.as_ref())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0.owner)
    }
}
