//! The state that a pager and its iterators share: rows and pages are looked at, converted, and only
//! then received.

use std::{
    cell::RefCell,
    future::ready,
    sync::{Arc, atomic::AtomicU64},
    task::{Context, Poll, Waker},
};

use futures_util::{FutureExt, future::BoxFuture};
use pyo3::prelude::*;
use tokio::sync::{Mutex, OwnedMutexGuard};

use super::{
    blocking::block,
    callback::no_stop_iteration,
    completion::{Completion, Outcome, PendingOperations, into_outcome},
    errors::raise,
    frame::Frame,
    operation::{Operation, Startable},
    records::Records,
    row_view::RowView,
    shutdown_gate,
};
use crate::{
    decode::Rows,
    error::{Error, Result},
    pages::{Listing, Pages, SharedPosition, checkpoint},
    process,
};

pub struct PagerState {
    pages: Arc<Mutex<Pages>>,
    pub listing: Arc<Listing>,
    pub position: Arc<SharedPosition>,
    pub requests: Arc<AtomicU64>,
    pending: Arc<PendingOperations>,
    origin: String,
    /// The process that made it.
    process: u32,
}

/// What an iterator returns at a time.
#[derive(Clone)]
pub enum ItemKind {
    Row(Arc<RowView>),
    /// A page as `Records`.
    Page(Arc<RowView>),
    /// A page as a record batch.
    Batch(Arc<RowView>, Frame),
}

impl ItemKind {
    pub fn is_row(&self) -> bool {
        matches!(self, ItemKind::Row(_))
    }
}

impl PagerState {
    pub fn new(pages: Pages) -> Arc<Self> {
        Arc::new(PagerState {
            listing: pages.listing().clone(),
            position: pages.position().clone(),
            requests: pages.requests().clone(),
            pending: Arc::default(),
            origin: pages.origin().to_owned(),
            process: process::id(),
            pages: Arc::new(Mutex::new(pages)),
        })
    }

    /// The position of the caller. Never waits.
    pub fn checkpoint(&self) -> String {
        checkpoint::write(&self.position.get(), &self.listing, &self.origin)
    }

    /// Waits for the next item; `None` at the end of the list.
    pub fn next(self: &Arc<Self>, py: Python<'_>, kind: &ItemKind) -> PyResult<Option<Py<PyAny>>> {
        self.next_item(py, kind).map_err(|error| no_stop_iteration(py, error))
    }

    #[inline(always)]
    fn next_item(self: &Arc<Self>, py: Python<'_>, kind: &ItemKind) -> PyResult<Option<Py<PyAny>>> {
        if let Some(object) = self.take_lent(py, kind)? {
            return Ok(Some(object));
        }
        let _reading = self.mark_reading(py)?;
        if let Some(object) = self.try_take(py, kind)? {
            return Ok(Some(object));
        }
        let pages = self.lock_pages(py, None)?;
        let mut pages = block(py, filled(pages, kind.is_row()))?;
        let object = self.take(py, &mut pages, kind)?;
        if object.is_none() {
            pages.received_end();
        }
        Ok(object)
    }

