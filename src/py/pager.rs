//! `Pager` and `AsyncPager`: an iteration over pages, row by row, page by page, or as a whole.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use pyo3::{PyTraverseError, PyVisit, prelude::*};
use tokio::sync::OwnedMutexGuard;

use super::{
    arrow::ArrowStream,
    bridge::{Call, CallMode, Finish},
    errors::raise,
    frame::{ARROW, Frame, FrameLibrary, PANDAS, POLARS},
    progress::Progress,
    reading::{self, Reading, Unit},
    records::Records,
    shutdown_gate::attach,
};
use crate::{
    decode::{BatchBuilder, Columns, PageSlice, Rows},
    error::{Error, Result},
    pages::{Pages, Sink, exhausted},
    process::AbortOnDrop,
};

/// What both pagers share: where the iteration stands, and everything from there on.
#[pyclass(frozen, subclass, generic, module = "boardlot._core")]
pub struct PagerBase {
    reading: Arc<Reading>,
    mode: CallMode,
    /// The client, which has what the core refers to weakly.
    owner: Option<Py<PyAny>>,
}

/// An iterator over the rows of a list that comes in pages: one page in memory at a time, fetching
/// ahead by at most one.
#[pyclass(frozen, extends = PagerBase, generic, module = "boardlot._core")]
pub struct Pager;

/// The same for `async for`.
#[pyclass(frozen, extends = PagerBase, generic, module = "boardlot._core")]
pub struct AsyncPager;

impl PagerBase {
    /// The pager of that face, as a Python object.
    pub fn open<'py>(
        py: Python<'py>,
        mode: CallMode,
        pages: Pages,
        owner: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let owner = owner.map(|owner| owner.clone().unbind());
        let base = PagerBase { reading: Reading::of(pages), mode, owner };
        let initializer = PyClassInitializer::from(base);
        match mode {
            CallMode::Sync => Ok(Bound::new(py, initializer.add_subclass(Pager))?.into_any()),
            CallMode::Async => Ok(Bound::new(py, initializer.add_subclass(AsyncPager))?.into_any()),
        }
    }

    /// Everything from here on within the limits, gathered into sinks. It is received once the
    /// caller's code has what `made` and `finish` make of them: the first in the runtime, the second
    /// with the interpreter.
    fn gather<'py, S, T, F>(
        &self,
        py: Python<'py>,
        limits: (Option<usize>, Option<usize>),
        progress: bool,
        sink: impl Fn() -> S + Send + Sync + 'static,
        made: impl FnOnce(Vec<S>) -> F + Send + 'static,
        finish: Finish<T>,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        S: Sink + Send + 'static,
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send,
    {
        let _entered = match self.mode {
            CallMode::Sync => Some(self.reading.enter(py)?),
            CallMode::Async => None,
        };
        self.reading.check_free(py)?;
        let pages = self.reading.pages.clone();
        let count = Arc::new(AtomicU64::new(0));
        let label = self.reading.listing.plan.request.label();
        let progress = Progress {
            shown: progress,
            label,
            unit: "rows",
            total: limits.0,
            count: count.clone(),
        };
        let future = async move {
            let (max_items, max_pages) = limits;
            let mut pages = pages.lock_owned().await;
            let gathered = pages.gather(max_items, max_pages, &count, sink).await?;
            let value = made(gathered).await.map_err(|e| e.with_checkpoint(pages.checkpoint()))?;
            // Limited calls in a loop end with an empty result before they are refused.
            let to_the_end = limits == (None, None) || count.load(Ordering::Relaxed) == 0;
            Ok((pages, to_the_end, value))
        };
        let reading = self.reading.clone();
        let finish = move |py: Python<'_>, gathered: (OwnedMutexGuard<Pages>, bool, T)| {
            let (mut pages, to_the_end, value) = gathered;
            let object = finish(py, value).map_err(|error| reading.located(py, error))?;
            py.check_signals()?;
            pages.received_all(to_the_end);
            Ok(object)
        };
        // Large pages and many rows take their time, and Ctrl-C shall not wait for them.
        let future = async move { AbortOnDrop::spawn(future).join().await };
        let call = Call {
            unreceived: Some(self.reading.unreceived.clone()),
            owner: self.owner.as_ref().map(|owner| owner.clone_ref(py)),
            ..Call::new(label, future, Box::new(finish))
        };
        progress.run(py, self.mode, call)
    }

    /// Everything from here on as a frame, page by page into its columns.
    fn frame<'py>(
        &self,
        py: Python<'py>,
        library: &'static FrameLibrary,
        decimals: &str,
        invalid: &str,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let frame = Frame::prepare(py, library, decimals, invalid)?;
        let fields = self.reading.listing.plan.fields.clone();
        let sink = move || {
            let fields = fields.clone();
            BatchBuilder::new(move || Columns::new(fields.iter().copied(), None, frame.options))
        };
        let mode = self.mode;
        let made = move |windows: Vec<BatchBuilder<_>>| async move {
            let parts = windows.into_iter().flat_map(BatchBuilder::finish).collect();
            let columns = ArrowStream::of(parts)?;
            if mode == CallMode::Sync {
                return Ok(Framed::Columns(columns));
            }
            // Making a large frame takes its time: not on the thread of the event loop.
            let frame = move || attach(|py| Ok(Framed::Made(frame.convert(py, columns))));
            tokio::task::spawn_blocking(frame).await.map_err(|error| Error::aborted(&error))?
        };
        let finish = move |py: Python<'_>, framed: Framed| match framed {
            Framed::Columns(columns) => frame.convert(py, columns),
            Framed::Made(outcome) => outcome,
        };
        self.gather(py, (None, None), progress, sink, made, Box::new(finish))
    }
}

