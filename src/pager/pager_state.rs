//! State shared by a pager and its iterators: rows and pages are looked at, converted, and only
//! then received.

use std::{
    cell::RefCell,
    future::ready,
    sync::Arc,
    task::{Context, Poll, Waker},
};

use futures_util::{FutureExt, future::BoxFuture};
use tokio::sync::OwnedMutexGuard;

use super::row_view::RowView;
use crate::prelude::*;
use crate::{
    calls::{
        blocking::block,
        completion::{Completed, Finished, Startable},
        operation::Operation,
        progress::CountFn,
    },
    interpreter::{attachment, callback::no_stop_iteration, errors::is_own},
    rows::{frame::FrameTarget, records::Records},
};
use boardlot_client::{
    decode::{PageSlice, Rows},
    os::process,
    pages::{Claim, Delivery, Fetcher, Limits, Pages, Unit},
};

pub struct PagerState {
    pub pages: Pages<Py<PyAny>>,
    /// The process that made it.
    process: u32,
}

/// The items that an iterator returns.
#[derive(Clone)]
pub enum ItemKind {
    Row(Arc<RowView>),
    /// A page as `Records`.
    Page(Arc<RowView>),
    /// A page as a record batch.
    Batch(Arc<RowView>, FrameTarget),
}

impl ItemKind {
    pub fn unit(&self) -> Unit {
        match self {
            ItemKind::Row(_) => Unit::Row,
            ItemKind::Page(_) | ItemKind::Batch(..) => Unit::Page,
        }
    }
}

impl PagerState {
    pub fn new(pages: Pages<Py<PyAny>>) -> Arc<Self> {
        Arc::new(PagerState { pages, process: process::id() })
    }

    /// The state of what the caller has received. Never waits for a request.
    pub fn delivery(&self, py: Python<'_>) -> PyResult<&Arc<Delivery<Py<PyAny>>>> {
        let delivery = &self.pages.delivery;
        if self.process != process::id() && delivery.is_stuck_after_fork() {
            return Err(forked(py));
        }
        Ok(delivery)
    }

    /// The position of the caller.
    pub fn checkpoint(&self, py: Python<'_>) -> PyResult<String> {
        self.delivery(py)?;
        self.pages.checkpoint().or_raise(py)
    }

    /// The number of rows that a call with these limits will return, once the service has reported
    /// the total.
    ///
    /// From the middle of a list, the total is not what remains: a cursor is not a row number.
    pub fn expected_rows(&self, py: Python<'_>, limits: Limits) -> PyResult<CountFn> {
        let delivery = self.delivery(py)?.clone();
        let position = delivery.position();
        let received = position.cursor.is_none().then_some(position.row as u64);
        let most = limits.items.map(|limit| limit as u64);
        let is_whole = limits.pages.is_none();
        Ok(Box::new(move || {
            let total = delivery.total().filter(|_| is_whole).and_then(|n| u64::try_from(n).ok());
            let rest = total.zip(received).map(|(total, received)| total.saturating_sub(received));
            most.into_iter().chain(rest).min()
        }))
    }

    /// Waits for the next item; `None` at the end of the list.
    pub fn next(self: &Arc<Self>, py: Python<'_>, kind: &ItemKind) -> PyResult<Option<Py<PyAny>>> {
        self.next_item(py, kind).map_err(|error| no_stop_iteration(py, error))
    }

    #[inline(always)]
    fn next_item(self: &Arc<Self>, py: Python<'_>, kind: &ItemKind) -> PyResult<Option<Py<PyAny>>> {
        if let Some(object) = self.receive_ready(py, kind, None)? {
            return Ok(Some(object));
        }
        self.or_end(self.wait(py, kind.unit(), |own| self.receive(py, kind, own)))
    }

    /// Waits for the next page and converts it; `None` at the end of the list. It is received only once
    /// it is converted.
    pub fn next_page<T>(
        self: &Arc<Self>,
        py: Python<'_>,
        convert: impl Fn(PageSlice) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        self.or_end(self.wait(py, Unit::Page, |own| self.receive_page(py, own, &convert)))
    }