    /// An awaitable of the next item.
    pub fn next_async<'py>(
        self: &Arc<Self>,
        py: Python<'py>,
        kind: &ItemKind,
        owner: Option<&Py<PyAny>>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let owner = owner.map(|owner| owner.clone_ref(py));
        let item = NextItem { state: self.clone(), kind: kind.clone(), owner };
        Operation::awaitable(py, Box::new(item))
    }

    /// Locks the pages for an operation that may have to wait for them: one of a thread, or one with a
    /// completion. The operations get the lock in the order in which they start.
    pub fn lock_pages(
        &self,
        py: Python<'_>,
        completion: Option<&Arc<Completion>>,
    ) -> PyResult<BoxFuture<'static, OwnedMutexGuard<Pages>>> {
        if let Some(completion) = completion {
            self.pending.register(py, completion)?;
        }
        let take_back = |mut pages: OwnedMutexGuard<Pages>| {
            pages.take_back();
            pages
        };
        // A forked child must not wait for the lock, not even for that of its queue.
        if let Ok(pages) = self.pages.clone().try_lock_owned() {
            return Ok(ready(take_back(pages)).boxed());
        }
        if self.process != process::id() {
            let text = "this pager was being read by another thread when the process was forked; \
                        make a new one from a checkpoint";
            return Err(raise(py, Error::config(text)));
        }
        if shutdown_gate::is_in_callback() {
            return Err(in_use(py));
        }
        let mut lock = self.pages.clone().lock_owned().boxed();
        // The first poll enters the queue.
        match lock.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(pages) => Ok(ready(take_back(pages)).boxed()),
            Poll::Pending if completion.is_some() => {
                Ok(self.pending.clone().wait_for(lock).map(take_back).boxed())
            }
            Poll::Pending => Ok(lock.map(take_back).boxed()),
        }
    }

    /// The next row, if it is made and its page is lent: see `Pages::lend`.
    #[inline(always)]
    fn take_lent(&self, py: Python<'_>, kind: &ItemKind) -> PyResult<Option<Py<PyAny>>> {
        let ItemKind::Row(view) = kind else { return Ok(None) };
        py.check_signals()?;
        Ok(view.receive_lent(&self.position))
    }

    /// The next item, if it is in memory and no operation has the pages locked.
    fn try_take(&self, py: Python<'_>, kind: &ItemKind) -> PyResult<Option<Py<PyAny>>> {
        match self.pages.try_lock() {
            Ok(mut pages) => {
                pages.take_back();
                self.take(py, &mut pages, kind)
            }
            Err(_) => Ok(None),
        }
    }

    /// The next item, if it is in memory. It is received only once it is a Python object, and only if
    /// no signal handler raised meanwhile.
    fn take(
        &self,
        py: Python<'_>,
        pages: &mut Pages,
        kind: &ItemKind,
    ) -> PyResult<Option<Py<PyAny>>> {
        let object = match kind {
            ItemKind::Row(view) => {
                pages.next_row().map(|(page, index)| view.object(py, page, index))
            }
            ItemKind::Page(view) | ItemKind::Batch(view, _) => pages.next_page().map(|slice| {
                view.check_names(py, &slice.page)?;
                let rows = Rows::new(vec![slice], self.listing.plan.fields.clone());
                let rows = rows.restricted_to(view.selection().cloned());
                match kind {
                    ItemKind::Batch(_, frame) => frame.batch(py, &rows),
                    _ => Records::from_rows(&view.shapes)(py, rows),
                }
            }),
        };
        let Some(object) = object else { return Ok(None) };
        let object = object.map_err(|error| self.with_checkpoint(py, error))?;
        py.check_signals()?;
        match kind {
            ItemKind::Row(_) => {
                pages.received_row();
                // `lock_pages` and `try_take` take the page back.
                pages.lend();
            }
            ItemKind::Page(_) | ItemKind::Batch(..) => pages.received_page(),
        }
        Ok(Some(object))
    }

    /// Sets the checkpoint of an error of boardlot's.
    pub fn with_checkpoint(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let value = error.value(py);
        if value.hasattr("checkpoint").unwrap_or(false) {
            // It only fails for an exception without settable attributes.
            let _ = value.setattr("checkpoint", self.checkpoint());
        }
        error
    }

    /// Marks the pager as being read by this thread, until the guard is dropped. Refuses if it is: a
    /// signal handler, hook or finalizer would wait for the code that it interrupted.
    pub fn mark_reading(self: &Arc<Self>, py: Python<'_>) -> PyResult<Reading> {
        let id = Arc::as_ptr(self) as usize;
        let is_new = READ_BY_THREAD.with_borrow_mut(|read| {
            let is_new = !read.contains(&id);
            if is_new {
                read.push(id);
            }
            is_new
        });
        if is_new { Ok(Reading(id)) } else { Err(in_use(py)) }
    }
}

thread_local! {
    /// The pagers that this thread is reading.
    static READ_BY_THREAD: RefCell<Vec<usize>> = const { RefCell::new(Vec::new()) };
}

/// This thread is reading a pager.
pub struct Reading(usize);

impl Drop for Reading {
    fn drop(&mut self) {
        READ_BY_THREAD.with_borrow_mut(|read| read.retain(|id| *id != self.0));
    }
}

fn in_use(py: Python<'_>) -> PyErr {
    let text = "this pager is being read by the code that waits for this signal handler, hook, \
                finalizer or constructor; here, use only checkpoint(), total or requests";
    raise(py, Error::config(text))
}

/// The locked pages with an item in memory, or at their end.
async fn filled(
    pages: BoxFuture<'static, OwnedMutexGuard<Pages>>,
    is_row: bool,
) -> Result<OwnedMutexGuard<Pages>> {
    let mut pages = pages.await;
    match is_row {
        true => pages.fill().await?,
        false => pages.fill_page().await?,
    };
    Ok(pages)
}

/// The operation of `__anext__`.
struct NextItem {
    state: Arc<PagerState>,
    kind: ItemKind,
    owner: Option<Py<PyAny>>,
}

impl Startable for NextItem {
    fn try_ready(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        match self.state.take_lent(py, &self.kind)? {
            Some(object) => Ok(Some(object)),
            None => self.state.try_take(py, &self.kind),
        }
    }

    fn start(
        self: Box<Self>,
        py: Python<'_>,
        completion: &Arc<Completion>,
    ) -> PyResult<BoxFuture<'static, Outcome>> {
        let NextItem { state, kind, .. } = *self;
        let pages = state.lock_pages(py, Some(completion))?;
        let is_row = kind.is_row();
        // The pages stay locked until the awaiting code resumes, so no other operation can take the
        // same item.
        let finish = move |py: Python<'_>, mut pages: OwnedMutexGuard<Pages>| {
            let object = state.take(py, &mut pages, &kind)?;
            if object.is_none() {
                pages.received_end();
            }
            Ok(object)
        };
        Ok(into_outcome(filled(pages, is_row), finish).boxed())
    }

    fn name(&self) -> String {
        let item = if self.kind.is_row() { "row" } else { "page" };
        format!("the next {item} of {}", self.state.listing.plan.request.label())
    }

    fn owner(&self) -> Option<&Py<PyAny>> {
        self.owner.as_ref()
    }
}