/// A frame, or what becomes one.
enum Framed {
    Columns(ArrowStream),
    Made(PyResult<Py<PyAny>>),
}

#[pymethods]
impl PagerBase {
    /// The total number of items where the service tells it, else `None`.
    #[getter]
    fn total(&self) -> Option<i64> {
        self.reading.position.total()
    }

    /// How many pages were asked for.
    #[getter]
    fn requests(&self) -> u64 {
        self.reading.requests.load(Ordering::Relaxed)
    }

    /// The exact position of the iteration as a small JSON string without secrets. Pass it to the
    /// same method with the same arguments as `resume=`, in another process too.
    fn checkpoint(&self) -> String {
        self.reading.checkpoint()
    }

    /// Iterates `Records`, one a page.
    fn pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        reading::pages(py, self.mode, &self.reading, Unit::Page, self.owner.as_ref())
    }

    /// Everything from here on, or as much as the limits allow, as `Records`. A failure midway
    /// raises, and the pager stands where it was before.
    #[pyo3(signature = (max_items = None, max_pages = None, *, progress = false))]
    fn all<'py>(
        &self,
        py: Python<'py>,
        max_items: Option<i64>,
        max_pages: Option<i64>,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let limit = |name: &str, value: Option<i64>| match value.map(usize::try_from) {
            None => Ok(None),
            Some(Ok(limit)) => Ok(Some(limit)),
            Some(Err(_)) => {
                let shown = value.unwrap_or_default().to_string();
                Err(raise(py, Error::argument(name, &shown, "an integer from 0")))
            }
        };
        let limits = (limit("max_items", max_items)?, limit("max_pages", max_pages)?);
        let fields = self.reading.listing.plan.fields.clone();
        let rows =
            |slices: Vec<Vec<PageSlice>>| async move { Ok(Rows::new(slices.concat(), fields)) };
        self.gather(py, limits, progress, Vec::new, rows, Records::from_rows(&self.reading.shapes))
    }

    /// Everything from here on as a pandas DataFrame; see `boardlot.frames.to_pandas`.
    #[pyo3(signature = (*, decimals = "float64", invalid = "raise", progress = false))]
    fn to_pandas<'py>(
        &self,
        py: Python<'py>,
        decimals: &str,
        invalid: &str,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.frame(py, &PANDAS, decimals, invalid, progress)
    }

    /// Everything from here on as a polars DataFrame; see `boardlot.frames.to_polars`.
    #[pyo3(signature = (*, decimals = "float64", invalid = "raise", progress = false))]
    fn to_polars<'py>(
        &self,
        py: Python<'py>,
        decimals: &str,
        invalid: &str,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.frame(py, &POLARS, decimals, invalid, progress)
    }

    /// Everything from here on as a pyarrow Table; see `boardlot.frames.to_arrow`. With
    /// `batches=True` an iterator of record batches instead, one a page, each as it comes.
    #[pyo3(
        signature = (*, decimals = "float64", invalid = "raise", progress = false, batches = false)
    )]
    fn to_arrow<'py>(
        this: &Bound<'py, Self>,
        decimals: &str,
        invalid: &str,
        progress: bool,
        batches: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (this.py(), this.get());
        if !batches {
            return base.frame(py, &ARROW, decimals, invalid, progress);
        }
        if base.reading.position.is_exhausted() {
            return Err(raise(py, exhausted()));
        }
        let frame = Frame::prepare(py, &ARROW, decimals, invalid)?;
        reading::pages(py, base.mode, &base.reading, Unit::Batch(frame), base.owner.as_ref())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.owner)
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let name = this.get_type().name()?.to_string();
        Ok(format!("<{name} of {}>", this.get().reading.listing.plan.request.label()))
    }
}

#[pymethods]
impl Pager {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(this: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        this.as_super().get().reading.next(this.py(), Unit::Row)
    }
}

#[pymethods]
impl AsyncPager {
    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let base = this.as_super().get();
        base.reading.next_async(this.py(), Unit::Row, base.owner.as_ref())
    }
}
