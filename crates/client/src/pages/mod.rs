//! Iterations over lists that are returned in pages, exact to the record: the only pagination loop.
//!
//! A `Fetcher` requests pages and knows nothing of what was received; `Delivery` knows that and nothing
//! else. A record, a page or a result is looked at, converted, and received by a separate call once the
//! caller's code has it. If the caller is cancelled in between, or another caller is faster, it
//! retries. Locks are taken in this order: first the fetcher, then the delivery.

pub mod checkpoint;
mod cursor_history;
mod date_range;
mod delivery;
mod fetcher;
mod gather;
mod page_stream;
mod paged_call;
mod position;
mod records_call;
mod sink;
mod window;

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

pub use date_range::{PreviousRows, advance_range, drop_repeated};
pub use delivery::{Claim, Delivery, Gathering};
pub use fetcher::Fetcher;
pub use gather::{Limits, exhausted};
pub use page_stream::Source;
pub use paged_call::{PagedCall, WINDOWS_MAX, time_range};
pub use position::{Position, Ticket, Unit, View};
pub use records_call::RecordsCall;
pub use sink::{CheckedSink, Sink};
use tokio::sync::{Mutex, OwnedMutexGuard};

use crate::{
    decode::PageSlice,
    error::{Error, Result},
    os::process::PerProcess,
};

/// An iteration over a list: one page in memory, and one more being fetched for each window. Rows are
/// converted to `T`.
#[derive(Debug)]
pub struct Pages<T = ()> {
    source: Arc<dyn Source>,
    /// The call whose pages they are.
    pub call: Arc<PagedCall>,
    /// A child that is forked has one of its own: a thread of the parent may have had the lock.
    fetcher: PerProcess<Mutex<Fetcher>>,
    /// What the caller has received.
    pub delivery: Arc<Delivery<T>>,
    requests: Arc<AtomicU64>,
}

impl<T> Pages<T> {
    /// Starts from the beginning, or from a checkpoint of the same call.
    pub fn new(source: Arc<dyn Source>, call: PagedCall, resume: Option<&str>) -> Result<Self> {
        let position = resume
            .map(|text| checkpoint::read(text, &call, source.origin()))
            .transpose()
            .map_err(|error| error.with_endpoint(&call.plan.request.label))?;
        let range = call.plan.request.time_range.and_then(|range| range.known());
        let (call, requests) = (Arc::new(call), Arc::new(AtomicU64::default()));
        Ok(Pages {
            source,
            call,
            fetcher: PerProcess::new(),
            delivery: Arc::new(Delivery::new(position.unwrap_or_default(), range)),
            requests,
        })
    }

    /// The fetcher; locked while it fetches.
    pub fn fetcher(&self) -> Result<Arc<Mutex<Fetcher>>> {
        self.fetcher.get_or_make(|| {
            // Those of the parent receive nothing here.
            self.delivery.give_up_claims();
            let (source, call) = (self.source.clone(), self.call.clone());
            Ok(Mutex::new(Fetcher::new(source, call, self.requests.clone())))
        })
    }

