//! `Pager` and `AsyncPager`: an iteration over pages, row by row, page by page, or as a whole.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use pyo3::prelude::*;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{
    arrow::{ArrowStream, Frame},
    bridge::{Face, Finish, Ready, block},
    door::{self, attach},
    errors::raise,
    progress::Progress,
    shapes::Shapes,
};
use crate::{
    api::Field,
    decode::{Columns, Parts, Piece, Rows},
    error::{Error, Result},
    pages::{Pages, Sink},
};

/// What both pagers share: where the iteration stands, and everything from there on.
#[pyclass(frozen, subclass, generic, module = "boardlot._core")]
pub struct PagerBase {
    pages: Arc<Mutex<Pages>>,
    fields: Arc<[&'static Field]>,
    requests: Arc<AtomicU64>,
    label: String,
    face: Face,
    shapes: Shapes,
    /// Where it was made.
    process: u32,
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
    pub fn open<'py>(py: Python<'py>, face: Face, pages: Pages) -> PyResult<Bound<'py, PyAny>> {
        let base = PagerBase {
            fields: pages.listing().fields.clone(),
            requests: pages.requests().clone(),
            label: pages.listing().draft.label.clone(),
            pages: Arc::new(Mutex::new(pages)),
            face,
            shapes: Shapes::default(),
            process: std::process::id(),
        };
        let initializer = PyClassInitializer::from(base);
        match face {
            Face::Sync => Ok(Bound::new(py, initializer.add_subclass(Pager))?.into_any()),
            Face::Async => Ok(Bound::new(py, initializer.add_subclass(AsyncPager))?.into_any()),
        }
    }

    /// What the pages know at this moment. Where a page is under way elsewhere, that is waited for,
    /// except in a forked child, where nobody would ever end it.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        read: impl Fn(&Pages) -> T + Send + Sync,
    ) -> PyResult<T> {
        if let Ok(pages) = self.pages.try_lock() {
            return Ok(read(&pages));
        }
        self.check_process(py)?;
        let pages = self.pages.clone();
        block(py, async move { Ok(read(&*pages.lock().await)) }, |_| Ok(()))
    }

    /// Whether another thread was reading when this process was forked.
    fn check_process(&self, py: Python<'_>) -> PyResult<()> {
        if self.process == std::process::id() || self.pages.try_lock().is_ok() {
            return Ok(());
        }
        let text = "this pager was being read by another thread when the process was forked; make \
                    a new one from a checkpoint";
        Err(raise(py, Error::config(text)))
    }

    /// Everything from here on within the limits, gathered into sinks. The iteration goes on after
    /// it only once the caller has what `made` and `finish` make of them: the first in the runtime,
    /// the second with the interpreter.
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
        let pages = self.pages.clone();
        let count = Arc::new(AtomicU64::new(0));
        let progress = Progress {
            shown: progress,
            label: &self.label,
            unit: "rows",
            total: limits.0,
            count: count.clone(),
        };
        let future = async move {
            let (max_items, max_pages) = limits;
            let mut pages = pages.lock_owned().await;
            let gathered = pages.gather(max_items, max_pages, &count, sink).await?;
            let value = made(gathered).await.map_err(|e| e.with_checkpoint(pages.checkpoint()))?;
            Ok((pages, value))
        };
        let finish = move |py: Python<'_>, (mut pages, value): (OwnedMutexGuard<Pages>, T)| {
            let outcome = finish(py, value);
            match &outcome {
                Ok(_) => pages.keep(),
                Err(error) => note_checkpoint(py, error, &pages.checkpoint()),
            }
            outcome
        };
        progress.run(py, self.face, future, Box::new(finish))
    }

    /// Everything from here on as a frame, page by page into its columns.
    fn frame<'py>(
        &self,
        py: Python<'py>,
        function: &'static str,
        decimals: &str,
        invalid: &str,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        let frame = Frame::ready(py, function, decimals, invalid)?;
        let fields = self.fields.clone();
        let sink = move || {
            let fields = fields.clone();
            Parts::new(move || Columns::new(fields.iter().copied(), None, frame.options))
        };
        let face = self.face;
        let made = move |windows: Vec<Parts<_>>| async move {
            let parts = windows.into_iter().flat_map(Parts::finish).collect();
            let columns = ArrowStream::of(parts)?;
            if face == Face::Sync {
                return Ok(Framed::Columns(columns));
            }
            // Making a large frame takes its time: not on the thread of the event loop.
            let frame = move || attach(|py| Ok(Framed::Made(frame.made(py, columns))));
            tokio::task::spawn_blocking(frame).await.map_err(|error| Error::given_up(&error))?
        };
        let finish = move |py: Python<'_>, framed: Framed| match framed {
            Framed::Columns(columns) => frame.made(py, columns),
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
    fn total(&self, py: Python<'_>) -> PyResult<Option<i64>> {
        self.read(py, Pages::total)
    }

    /// How many pages were asked for.
    #[getter]
    fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// Where the iteration stands, to the row, as a small JSON text without secrets. Give it to
    /// the same method with the same arguments as `resume=`, in another process too.
    fn checkpoint(&self, py: Python<'_>) -> PyResult<String> {
        self.read(py, Pages::checkpoint)
    }

    /// Iterates `Records`, one a page.
    fn pages<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let source = PageSource {
            pages: self.pages.clone(),
            fields: self.fields.clone(),
            shapes: self.shapes.clone(),
        };
        match self.face {
            Face::Sync => Ok(Bound::new(py, PageIterator(source))?.into_any()),
            Face::Async => Ok(Bound::new(py, AsyncPageIterator(source))?.into_any()),
        }
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
                Err(raise(py, Error::argument(name, &shown, "0 or more")))
            }
        };
        let limits = (limit("max_items", max_items)?, limit("max_pages", max_pages)?);
        let fields = self.fields.clone();
        let rows = |pieces: Vec<Vec<Piece>>| async move { Ok(Rows::new(pieces.concat(), fields)) };
        self.gather(py, limits, progress, Vec::new, rows, self.shapes.records())
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
        self.frame(py, "to_pandas", decimals, invalid, progress)
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
        self.frame(py, "to_polars", decimals, invalid, progress)
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
            return base.frame(py, "to_arrow", decimals, invalid, progress);
        }
        Frame::ready(py, "to_arrow", decimals, invalid)?;
        let function = match base.face {
            Face::Sync => "batches",
            Face::Async => "batches_async",
        };
        py.import("boardlot.frames")?.call_method1(function, (this, decimals, invalid))
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let name = this.get_type().name()?.to_string();
        Ok(format!("<{name} of {}>", this.get().label))
    }
}

