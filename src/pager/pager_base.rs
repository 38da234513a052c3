//! `Pager` and `AsyncPager`: an iteration over pages, row by row, page by page, or as a whole.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use futures_util::FutureExt;
use pyo3::types::PyCapsule;
use tokio::sync::OwnedMutexGuard;

use super::{
    item_iterator::iterate,
    missing_attribute::{no_index, warn_if_exhausted},
    page_reader::stream_capsule,
    pager_state::{ItemKind, PagerState},
    row_view::RowView,
};
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{self, number},
    calls::{
        call::{Call, CallMode, Finish, Start},
        progress::Progress,
    },
    interpreter::attachment::attach,
    rows::{
        arrow::ArrowStream,
        frame::{ARROW, FrameLibrary, FrameTarget, PANDAS, POLARS},
        missing_attribute::no_attribute,
        records::Records,
        row_builder_pool::RowBuilderPool,
    },
    values::dates::{Datetimes, datetimes},
};
use boardlot_client::{
    api::time_text,
    decode::{BatchBuilder, Columns, PageSlice, Rows},
    os::{callback_pool, task::AbortOnDrop},
    pages::{CheckedSink, Fetcher, Gathering, Limits, Pages, Sink, exhausted},
};

/// The base class of `Pager` and `AsyncPager`.
#[pyclass(frozen, subclass, generic, module = "boardlot._core")]
pub struct PagerBase {
    state: Arc<PagerState>,
    mode: CallMode,
    /// The view of the rows.
    view: Arc<RowView>,
    /// The same as what this iterates over.
    rows: ItemKind,
    /// The client, which keeps alive what the core has weak references to.
    owner: Option<Py<PyAny>>,
}

/// An iterator over the rows of a paged list. It has one page in memory, and fetches at most one page
/// ahead.
///
/// If a page cannot be read, it raises the error of that request, whose `.checkpoint` is the position of
/// the last row that you received. Once everything has been read, `all` and the frames raise
/// `ConfigError`. `progress=True` shows a bar (tqdm, if it is installed).
///
/// >>> Trade = NamedTuple("Trade", [("code", str), ("qty", float)])
/// >>> pager = client.fills_history(account, "HK")
/// >>> len(next(pager.select("code", "qty"))), next(pager.as_type(Trade)).qty > 0
/// (2, True)
/// >>> len(next(pager.pages())), len(pager.all(max_items=10)), pager.total
/// (48, 10, None)
/// >>> rest = client.fills_history(account, "HK", resume=pager.checkpoint())
/// >>> len(pager.to_pandas()), len(rest.to_polars())
/// (1940, 1940)
/// >>> client.fills_history(account, "HK").to_arrow().num_rows
/// 2000
#[pyclass(frozen, extends = PagerBase, generic, module = "boardlot._core")]
pub struct Pager;

/// An async iterator over the rows of a paged list. It has one page in memory, and fetches at most one
/// page ahead. It raises the errors of `Pager`; `progress=True` is as there.
///
/// >>> Trade = NamedTuple("Trade", [("code", str), ("qty", float)])
/// >>> pager = client.fills_history(account, "HK")
/// >>> len(await anext(pager.select("code", "qty"))), (await anext(pager.as_type(Trade))).qty > 0
/// (2, True)
/// >>> len(await anext(pager.pages())), len(await pager.all(max_items=10)), pager.total
/// (48, 10, None)
/// >>> rest = client.fills_history(account, "HK", resume=pager.checkpoint())
/// >>> len(await pager.to_pandas()), len(await rest.to_polars())
/// (1940, 1940)
/// >>> (await client.fills_history(account, "HK").to_arrow()).num_rows
/// 2000
#[pyclass(frozen, extends = PagerBase, generic, module = "boardlot._core")]
pub struct AsyncPager;

