//! Taking rows and pages from a pager: looked at, converted, and only then received.

use std::{
    cell::RefCell,
    future::{Future, ready},
    pin::Pin,
    sync::{Arc, atomic::AtomicU64},
    task::{Context, Poll, Waker},
};

use pyo3::{PyTraverseError, PyVisit, exceptions::PyStopAsyncIteration, prelude::*};
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{
    bridge::{CallMode, block},
    errors::raise,
    frame::Frame,
    operation::{Operation, Slot, Start, Unreceived, Work, delivered},
    records::Records,
    shapes::Shapes,
    shutdown_gate,
};
use crate::{
    decode::Rows,
    error::{Error, Result},
    pages::{Listing, Pages, SharedPosition, checkpoint},
};

/// What a pager and its iterators share.
pub struct Reading {
    pub pages: Arc<Mutex<Pages>>,
    pub listing: Arc<Listing>,
    pub position: Arc<SharedPosition>,
    pub requests: Arc<AtomicU64>,
    pub shapes: Shapes,
    pub unreceived: Arc<Unreceived>,
    origin: String,
    /// Where it was made.
    process: u32,
}

/// What is taken at a time.
#[derive(Clone, Copy)]
pub enum Unit {
    Row,
    /// A page as `Records`.
    Page,
    /// A page as a record batch.
    Batch(Frame),
}

impl Reading {
    pub fn of(pages: Pages) -> Arc<Self> {
        Arc::new(Reading {
            listing: pages.listing().clone(),
            position: pages.position().clone(),
            requests: pages.requests().clone(),
            shapes: Shapes::default(),
            unreceived: Arc::default(),
            origin: pages.origin().to_owned(),
            process: std::process::id(),
            pages: Arc::new(Mutex::new(pages)),
        })
    }

    /// Where the caller stands. Waits for nobody.
    pub fn checkpoint(&self) -> String {
        checkpoint::write(&self.position.get(), &self.listing, &self.origin)
    }

    /// The next unit, waited for; none at the end of the list.
    pub fn next(self: &Arc<Self>, py: Python<'_>, unit: Unit) -> PyResult<Option<Py<PyAny>>> {
        let _entered = self.enter(py)?;
        if let Ok(mut pages) = self.pages.try_lock()
            && let Some(object) = self.take(py, &mut pages, unit)?
        {
            return Ok(Some(object));
        }
        self.check_free(py)?;
        let _inside = shutdown_gate::enter(py);
        let mut pages = block(py, filled(self.pages.clone().lock_owned(), unit), |_| Ok(()))?;
        let object = self.take(py, &mut pages, unit)?;
        if object.is_none() {
            pages.received_end();
        }
        Ok(object)
    }

    /// An awaitable of the next unit.
    pub fn next_async<'py>(
        self: &Arc<Self>,
        py: Python<'py>,
        unit: Unit,
        owner: Option<&Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let owner = owner.map(|owner| owner.clone_ref(py));
        Operation::awaitable(py, Box::new(Next { reading: self.clone(), unit, owner }))
    }

    /// The next unit if it is in memory, as the caller's own. Only what became a Python object is
    /// received, and only if no signal's handler raises meanwhile.
    fn take(&self, py: Python<'_>, pages: &mut Pages, unit: Unit) -> PyResult<Option<Py<PyAny>>> {
        let object = match unit {
            Unit::Row => pages.next_row().map(|row| self.shapes.row(py, &row)),
            Unit::Page | Unit::Batch(_) => pages.next_page().map(|slice| {
                let rows = Rows::new(vec![slice], self.listing.plan.fields.clone());
                match unit {
                    Unit::Batch(frame) => frame.batch(py, &rows),
                    _ => Records::from_rows(&self.shapes)(py, rows),
                }
            }),
        };
        let Some(object) = object else { return Ok(None) };
        let object = object.map_err(|error| self.located(py, error))?;
        py.check_signals()?;
        match unit {
            Unit::Row => pages.received_row(),
            Unit::Page | Unit::Batch(_) => pages.received_page(),
        }
        Ok(Some(object))
    }

    /// An error of boardlot's, told where the iteration can be resumed.
    pub fn located(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let value = error.value(py);
        if value.hasattr("checkpoint").unwrap_or(false) {
            // An exception that takes no attribute goes without.
            let _ = value.setattr("checkpoint", self.checkpoint());
        }
        error
    }

    /// Notes that this thread reads the pager, until the guard is dropped.
    pub fn enter(self: &Arc<Self>, py: Python<'_>) -> PyResult<Entered> {
        let id = Arc::as_ptr(self) as usize;
        let entered = READ_HERE.with_borrow_mut(|read| {
            let is_new = !read.contains(&id);
            if is_new {
                read.push(id);
            }
            is_new
        });
        if entered { Ok(Entered(id)) } else { Err(in_use(py)) }
    }

    /// Refuses to wait for one who waits for this thread, or is not in this process.
    pub fn check_free(&self, py: Python<'_>) -> PyResult<()> {
        if self.pages.try_lock().is_ok() {
            return Ok(());
        }
        if self.process != std::process::id() {
            let text = "this pager was being read by another thread when the process was forked; \
                        make a new one from a checkpoint";
            return Err(raise(py, Error::config(text)));
        }
        if shutdown_gate::is_called_back() { Err(in_use(py)) } else { Ok(()) }
    }
}