/// Tells an error of boardlot's where the iteration can go on.
fn note_checkpoint(py: Python<'_>, error: &PyErr, checkpoint: &str) {
    let value = error.value(py);
    if value.hasattr("checkpoint").unwrap_or(false) {
        // An exception that takes no attribute goes without.
        let _ = value.setattr("checkpoint", checkpoint);
    }
}

#[pymethods]
impl Pager {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(this: &Bound<'_, Self>) -> PyResult<Option<Py<PyAny>>> {
        let (py, base) = (this.py(), this.as_super().get());
        let at_hand = base.pages.try_lock().ok().and_then(|mut pages| pages.take_row());
        let taken = match at_hand {
            Some(taken) => Some(taken),
            None => {
                base.check_process(py)?;
                let _inside = door::stay(py);
                let mut pages = block(py, filled(base.pages.clone()), |_| Ok(()))?;
                pages.take_row()
            }
        };
        taken.map(|taken| base.shapes.row(py, &taken)).transpose()
    }
}

#[pymethods]
impl AsyncPager {
    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let (py, base) = (this.py(), this.as_super().get());
        let at_hand = base.pages.try_lock().ok().and_then(|mut pages| pages.take_row());
        if let Some(taken) = at_hand {
            let ready = Ready::new(base.shapes.row(py, &taken));
            return Ok(Bound::new(py, ready)?.into_any());
        }
        let shapes = base.shapes.clone();
        // The row is taken when it is handed over, so that a task cancelled before loses none.
        let finish = move |py: Python<'_>, mut pages: OwnedMutexGuard<Pages>| match pages.take_row()
        {
            Some(taken) => shapes.row(py, &taken),
            None => Err(end_of_iteration()),
        };
        Face::Async.run(py, filled(base.pages.clone()), Box::new(finish))
    }
}

/// The pages with an unread row at hand, or at their end; nobody else reads them meanwhile.
async fn filled(pages: Arc<Mutex<Pages>>) -> Result<OwnedMutexGuard<Pages>> {
    let mut pages = pages.lock_owned().await;
    pages.fill().await?;
    Ok(pages)
}

fn end_of_iteration() -> PyErr {
    pyo3::exceptions::PyStopAsyncIteration::new_err(())
}

/// Iterates the pages of a pager, from where it stands.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct PageIterator(PageSource);

/// The same for `async for`.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct AsyncPageIterator(PageSource);

#[derive(Clone)]
struct PageSource {
    pages: Arc<Mutex<Pages>>,
    fields: Arc<[&'static Field]>,
    shapes: Shapes,
}

impl PageSource {
    async fn filled(self) -> Result<(OwnedMutexGuard<Pages>, Self)> {
        let mut pages = self.pages.clone().lock_owned().await;
        pages.fill_page().await?;
        Ok((pages, self))
    }
}

fn page(
    py: Python<'_>,
    (mut pages, source): (OwnedMutexGuard<Pages>, PageSource),
) -> PyResult<Option<Py<PyAny>>> {
    let records = source.shapes.records();
    pages.take_page().map(|piece| records(py, Rows::new(vec![piece], source.fields))).transpose()
}

#[pymethods]
impl PageIterator {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let _inside = door::stay(py);
        page(py, block(py, self.0.clone().filled(), |_| Ok(()))?)
    }
}

#[pymethods]
impl AsyncPageIterator {
    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let finish = |py: Python<'_>, filled| page(py, filled)?.ok_or_else(end_of_iteration);
        Face::Async.run(py, self.0.clone().filled(), Box::new(finish))
    }
}