    /// The number of pages that have been requested: can be read while a page is being fetched.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Relaxed)
    }

    /// The position as a small JSON string without secrets; an error if the service's cursor has one.
    pub fn checkpoint(&self) -> Result<String> {
        let position = match self.delivery.place() {
            (position, Some(page)) => self.call.marked(position, &page),
            (position, None) => position,
        };
        if let Some(cursor) = &position.cursor
            && self.source.redactor().is_in(cursor)
        {
            let text = "the service's cursor repeats a secret of this client, which a checkpoint must not \
                        contain: this position cannot be saved";
            let error = Error::pagination(text.to_owned()).with_advice(
                "Read the list without checkpoints, and report this to the service.".to_owned(),
            );
            return Err(error.with_endpoint(&self.call.plan.request.label));
        }
        Ok(checkpoint::write(&position, &self.call, self.source.origin()))
    }

    /// The error with the checkpoint to resume from, if there is one.
    pub fn with_checkpoint(&self, error: Error) -> Error {
        match self.checkpoint() {
            Ok(checkpoint) => error.with_checkpoint(checkpoint),
            Err(_) => error,
        }
    }

    /// Waits for the fetcher.
    pub async fn lock(&self) -> Result<OwnedMutexGuard<Fetcher>> {
        Ok(self.fetcher()?.lock_owned().await)
    }

    /// Makes sure that the next record or page is in memory, and claims it; none at the end of the list.
    pub async fn fill(&self, fetcher: &mut Fetcher, unit: Unit) -> Result<Option<Claim<T>>> {
        let filled = async {
            loop {
                self.start(fetcher).await?;
                self.delivery.wait_for_claims(unit).await;
                if let Some(claim) = self.delivery.claim(unit) {
                    return Ok(Some(claim));
                }
                if self.delivery.follows(fetcher.run) {
                    match fetcher.next_page(true).await? {
                        Some(page) => self.delivery.install(fetcher.run, page),
                        None => return Ok(None),
                    }
                }
            }
        };
        filled.await.map_err(|error| self.located(error))
    }

    /// The remaining records, up to the limits, in sinks that `sink` creates: one for each window, in
    /// the order of the list. They are received by `Gathering::receive`; the checkpoint of an error is
    /// the position before.
    pub async fn gather<S: Sink>(
        &self,
        fetcher: &mut Fetcher,
        limits: Limits,
        progress: &Arc<AtomicU64>,
        sink: impl Fn() -> S,
    ) -> Result<(Gathering<T>, Vec<S>)> {
        let gathered = async {
            let mut gathering = loop {
                if self.delivery.is_exhausted() {
                    return Err(exhausted());
                }
                self.start(fetcher).await?;
                self.delivery.wait_for_claims(Unit::Page).await;
                // If it fails midway, fetching starts again at the position.
                if let Some(gathering) = self.delivery.gather(fetcher.run, fetcher.new_run()) {
                    break gathering;
                }
            };
            let (all, rows) = (&mut gathering, progress);
            let sinks = match limits {
                Limits { items: None, pages: None } => {
                    gather::gather_all(fetcher, all, rows, sink).await?
                }
                limits => vec![gather::gather_up_to(fetcher, all, limits, rows, sink()).await?],
            };
            Ok((gathering, sinks))
        };
        gathered.await.map_err(|error| self.located(error))
    }

    /// Makes the fetcher continue after the position, unless it already does.
    async fn start(&self, fetcher: &mut Fetcher) -> Result<()> {
        self.delivery.wait_for_gathering().await;
        while let Some((receipts, position)) =
            self.delivery.start(fetcher.run, |at, page| self.call.marked(at, page))
        {
            let range = match (position.range, &self.call.time_range) {
                (Some(range), _) => Some(range),
                (None, None) => None,
                // An open range ends now, by the service's clock. Until the caller has received something,
                // each start resolves it again.
                (None, Some(range)) if range.is_open() => {
                    Some(range.resolve(self.source.now(&self.call).await?)?)
                }
                (None, Some(range)) => range.known(),
            };
            let run = fetcher.start(Position { range, ..position });
            if self.delivery.follow(receipts, run, range) {
                return Ok(());
            }
        }
        Ok(())
    }

    /// The error with the call and the checkpoint to resume from. It may be about a page that was received
    /// before, and show the beginning of it.
    fn located(&self, error: Error) -> Error {
        let error = error.redacted(&self.source.redactor());
        self.with_checkpoint(error.with_endpoint(&self.call.plan.request.label))
    }
}

/// Methods for callers without conversions: what is returned is received.
impl Pages {
    /// The next record; none at the end of the list.
    pub async fn next_row(&self) -> Result<Option<PageSlice>> {
        let look = |claim: &Claim<()>| {
            let (ticket, page, index) = self.delivery.next_row(Some(claim))?;
            Some((ticket, PageSlice { page, range: index..index + 1, key: None }))
        };
        self.next(Unit::Row, look).await
    }

    /// The remaining records of a page; none at the end of the list.
    pub async fn next_page(&self) -> Result<Option<PageSlice>> {
        self.next(Unit::Page, |claim| self.delivery.next_page(Some(claim))).await
    }

    async fn next(
        &self,
        unit: Unit,
        look: impl Fn(&Claim<()>) -> Option<(Ticket, PageSlice)>,
    ) -> Result<Option<PageSlice>> {
        while let Some(claim) = self.fill(&mut *self.lock().await?, unit).await? {
            if let Some((ticket, slice)) = look(&claim)
                && self.delivery.receive(ticket, unit)
            {
                return Ok(Some(slice));
            }
        }
        self.delivery.receive_end();
        Ok(None)
    }

    /// All records that remain.
    pub async fn rest(&self) -> Result<Vec<PageSlice>> {
        let (limits, progress) = (Limits::default(), Arc::default());
        loop {
            let mut fetcher = self.lock().await?;
            let gathered = self.gather(&mut fetcher, limits, &progress, Vec::new).await;
            let (mut gathering, slices) = gathered?;
            if gathering.receive(true) {
                return Ok(slices.concat());
            }
        }
    }
}