impl PagerBase {
    /// A `Pager` or an `AsyncPager`.
    pub fn new_pager<'py>(
        py: Python<'py>,
        mode: CallMode,
        pages: Pages<Py<PyAny>>,
        owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let owner = owner.map(|owner| owner.clone().unbind());
        let view = RowView::new(RowBuilderPool::default());
        Self::of_view(PagerState::new(pages), mode, view, owner).into_pager(py)
    }

    fn of_view(
        state: Arc<PagerState>,
        mode: CallMode,
        view: Arc<RowView>,
        owner: Option<Py<PyAny>>,
    ) -> Self {
        PagerBase { state, mode, rows: ItemKind::Row(view.clone()), view, owner }
    }

    fn into_pager(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let mode = self.mode;
        let initializer = PyClassInitializer::from(self);
        match mode {
            CallMode::Sync => Ok(Bound::new(py, initializer.add_subclass(Pager))?.into_any()),
            CallMode::Async => Ok(Bound::new(py, initializer.add_subclass(AsyncPager))?.into_any()),
        }
    }

    /// Collects the remaining rows, within the limits, in sinks. `convert` makes a value of them in
    /// the runtime, and `finish` makes the Python object, with which they count as received.
    fn gather<'py, S, T, F>(
        &self,
        py: Python<'py>,
        limits: Limits,
        progress: bool,
        sink: impl Fn() -> S + Send + Sync + 'static,
        convert: impl FnOnce(Vec<S>) -> F + Send + 'static,
        finish: Finish<T>,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        S: Sink + Send + 'static,
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send,
    {
        let _reading = match self.mode {
            CallMode::Sync => Some(self.state.mark_reading(py)?),
            CallMode::Async => None,
        };
        let count = Arc::new(AtomicU64::new(0));
        let label = &self.state.pages.call.plan.request.label;
        let total = progress.then(|| self.state.expected_rows(py, limits)).transpose()?;
        let counted = count.clone();
        self.state.delivery(py)?;
        let (state, names) = (self.state.clone(), self.view.undeclared().cloned());
        let is_sync = self.mode == CallMode::Sync;
        let start: Start<_> = Box::new(move |py| {
            let fetcher = state.lock_fetcher(py)?;
            let gathered = async move {
                let mut fetcher = fetcher.await;
                let sink = || CheckedSink { sink: sink(), names: names.clone() };
                let pages = &state.pages;
                let (gathering, sinks) = pages.gather(&mut fetcher, limits, &count, sink).await?;
                let sinks = sinks.into_iter().map(|checked| checked.sink).collect();
                let value = convert(sinks).await.map_err(|error| pages.with_checkpoint(error))?;
                let is_rest = match limits {
                    Limits { items: None, pages: None } => true,
                    Limits { items: Some(0), .. } | Limits { pages: Some(0), .. } => false,
                    // A loop of limited calls gets an empty result before it is refused.
                    _ => count.load(Ordering::Relaxed) == 0,
                };
                // The next one waits for a thread, but not for an event loop: it may have stopped.
                Ok((gathering, is_rest, value, is_sync.then_some(fetcher)))
            };
            // On the runtime's threads, so that Ctrl-C need not wait while large pages are parsed.
            Ok(async move { AbortOnDrop::spawn(gathered.boxed()).join().await }.boxed())
        });
        let state = self.state.clone();
        let finish = move |py: Python<'_>, gathered: Gathered<T>| {
            let (mut gathering, is_rest, value, _fetcher) = gathered;
            let object = finish(py, value).map_err(|error| state.with_checkpoint(py, error))?;
            py.check_signals()?;
            match gathering.receive(is_rest) {
                true => Ok(object),
                false => Err(raise(py, Error::misuse(OVERTAKEN, "Call the method again."))),
            }
        };
        let owner = self.owner.as_ref().map(|owner| owner.clone_ref(py));
        let call = Call::deferred(label, start, Box::new(finish)).owned_by(owner);
        match total {
            Some(total) => {
                Progress { label, unit: "rows", total, count: counted }.run(py, self.mode, call)
            }
            None => self.mode.run_shared(py, call),
        }
    }

    /// The remaining rows as a frame, whose columns are built page by page.
    fn frame<'py>(
        &self,
        py: Python<'py>,
        library: &'static FrameLibrary,
        decimals: &str,
        invalid: &str,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let frame = FrameTarget::prepare(py, library, decimals, invalid)?;
        let fields = self.state.pages.call.plan.fields.clone();
        let view = self.view.clone();
        let sink = move || {
            let (fields, view) = (fields.clone(), view.clone());
            BatchBuilder::new(move || {
                let fields = fields.iter();
                Columns::new(fields, None, view.selection(), frame.options)
            })
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
        self.gather(py, Limits::default(), progress, sink, convert, Box::new(finish))
    }
}