    /// Waits until a page with records is in memory, which nobody receives by that; `None` at the end of
    /// the list, of which the caller is not informed by that either.
    pub fn look_ahead(self: &Arc<Self>, py: Python<'_>) -> PyResult<Option<PageSlice>> {
        self.wait(py, Unit::Page, |own| {
            let delivery = self.delivery(py)?;
            while let Some((ticket, slice)) = delivery.next_page(own) {
                if !slice.range.is_empty() {
                    return Ok(Some(slice));
                }
                // A page without records is passed by.
                delivery.receive(ticket, Unit::Page);
            }
            Ok(None)
        })
    }

    /// Waits until `receive` finds what it looks for in memory; `None` at the end of the list.
    #[inline(always)]
    fn wait<T>(
        self: &Arc<Self>,
        py: Python<'_>,
        unit: Unit,
        receive: impl Fn(Option<&Claim<Py<PyAny>>>) -> PyResult<Option<T>>,
    ) -> PyResult<Option<T>> {
        let _reading = self.mark_reading(py)?;
        let mut claim = None;
        loop {
            if let Some(value) = receive(claim.as_ref())? {
                return Ok(Some(value));
            }
            drop(claim);
            let fetcher = self.lock_fetcher(py)?;
            let fill = async { self.pages.fill(&mut *fetcher.await, unit).await };
            claim = block(py, fill)?;
            if claim.is_none() {
                return Ok(None);
            }
        }
    }

    /// The caller knows by `None` that the list has ended.
    fn or_end<T>(&self, next: PyResult<Option<T>>) -> PyResult<Option<T>> {
        if let Ok(None) = next {
            self.pages.delivery.receive_end();
        }
        next
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

    /// Reports the rows that are converted and not received, as their only holder.
    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.pages.delivery.look_at_ready(|rows| rows.iter().try_for_each(|row| visit.call(row)))
    }

