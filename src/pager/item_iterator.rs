//! The iterators of a pager's pages, of its record batches, and of its rows as instances of a class.

use std::sync::Arc;

use super::pager_state::{ItemKind, PagerState};
use crate::prelude::*;
use crate::{
    calls::call::CallMode,
    rows::row_spec::Target,
    values::dates::{Datetimes, datetimes},
};

/// The base class of `ItemIterator` and `AsyncItemIterator`.
#[pyclass(frozen, subclass, generic, module = "boardlot._core")]
pub struct ItemIteratorBase {
    state: Arc<PagerState>,
    kind: ItemKind,
    /// The client, which keeps alive what the core has weak references to.
    owner: Option<Py<PyAny>>,
}

/// An iterator over the pages of a pager, or over its rows as instances of a class, from the pager's
/// current position. It moves the position of the pager.
#[pyclass(frozen, extends = ItemIteratorBase, generic, module = "boardlot._core")]
pub struct ItemIterator;

/// An async iterator over the pages of a pager, or over its rows as instances of a class, from the
/// pager's current position. It moves the position of the pager.
#[pyclass(frozen, extends = ItemIteratorBase, generic, module = "boardlot._core")]
pub struct AsyncItemIterator;

/// The iterator of a pager's items.
pub fn iterate<'py>(
    py: Python<'py>,
    mode: CallMode,
    state: &Arc<PagerState>,
    kind: ItemKind,
    owner: Option<&Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let owner = owner.map(|owner| owner.clone_ref(py));
    let items = PyClassInitializer::from(ItemIteratorBase { state: state.clone(), kind, owner });
    Ok(match mode {
        CallMode::Sync => Bound::new(py, items.add_subclass(ItemIterator))?.into_any(),
        CallMode::Async => Bound::new(py, items.add_subclass(AsyncItemIterator))?.into_any(),
    })
}

#[gated]
impl ItemIteratorBase {
    /// The exact position of the pager; see `Pager.checkpoint`.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<String> {
        self.state.checkpoint(py)
    }

    /// The total number of items, or `None` if the service does not report it.
    #[getter]
    fn total(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.state.delivery(py).map(|delivery| delivery.total())
    }

    /// The time range that is read; see `Pager.range`.
    #[getter]
    fn range<'py>(&self, py: Python<'py>) -> PyResult<Option<Datetimes<'py>>> {
        datetimes(py, self.state.delivery(py)?.range())
    }

    /// How many pages were requested.
    getter!(requests: u64 = self.state.pages.requests());

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)?;
        // A reference must not be reported twice: only the last holder of the state, or of the view, reports
        // those that it has.
        if Arc::strong_count(&self.state) == 1 {
            self.state.traverse(&visit)?;
        }
        match &self.kind {
            ItemKind::Row(view) if Arc::strong_count(view) == 1 => {
                match &view.builders.spec().target {
                    Target::Class(class) => class.traverse(&visit),
                    Target::Dict | Target::TypedDict => Ok(()),
                }
            }
            _ => Ok(()),
        }
    }
}

#[gated]
impl ItemIterator {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(this: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let base = this.as_super().get();
        base.state.next(this.py(), &base.kind)
    }
}

#[gated]
impl AsyncItemIterator {
    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let base = this.as_super().get();
        base.state.next_async(this.py(), &base.kind, base.owner.as_ref())
    }
}
