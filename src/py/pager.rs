//! `Pager` and `AsyncPager`: an iteration over pages, row by row, page by page, or as a whole.

use std::sync::{Arc, atomic::AtomicU64};

use pyo3::prelude::*;
use tokio::sync::Mutex;

use super::{
    bridge::{Face, Finish, Ready, block},
    progress::Progress,
    records::{Records, frame},
    shapes::Shapes,
};
use crate::{api::Field, decode::Rows, error::Result, pages::Pages};

/// What both pagers share: where the iteration stands, and everything from there on.
#[pyclass(frozen, subclass, generic, module = "boardlot._core")]
pub struct PagerBase {
    pages: Arc<Mutex<Pages>>,
    fields: Arc<[&'static Field]>,
    label: String,
    face: Face,
    shapes: Shapes,
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
            label: pages.listing().draft.label.clone(),
            pages: Arc::new(Mutex::new(pages)),
            face,
            shapes: Shapes::default(),
        };
        let initializer = PyClassInitializer::from(base);
        match face {
            Face::Sync => Ok(Bound::new(py, initializer.add_subclass(Pager))?.into_any()),
            Face::Async => Ok(Bound::new(py, initializer.add_subclass(AsyncPager))?.into_any()),
        }
    }

    /// What the pages know at this moment; an iteration under way elsewhere is waited for.
    fn read<T: Send>(
        &self,
        py: Python<'_>,
        read: impl Fn(&Pages) -> T + Send + Sync,
    ) -> PyResult<T> {
        if let Ok(pages) = self.pages.try_lock() {
            return Ok(read(&pages));
        }
        let pages = self.pages.clone();
        block(py, async move { Ok(read(&*pages.lock().await)) }, |_| Ok(()))
    }

    fn gather<'py>(
        &self,
        py: Python<'py>,
        limits: (Option<usize>, Option<usize>),
        progress: bool,
        finish: Finish<Rows>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let fields = self.fields.clone();
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
            let pieces = pages.lock().await.gather(max_items, max_pages, &count).await?;
            Ok(Rows::new(pieces, fields))
        };
        progress.run(py, self.face, future, finish)
    }
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
    fn requests(&self, py: Python<'_>) -> PyResult<u64> {
        self.read(py, Pages::requests)
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
        max_items: Option<usize>,
        max_pages: Option<usize>,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.gather(py, (max_items, max_pages), progress, self.shapes.records())
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
        self.gather(py, (None, None), progress, framed("to_pandas", decimals, invalid))
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
        self.gather(py, (None, None), progress, framed("to_polars", decimals, invalid))
    }

    /// Everything from here on as a pyarrow Table; see `boardlot.frames.to_arrow`.
    #[pyo3(signature = (*, decimals = "float64", invalid = "raise", progress = false))]
    fn to_arrow<'py>(
        &self,
        py: Python<'py>,
        decimals: &str,
        invalid: &str,
        progress: bool,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.gather(py, (None, None), progress, framed("to_arrow", decimals, invalid))
    }

    fn __repr__(this: &Bound<'_, Self>) -> PyResult<String> {
        let name = this.get_type().name()?.to_string();
        Ok(format!("<{name} of {}>", this.get().label))
    }
}

fn framed(function: &'static str, decimals: &str, invalid: &str) -> Finish<Rows> {
    let (decimals, invalid) = (decimals.to_owned(), invalid.to_owned());
    Box::new(move |py, rows| {
        let records = Bound::new(py, Records::new(rows))?;
        frame(&records, function, &decimals, &invalid).map(Bound::unbind)
    })
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
            None => block(py, next_row(base.pages.clone()), |_| Ok(()))?,
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
        let finish = move |py: Python<'_>, taken: Option<_>| match taken {
            Some(taken) => shapes.row(py, &taken),
            None => Err(end_of_iteration()),
        };
        Face::Async.run(py, next_row(base.pages.clone()), Box::new(finish))
    }
}

type Taken = (Arc<crate::decode::Page>, usize);

async fn next_row(pages: Arc<Mutex<Pages>>) -> Result<Option<Taken>> {
    let mut pages = pages.lock().await;
    Ok(if pages.fill().await? { pages.take_row() } else { None })
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
    async fn next(self) -> Result<Option<Rows>> {
        let piece = self.pages.lock().await.next_page().await?;
        Ok(piece.map(|piece| Rows::new(vec![piece], self.fields)))
    }
}

#[pymethods]
impl PageIterator {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        let rows = block(py, self.0.clone().next(), |_| Ok(()))?;
        rows.map(|rows| self.0.shapes.records()(py, rows)).transpose()
    }
}

#[pymethods]
impl AsyncPageIterator {
    fn __aiter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __anext__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let records = self.0.shapes.records();
        let finish = |py: Python<'_>, rows: Option<Rows>| match rows {
            Some(rows) => records(py, rows),
            None => Err(end_of_iteration()),
        };
        Face::Async.run(py, self.0.clone().next(), Box::new(finish))
    }
}