/// The gathered records, whether nothing follows, its value, and for a thread the locked fetcher.
type Gathered<T> = (Gathering<Py<PyAny>>, bool, T, Option<OwnedMutexGuard<Fetcher>>);

const OVERTAKEN: &str = "this call's event loop had stopped or was busy when the call finished, and \
                         another one continued with the pager; call the method again";

/// A frame, or its columns.
enum FrameResult {
    Columns(ArrowStream),
    Made(PyResult<Py<PyAny>>),
}

#[gated]
impl PagerBase {
    /// The total number of items, or `None` if the service does not report it.
    #[getter]
    fn total(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.state.delivery(py).map(|delivery| delivery.total())
    }

    /// The time range that is read, as aware UTC datetimes of its start and its end.
    ///
    /// A range that was passed is known at once. One that ends now is fixed by the service's clock when
    /// the first page is requested: until then it is `None`, as it is for a list without a time range.
    #[getter]
    fn range<'py>(&self, py: Python<'py>) -> PyResult<Option<Datetimes<'py>>> {
        datetimes(py, self.state.delivery(py)?.range())
    }

    /// How many pages were requested.
    getter!(requests: u64 = self.state.pages.requests());

    /// The exact position of the iteration as a small JSON string without secrets. Pass it to the
    /// same method with the same arguments as `resume=`, in another process too.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<String> {
        self.state.checkpoint(py)
    }

    /// The same iteration restricted to these fields, in this order: rows, pages, `all` and frames
    /// contain nothing else. It shares the position with this pager.
    ///
    /// A name that the endpoint does not declare raises `ConfigError`. With `undeclared=True`, or if the
    /// endpoint declares no fields, it is looked up in the first page that has records, and rejected then.
    #[pyo3(signature = (*names, undeclared = false))]
    fn select<'py>(
        &self,
        names: &Bound<'py, PyTuple>,
        undeclared: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let py = names.py();
        let view = self.view.select(&self.state.pages.call, names, undeclared)?;
        let owner = self.owner.as_ref().map(|owner| owner.clone_ref(py));
        Self::of_view(self.state.clone(), self.mode, view, owner).into_pager(py)
    }

    /// An iterator over the rows as instances of `cls`, each field converted to its annotation; see
    /// `Records.as_type`, also for the errors. It shares the position with this pager.
    #[pyo3(name = "as_type")]
    fn iterate_as_type<'py>(&self, cls: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let kind = ItemKind::Row(self.view.as_type(&self.state.pages.call, cls)?);
        iterate(cls.py(), self.mode, &self.state, kind, self.owner.as_ref())
    }

    /// An iterator over the pages, each as `Records`.
    fn pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let kind = ItemKind::Page(self.view.clone());
        iterate(py, self.mode, &self.state, kind, self.owner.as_ref())
    }

    /// The remaining rows as `Records`, limited to `max_items` rows and `max_pages` pages. If it
    /// fails midway, the pager's position does not change.
    ///
    /// An empty result means the end of the list only if `max_items` (at least 1) is the only limit.
    #[pyo3(signature = (max_items = None, max_pages = None, *, progress = false))]
    fn all<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = number)] max_items: Option<i64>,
        #[pyo3(from_py_with = number)] max_pages: Option<i64>,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let items = caller_arguments::limit(py, "max_items", max_items)?;
        let limits = Limits { items, pages: caller_arguments::limit(py, "max_pages", max_pages)? };
        let fields = self.state.pages.call.plan.fields.clone();
        let selection = self.view.selection().cloned();
        let rows = |slices: Vec<Vec<PageSlice>>| async move {
            Ok(Rows::new(slices.concat(), fields).restricted_to(selection))
        };
        self.gather(py, limits, progress, Vec::new, rows, Records::from_rows(&self.view.builders))
    }

    /// The remaining rows as a pandas DataFrame; see `boardlot.frames.to_pandas`.
    #[pyo3(signature = (*, decimals = "float64", invalid = "raise", progress = false))]
    fn to_pandas<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.frame(py, &PANDAS, decimals, invalid, progress)
    }

    /// The remaining rows as a polars DataFrame; see `boardlot.frames.to_polars`.
    #[pyo3(signature = (*, decimals = "float64", invalid = "raise", progress = false))]
    fn to_polars<'py>(
        &self,
        py: Python<'py>,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.frame(py, &POLARS, decimals, invalid, progress)
    }

    /// The remaining rows as a pyarrow Table; see `boardlot.frames.to_arrow`. With
    /// `batches=True` an iterator of record batches, one per page, each as soon as it is fetched.
    ///
    /// A field that the endpoint does not declare is a column of the batches that have it, and there it
    /// is text, as nothing is known of later pages. `pyarrow.concat_tables` joins tables of such batches
    /// with `promote_options="permissive"`.
    #[pyo3(
        signature = (*, decimals = "float64", invalid = "raise", progress = false, batches = false)
    )]
    fn to_arrow<'py>(
        this: &Bound<'py, Self>,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
        progress: bool,
        batches: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (this.py(), this.get());
        if !batches {
            return base.frame(py, &ARROW, decimals, invalid, progress);
        }
        if base.state.delivery(py)?.is_exhausted() {
            return Err(raise(py, exhausted()));
        }
        let mut frame = FrameTarget::prepare(py, &ARROW, decimals, invalid)?;
        frame.options.undeclared_as_text = true;
        let kind = ItemKind::Batch(base.view.clone(), frame);
        iterate(py, base.mode, &base.state, kind, base.owner.as_ref())
    }

    fn __getattr__(this: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        Err(no_attribute(this.as_any(), name))
    }

    #[expect(unused_variables, reason = "there is no item whatever the key")]
    fn __getitem__(&self, key: &Bound<'_, PyAny>) -> PyResult<()> {
        Err(no_index(self.mode))
    }

    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        let what = "cannot pickle a pager; pickle its `checkpoint()`";
        Err(raise(py, Error::misuse(what, "Pass the checkpoint as `resume=` to the same call.")))
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let (name, state) = (this.get_type().name()?.to_string(), &this.get().state);
        let range = state.delivery(this.py())?.range().map_or(String::new(), |(start, end)| {
            format!(" from {} to {}", time_text(start), time_text(end))
        });
        Ok(format!("<{name} of {}{range}>", &state.pages.call.plan.request.label))
    }
}

#[gated]
impl Pager {
    fn __iter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        warn_if_exhausted(this.py(), &this.as_super().get().state).map(|()| this.clone())
    }

    fn __next__(this: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let base = this.as_super().get();
        base.state.next(this.py(), &base.rows)
    }

    /// The remaining pages as an Arrow stream (the PyCapsule interface), one record batch each, fetched as
    /// the consumer asks. A batch that the consumer took has been received.
    ///
    /// The columns are those of the first page; a later page that does not fit into them is an error.
    #[pyo3(signature = (requested_schema = None))]
    #[expect(unused_variables, reason = "the protocol lets a producer ignore the request")]
    fn __arrow_c_stream__<'py>(
        this: &Bound<'py, Self>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let base = this.as_super().get();
        stream_capsule(this.py(), &base.state, &base.view, base.owner.as_ref())
    }
}

#[gated]
impl AsyncPager {
    fn __aiter__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, Self>> {
        warn_if_exhausted(this.py(), &this.as_super().get().state).map(|()| this.clone())
    }

    fn __anext__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let base = this.as_super().get();
        base.state.next_async(this.py(), &base.rows, base.owner.as_ref())
    }
}
