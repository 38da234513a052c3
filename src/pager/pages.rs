//! Pages for `Pager` and `AsyncPager`, which keep their position in Python.

use std::sync::Arc;

use super::{collecting::Collecting, page::Page, row_view::RowView};
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{limit, number_of},
    calls::call::{Call, CallMode},
    interpreter::attachment::attach,
    rows::{
        arrow::ArrowStream,
        frame::{FrameTarget, library},
        page_rows::Rows,
        row_builder_pool::RowBuilderPool,
    },
    values::dates::{Datetimes, datetimes},
};
use boardlot_client::extension::{
    api::time_text,
    decode::{BatchBuilder, PageSlice},
    os::callback_pool,
    pages::{Limits, ListedPage, PagePosition, Pages as CorePages},
};

/// The pages of a list, each requested with the page before it. This object has no position.
#[pyclass(frozen, name = "_Pages", module = "boardlot._core")]
pub struct Pages {
    core: Arc<CorePages>,
    mode: CallMode,
    /// The client, which keeps alive the objects to which the core has weak references.
    owner: Option<Py<PyAny>>,
}

impl Pages {
    pub fn new(mode: CallMode, core: CorePages, owner: Option<&Bound<'_, PyAny>>) -> Self {
        let owner = owner.map(|owner| owner.clone().unbind());
        Pages { core: Arc::new(core), mode, owner }
    }

    fn owner(&self, py: Python<'_>) -> Option<Py<PyAny>> {
        self.owner.as_ref().map(|owner| owner.clone_ref(py))
    }

    fn collecting(
        &self,
        py: Python<'_>,
        from: PagePosition,
        limits: Limits,
        progress: bool,
    ) -> Collecting {
        let (core, mode, owner) = (self.core.clone(), self.mode, self.owner(py));
        Collecting { core, mode, owner, from, limits, progress }
    }
}

/// Returns the position after `row` rows of a page; without a page, the position before the first
/// one.
fn place(page: Option<&Bound<'_, Page>>, row: usize) -> PagePosition {
    PagePosition { page: page.map(|page| page.get().0.clone()), row }
}

#[pymethods]
impl Pages {
    /// Fetches the page after this one, or the first one; `None` at the end of the list. Awaited in
    /// `AsyncPager`.
    #[pyo3(signature = (page, /))]
    fn after<'py>(
        &self,
        py: Python<'py>,
        page: Option<&Bound<'py, Page>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (core, page) = (self.core.clone(), page.map(|page| page.get().0.clone()));
        let next = async move { core.after(page.as_deref()).await };
        let finish = |py: Python<'_>, page: Option<Arc<ListedPage>>| {
            Ok(page.map(Page).into_pyobject(py)?.unbind().into_any())
        };
        let call = Call::new(next, Box::new(finish)).owned_by(self.owner(py));
        self.mode.run_shared(py, call)
    }

    /// Refuses to be used in a child of the process that made this object.
    fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        self.core.check_process().or_raise(py)
    }

    /// Returns the position after `row` rows of a page, as text.
    #[pyo3(signature = (page, row, /))]
    fn checkpoint(
        &self,
        py: Python<'_>,
        page: Option<&Bound<'_, Page>>,
        row: usize,
    ) -> PyResult<String> {
        self.core.checkpoint(&place(page, row)).or_raise(py)
    }

    /// The total number of rows, or `None` if the service does not report it.
    #[getter]
    fn total(&self) -> Option<i64> {
        self.core.total()
    }

    /// The time range that is read, as aware UTC datetimes of its start and its end.
    #[getter]
    fn range<'py>(&self, py: Python<'py>) -> PyResult<Option<Datetimes<'py>>> {
        datetimes(py, self.core.range())
    }

    /// The number of pages that were requested.
    #[getter]
    fn requests(&self) -> u64 {
        self.core.requests()
    }

    /// The name of the method.
    #[getter]
    fn endpoint(&self) -> &str {
        self.core.listing().label()
    }

    /// The method and its range, for `repr`.
    #[getter]
    fn description(&self) -> String {
        let range = self.core.range().map_or_else(String::new, |(start, end)| {
            format!(" from {} to {}", time_text(start), time_text(end))
        });
        format!("{}{range}", self.core.listing().label())
    }

    /// All fields of the rows, as dicts of the service's own values.
    fn view(&self) -> RowView {
        RowView::new(self.core.listing(), RowBuilderPool::default())
    }

    /// Collects the rows of this view after a position, within the limits. Also returns the
    /// position where they end. Awaited in `AsyncPager`.
    #[pyo3(signature = (view, page, row, max_items, max_pages, progress, /))]
    fn all<'py>(
        &self,
        py: Python<'py>,
        view: &Bound<'py, RowView>,
        page: Option<&Bound<'py, Page>>,
        row: usize,
        #[pyo3(from_py_with = number_of::max_items)] max_items: Option<i64>,
        #[pyo3(from_py_with = number_of::max_pages)] max_pages: Option<i64>,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let items = limit(py, "max_items", max_items)?;
        let limits = Limits { items, pages: limit(py, "max_pages", max_pages)? };
        let of_view = view.clone().unbind();
        let rows = Rows::from_core(view.get().builders());
        let finish = move |py: Python<'_>, slices: Vec<Vec<PageSlice>>| {
            rows(py, of_view.get().rows_of(slices.concat()))
        };
        let convert = |slices| async { Ok(slices) };
        let collecting = self.collecting(py, place(page, row), limits, progress);
        collecting.collect(py, view, Vec::new, convert, Box::new(finish))
    }

    /// Collects the rows after a position as the frame of a method. Also returns the position where
    /// they end. Awaited in `AsyncPager`.
    #[pyo3(signature = (view, page, row, method, decimals, invalid, progress, /))]
    fn frame<'py>(
        &self,
        py: Python<'py>,
        view: &Bound<'py, RowView>,
        page: Option<&Bound<'py, Page>>,
        row: usize,
        #[pyo3(from_py_with = text_of::method)] method: &str,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let frame = FrameTarget::prepare(py, library(py, method)?, decimals, invalid)?;
        let of_view = Arc::new(view.clone().unbind());
        let sink = move || {
            let view = of_view.clone();
            BatchBuilder::new(move || view.get().columns(frame.options))
        };
        let mode = self.mode;
        let convert = move |windows: Vec<BatchBuilder<_>>| async move {
            let parts = windows.into_iter().flat_map(BatchBuilder::finish).collect();
            let columns = ArrowStream::of(parts)?;
            if mode == CallMode::Sync {
                return Ok(FrameResult::Columns(columns));
            }
            // Making a large frame takes long, so it is not done on the event loop's thread.
            let frame = move || attach(|py| Ok(FrameResult::Made(frame.convert(py, columns))));
            callback_pool::run(frame).await?
        };
        let finish = move |py: Python<'_>, framed: FrameResult| match framed {
            FrameResult::Columns(columns) => frame.convert(py, columns),
            FrameResult::Made(outcome) => outcome,
        };
        let collecting = self.collecting(py, place(page, row), Limits::default(), progress);
        collecting.collect(py, view, sink, convert, Box::new(finish))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }
}

/// A frame, or its columns.
enum FrameResult {
    Columns(ArrowStream),
    Made(PyResult<Py<PyAny>>),
}
