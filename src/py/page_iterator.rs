//! The iterators of a pager's pages, and of its rows as instances of a class.

use std::sync::{Arc, atomic::Ordering};

use boardlot_gated::gated;
use pyo3::{PyTraverseError, PyVisit, prelude::*};

use super::{
    call::CallMode,
    pager_state::{ItemKind, PagerState},
    row_spec::Target,
    time_range::{Datetimes, datetimes},
};

/// An iterator over the pages of a pager, from its current position.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct PageIterator(Items);

/// An async iterator over the pages of a pager, from its current position.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct AsyncPageIterator(Items);

/// An iterator over the rows of a pager as instances of a class, from the pager's current position.
/// It moves the position of the pager.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct RowIterator(Items);

/// An async iterator over the rows of a pager as instances of a class, from the pager's current
/// position. It moves the position of the pager.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct AsyncRowIterator(Items);

/// The items of a pager.
struct Items {
    state: Arc<PagerState>,
    kind: ItemKind,
    /// The client, which keeps alive what the core has weak references to.
    owner: Option<Py<PyAny>>,
}

/// The iterator of a pager's items.
pub fn iterate<'py>(
    py: Python<'py>,
    mode: CallMode,
    state: &Arc<PagerState>,
    kind: ItemKind,
    owner: Option<&Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let owner = owner.map(|owner| owner.clone_ref(py));
    let is_row = kind.is_row();
    let items = Items { state: state.clone(), kind, owner };
    Ok(match (mode, is_row) {
        (CallMode::Sync, false) => Bound::new(py, PageIterator(items))?.into_any(),
        (CallMode::Async, false) => Bound::new(py, AsyncPageIterator(items))?.into_any(),
        (CallMode::Sync, true) => Bound::new(py, RowIterator(items))?.into_any(),
        (CallMode::Async, true) => Bound::new(py, AsyncRowIterator(items))?.into_any(),
    })
}

impl Items {
    fn next(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.state.next(py, &self.kind)
    }

    fn next_async<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.state.next_async(py, &self.kind, self.owner.as_ref())
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)?;
        match &self.kind {
            // A reference must not be reported twice: only the last holder of the view reports its.
            ItemKind::Row(view) if Arc::strong_count(view) == 1 => match &view.shapes.spec().target
            {
                Target::Class(class) => class.traverse(visit),
                Target::Dict | Target::TypedDict => Ok(()),
            },
            _ => Ok(()),
        }
    }

    fn requests(&self) -> u64 {
        self.state.requests.load(Ordering::Relaxed)
    }
}

#[gated]
#[pymethods]
impl PageIterator {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.next(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }
}

#[gated]
#[pymethods]
impl AsyncPageIterator {
    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.next_async(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }
}

#[gated]
#[pymethods]
impl RowIterator {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.0.next(py)
    }

    /// The exact position of the pager; see `Pager.checkpoint`.
    fn checkpoint(&self) -> String {
        self.0.state.checkpoint()
    }

    /// The total number of items, or `None` if the service does not report it.
    #[getter]
    fn total(&self) -> Option<i64> {
        self.0.state.position.total()
    }

    /// The time range that is read; see `Pager.range`.
    #[getter]
    fn range<'py>(&self, py: Python<'py>) -> PyResult<Option<Datetimes<'py>>> {
        datetimes(py, self.0.state.position.range())
    }

    /// How many pages were requested.
    #[getter]
    fn requests(&self) -> u64 {
        self.0.requests()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }
}

#[gated]
#[pymethods]
impl AsyncRowIterator {
    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.0.next_async(py)
    }

    /// The exact position of the pager; see `Pager.checkpoint`.
    fn checkpoint(&self) -> String {
        self.0.state.checkpoint()
    }

    /// The total number of items, or `None` if the service does not report it.
    #[getter]
    fn total(&self) -> Option<i64> {
        self.0.state.position.total()
    }

    /// The time range that is read; see `Pager.range`.
    #[getter]
    fn range<'py>(&self, py: Python<'py>) -> PyResult<Option<Datetimes<'py>>> {
        datetimes(py, self.0.state.position.range())
    }

    /// How many pages were requested.
    #[getter]
    fn requests(&self) -> u64 {
        self.0.requests()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }
}
