//! The iterators of a pager's pages, and of its rows as instances of a class.

use std::sync::Arc;

use boardlot_gated::gated;
use pyo3::{PyTraverseError, PyVisit, prelude::*};

use super::pager_state::{ItemKind, PagerState};
use crate::{
    pages::Unit,
    py::{
        calls::call::CallMode,
        rows::row_spec::Target,
        values::dates::{Datetimes, datetimes},
    },
};

/// An iterator over the pages of a pager, from its current position.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct PageIterator(PagerItems);

/// An async iterator over the pages of a pager, from its current position.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct AsyncPageIterator(PagerItems);

/// An iterator over the rows of a pager as instances of a class, from the pager's current position.
/// It moves the position of the pager.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct RowIterator(PagerItems);

/// An async iterator over the rows of a pager as instances of a class, from the pager's current
/// position. It moves the position of the pager.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct AsyncRowIterator(PagerItems);

/// The items of a pager.
struct PagerItems {
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
    let unit = kind.unit();
    let items = PagerItems { state: state.clone(), kind, owner };
    Ok(match (mode, unit) {
        (CallMode::Sync, Unit::Page) => Bound::new(py, PageIterator(items))?.into_any(),
        (CallMode::Async, Unit::Page) => Bound::new(py, AsyncPageIterator(items))?.into_any(),
        (CallMode::Sync, Unit::Row) => Bound::new(py, RowIterator(items))?.into_any(),
        (CallMode::Async, Unit::Row) => Bound::new(py, AsyncRowIterator(items))?.into_any(),
    })
}

impl PagerItems {
    fn next(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.state.next(py, &self.kind)
    }

    fn next_async<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        self.state.next_async(py, &self.kind, self.owner.as_ref())
    }

    fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)?;
        // A reference must not be reported twice: only the last holder of the state, or of the view, reports
        // those that it has.
        if Arc::strong_count(&self.state) == 1 {
            self.state.traverse(visit)?;
        }
        match &self.kind {
            ItemKind::Row(view) if Arc::strong_count(view) == 1 => {
                match &view.builders.spec().target {
                    Target::Class(class) => class.traverse(visit),
                    Target::Dict | Target::TypedDict => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }

    fn total(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.state.delivery(py).map(|delivery| delivery.total())
    }

    fn range<'py>(&self, py: Python<'py>) -> PyResult<Option<Datetimes<'py>>> {
        datetimes(py, self.state.delivery(py)?.range())
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
    fn checkpoint(&self, py: Python<'_>) -> PyResult<String> {
        self.0.state.checkpoint(py)
    }

    /// The total number of items, or `None` if the service does not report it.
    #[getter]
    fn total(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.0.total(py)
    }

    /// The time range that is read; see `Pager.range`.
    #[getter]
    fn range<'py>(&self, py: Python<'py>) -> PyResult<Option<Datetimes<'py>>> {
        self.0.range(py)
    }

    /// How many pages were requested.
    #[getter]
    fn requests(&self) -> u64 {
        self.0.state.pages.requests()
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
    fn checkpoint(&self, py: Python<'_>) -> PyResult<String> {
        self.0.state.checkpoint(py)
    }

    /// The total number of items, or `None` if the service does not report it.
    #[getter]
    fn total(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.0.total(py)
    }

    /// The time range that is read; see `Pager.range`.
    #[getter]
    fn range<'py>(&self, py: Python<'py>) -> PyResult<Option<Datetimes<'py>>> {
        self.0.range(py)
    }

    /// How many pages were requested.
    #[getter]
    fn requests(&self) -> u64 {
        self.0.state.pages.requests()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.0.traverse(&visit)
    }
}