    /// Locks the fetcher, in the order in which this is called.
    pub fn lock_fetcher(
        &self,
        py: Python<'_>,
    ) -> PyResult<BoxFuture<'static, OwnedMutexGuard<Fetcher>>> {
        let fetcher = self.pages.fetcher().or_raise(py)?;
        if let Ok(locked) = fetcher.clone().try_lock_owned() {
            return Ok(ready(locked).boxed());
        }
        if attachment::is_in_callback() {
            return Err(in_use(py));
        }
        let mut lock = fetcher.lock_owned().boxed();
        // The first poll enters the queue.
        match lock.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(locked) => Ok(ready(locked).boxed()),
            Poll::Pending => Ok(lock),
        }
    }

    /// The next row, if it is converted.
    #[inline(always)]
    fn receive_ready(
        &self,
        py: Python<'_>,
        kind: &ItemKind,
        own: Option<&Claim<Py<PyAny>>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let ItemKind::Row(view) = kind else { return Ok(None) };
        py.check_signals()?;
        Ok(self.delivery(py)?.receive_ready(view.number, own))
    }

    /// The next item, if it is in memory. It is received only once it is a Python object, and only if
    /// no signal handler raised meanwhile.
    fn receive(
        &self,
        py: Python<'_>,
        kind: &ItemKind,
        own: Option<&Claim<Py<PyAny>>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        let delivery = self.delivery(py)?;
        loop {
            let received = match kind {
                ItemKind::Row(view) => {
                    let Some((ticket, page, index)) = delivery.next_row(own) else {
                        return Ok(None);
                    };
                    let objects = view.objects(py, &page, index);
                    let objects = objects.map_err(|error| self.with_checkpoint(py, error))?;
                    py.check_signals()?;
                    delivery.receive_converted(ticket, view.number, objects)
                }
                ItemKind::Page(view) | ItemKind::Batch(view, _) => {
                    let object = |slice| self.page_object(py, kind, view, slice);
                    return self.receive_page(py, own, &object);
                }
            };
            // Somebody else was faster: look again.
            if received.is_some() {
                return Ok(received);
            }
        }
    }

    /// The next page, if it is in memory. It is received only once it is converted.
    fn receive_page<T>(
        &self,
        py: Python<'_>,
        own: Option<&Claim<Py<PyAny>>>,
        convert: &impl Fn(PageSlice) -> PyResult<T>,
    ) -> PyResult<Option<T>> {
        let delivery = self.delivery(py)?;
        while let Some((ticket, slice)) = delivery.next_page(own) {
            let value = convert(slice).map_err(|error| self.with_checkpoint(py, error))?;
            py.check_signals()?;
            if delivery.receive(ticket, Unit::Page) {
                return Ok(Some(value));
            }
        }
        Ok(None)
    }

    fn page_object(
        &self,
        py: Python<'_>,
        kind: &ItemKind,
        view: &RowView,
        slice: PageSlice,
    ) -> PyResult<Py<PyAny>> {
        view.check_names(py, &slice.page)?;
        let rows = Rows::new(vec![slice], self.pages.call.plan.fields.clone());
        let rows = rows.restricted_to(view.selection().cloned());
        match kind {
            ItemKind::Batch(_, frame) => frame.batch(py, &rows),
            ItemKind::Row(_) | ItemKind::Page(_) => Records::from_rows(&view.builders)(py, rows),
        }
    }

    /// Sets the checkpoint of an error of boardlot's, unless it has one: a constructor of the caller's may
    /// have raised the error of another list.
    pub fn with_checkpoint(&self, py: Python<'_>, error: PyErr) -> PyErr {
        let value = error.value(py);
        let lacks_one = || value.getattr("checkpoint").is_ok_and(|checkpoint| checkpoint.is_none());
        if is_own(py, &error) && lacks_one() {
            // It only fails for a subclass without settable attributes.
            let _ = value.setattr("checkpoint", self.pages.checkpoint().ok());
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
    raise(py, Error::misuse(text, "Read the pager after that code has returned."))
}

fn forked(py: Python<'_>) -> PyErr {
    let text = "this pager was being read by another thread when the process was forked; make a new \
                one from a checkpoint";
    raise(py, Error::misuse(text, "Take `checkpoint()` before the fork, and pass it as `resume=`."))
}

/// The operation of `__anext__`.
struct NextItem {
    state: Arc<PagerState>,
    kind: ItemKind,
    owner: Option<Py<PyAny>>,
}

impl NextItem {
    fn receive(
        &self,
        py: Python<'_>,
        own: Option<&Claim<Py<PyAny>>>,
    ) -> PyResult<Option<Py<PyAny>>> {
        if let Some(object) = self.state.receive_ready(py, &self.kind, own)? {
            return Ok(Some(object));
        }
        let _reading = self.state.mark_reading(py)?;
        self.state.receive(py, &self.kind, own)
    }
}

impl Startable for NextItem {
    fn try_ready(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        self.receive(py, None)
    }

    fn start(self: Box<Self>, py: Python<'_>) -> PyResult<BoxFuture<'static, Finished>> {
        let fetcher = self.state.lock_fetcher(py)?;
        let (state, unit) = (self.state.clone(), self.kind.unit());
        let finish = move |py: Python<'_>, claim: Option<Claim<Py<PyAny>>>| {
            if claim.is_none() {
                self.state.pages.delivery.receive_end();
                return Ok(Completed::AtEnd);
            }
            // None if another caller received it.
            let received = self.receive(py, claim.as_ref())?;
            Ok(received.map_or_else(|| Completed::Again(self), Completed::With))
        };
        let work = async move {
            let mut fetcher = fetcher.await;
            let filled = state.pages.fill(&mut fetcher, unit).await;
            // The next in line is woken next.
            Finished { held: Some(Box::new(fetcher)), ..Finished::new(filled, finish) }
        };
        Ok(work.boxed())
    }

    fn name(&self) -> String {
        let item = match self.kind.unit() {
            Unit::Row => "row",
            Unit::Page => "page",
        };
        format!("the next {item} of {}", &self.state.pages.call.plan.request.label)
    }

    fn owner(&self) -> Option<&Py<PyAny>> {
        self.owner.as_ref()
    }
}