thread_local! {
    /// The pagers that this thread reads at this moment.
    static READ_HERE: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// This thread reads a pager.
pub struct Entered(usize);

impl Drop for Entered {
    fn drop(&mut self) {
        READ_HERE.with_borrow_mut(|read| read.retain(|id| *id != self.0));
    }
}

fn in_use(py: Python<'_>) -> PyErr {
    let text = "this pager is being read, and that waits for the signal handler, hook or finalizer \
                which called it; in such a function use checkpoint(), total or requests only";
    raise(py, Error::config(text))
}

/// The pages with a unit in memory, or at their end; nobody else reads them meanwhile.
async fn filled(
    pages: impl Future<Output = OwnedMutexGuard<Pages>>,
    unit: Unit,
) -> Result<OwnedMutexGuard<Pages>> {
    let mut pages = pages.await;
    match unit {
        Unit::Row => pages.fill().await?,
        Unit::Page | Unit::Batch(_) => pages.fill_page().await?,
    };
    Ok(pages)
}

/// The pages, with a place in the line of those who wait for them: of several awaitables the one that
/// was awaited first gets the first row.
fn in_line(
    pages: Arc<Mutex<Pages>>,
) -> Pin<Box<dyn Future<Output = OwnedMutexGuard<Pages>> + Send>> {
    let mut turn = Box::pin(pages.lock_owned());
    match turn.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(guard) => Box::pin(ready(guard)),
        Poll::Pending => turn,
    }
}

/// The next unit of an async iteration.
struct Next {
    reading: Arc<Reading>,
    unit: Unit,
    owner: Option<Py<PyAny>>,
}

impl Start for Next {
    fn at_hand(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match self.reading.pages.try_lock() {
            Ok(mut pages) => self.reading.take(py, &mut pages, self.unit),
            Err(_) => Ok(None),
        }
    }

    fn work(self: Box<Self>, py: Python<'_>, slot: &Arc<Slot>) -> PyResult<Work> {
        self.reading.unreceived.enter(py, slot)?;
        self.reading.check_free(py)?;
        let Next { reading, unit, .. } = *self;
        let pages = reading.pages.clone();
        // The guard goes along: the unit is the awaiting code's, or still in the pager.
        let finish = move |py: Python<'_>, mut pages: OwnedMutexGuard<Pages>| match reading
            .take(py, &mut pages, unit)?
        {
            Some(object) => Ok(object),
            None => {
                pages.received_end();
                Err(PyStopAsyncIteration::new_err(()))
            }
        };
        Ok(Box::pin(delivered(filled(in_line(pages), unit), finish)))
    }

    fn name(&self) -> String {
        format!("the next {} of {}", self.unit.name(), self.reading.listing.plan.request.label())
    }

    fn owner(&self) -> Option<&Py<PyAny>> {
        self.owner.as_ref()
    }
}

impl Unit {
    fn name(self) -> &'static str {
        match self {
            Unit::Row => "row",
            Unit::Page | Unit::Batch(_) => "page",
        }
    }
}

/// Iterates the pages of a pager, from where it stands.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct PageIterator(PageReading);

/// The same for `async for`.
#[pyclass(frozen, generic, module = "boardlot._core")]
pub struct AsyncPageIterator(PageReading);

struct PageReading {
    reading: Arc<Reading>,
    unit: Unit,
    /// The client, which has what the core refers to weakly.
    owner: Option<Py<PyAny>>,
}

/// The iterator of a pager's pages.
pub fn pages<'py>(
    py: Python<'py>,
    mode: CallMode,
    reading: &Arc<Reading>,
    unit: Unit,
    owner: Option<&Py<PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    let owner = owner.map(|owner| owner.clone_ref(py));
    let pages = PageReading { reading: reading.clone(), unit, owner };
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
        self.0.reading.next(py, self.0.unit)
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
        self.0.reading.next_async(py, self.0.unit, self.0.owner.as_ref())
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0.owner)
    }
}
