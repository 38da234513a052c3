//! Lists that are returned in pages. This is the only pagination loop.
//!
//! A page knows the page that follows it. The modules here do not remember which records were
//! received: the caller keeps the position, as a page and a number of its records.

mod borders;
pub mod checkpoint;
mod collect;
mod cursor_history;
mod date_range;
mod default_windows;
mod link;
mod list;
mod listed_page;
mod listing;
mod pace;
mod paged_call;
mod part;
mod position;
mod record_stream;
mod records_call;
mod shared;
mod sink;
mod source;
mod window;

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicU64, Ordering},
};

use futures_util::{FutureExt, Stream, stream::try_unfold};
use tokio::sync::Semaphore;

pub use collect::{Limits, PagePosition};
pub use date_range::{PreviousRows, advance_range, drop_repeated};
pub use listed_page::{Failure, ListedPage};
pub use listing::{Listing, ListingOfKeys};
pub use paged_call::{PagedCall, WINDOWS_MAX, Windows, check_windows, time_range};
pub use position::Position;
pub use record_stream::{OwnedRecord, RecordStream};
pub use records_call::RecordsCall;
pub use sink::{CheckedSink, Sink};
pub use source::{Permitted, Source};

use self::{
    collect::{collect_all, collect_up_to},
    default_windows::{choose, is_promising},
    link::Link,
    list::List,
    shared::{Known, Shared},
};
use crate::{
    decode::PageSlice,
    error::{Error, Result},
    os::process,
};

/// The pages of a list. Each page is requested through the one before it, and one more is
/// prefetched for each part of the list that is read.
pub struct Pages {
    shared: Arc<Shared>,
    /// The position at which the iteration begins.
    start: Position,
    /// True if `start` is the position of a checkpoint.
    is_resumed: bool,
    /// The list, once its time range is fixed.
    list: Link<Arc<List>>,
    /// The first page.
    first: Link<Option<Arc<ListedPage>>>,
    /// The process that created this. A forked child has none of its requests.
    process: u32,
}

boardlot_service::shown_as!(Pages, |this| "Pages({})", this.shared.listing.label());

impl Pages {
    /// Creates the pages from the beginning, or from a checkpoint of the same call. Sends nothing.
    #[doc(hidden)]
    pub fn new(
        source: Arc<dyn Source>,
        listing: impl Into<Listing>,
        resume: Option<&str>,
    ) -> Result<Self> {
        Pages::with_permits(source, listing, resume, None)
    }

    /// Creates the pages of one of several lists, which share a limit on concurrent requests.
    #[doc(hidden)]
    pub fn with_permits(
        source: Arc<dyn Source>,
        listing: impl Into<Listing>,
        resume: Option<&str>,
        permits: Option<Arc<Semaphore>>,
    ) -> Result<Self> {
        let listing = listing.into();
        let is_resumed = resume.is_some();
        let start = resume
            .map(|text| checkpoint::read(text, &listing, source.origin()))
            .transpose()
            .map_err(|error| error.with_endpoint(listing.label()))?
            .unwrap_or_default();
        let range = start.range.or(listing.given_range());
        let known = Known { range, ..Known::default() };
        let (requests, failed_attempts) = (AtomicU64::default(), AtomicU64::default());
        let known = Mutex::new(known);
        let shared = Shared { source, listing, requests, failed_attempts, permits, known };
        Ok(Pages {
            shared: Arc::new(shared),
            start,
            is_resumed,
            list: Link::default(),
            first: Link::default(),
            process: process::id(),
        })
    }

    /// Returns the list that is read.
    #[doc(hidden)]
    pub fn listing(&self) -> &Listing {
        &self.shared.listing
    }

    /// Returns the time range that is read, in microseconds since 1970. None until it is known, or
    /// if the list has none.
    pub fn range(&self) -> Option<(i64, i64)> {
        self.shared.known().range
    }

    /// Returns the total number of records, if the service has returned it.
    pub fn total(&self) -> Option<i64> {
        self.shared.known().total
    }

    /// Returns the number of pages that have been requested.
    pub fn requests(&self) -> u64 {
        self.shared.requests.load(Ordering::Relaxed)
    }

    /// Returns the page after this one (without a page, the first one); none at the end of the
    /// list. For the same page, it always returns the same next page. A wait that is dropped leaves
    /// the request running, and the next wait finds its page.
    ///
    /// # Errors
    ///
    /// The error of the request, with the checkpoint of the end of this page. A later call requests
    /// the page again.
    pub async fn after(&self, page: Option<&ListedPage>) -> Result<Option<Arc<ListedPage>>> {
        let found = self.next(page, true).await;
        found.map_err(|error| self.located(error, page, page.map_or(0, ListedPage::len)))
    }

    /// Returns the pages as a stream, from the first one on.
    pub fn stream(&self) -> impl Stream<Item = Result<Arc<ListedPage>>> + '_ {
        try_unfold(None, move |before: Option<Arc<ListedPage>>| async move {
            let next = self.after(before.as_deref()).await?;
            Ok(next.map(|page| (page.clone(), Some(page))))
        })
    }

    /// Returns all records, from the first page on.
    #[doc(hidden)]
    pub async fn rest(&self) -> Result<Vec<PageSlice>> {
        let from = PagePosition::default();
        let collected = self.collect(&from, Limits::default(), &Arc::default(), Vec::new).await;
        collected.map(|(slices, _)| slices.concat())
    }

    /// Collects the records after a place, up to the limits, in sinks that `sink` creates: one for
    /// each part, in the order of the list. Also returns the place where the records end. Changes
    /// nothing: after a failure or a drop, it can be called again. `progress` counts the records.
    ///
    /// # Errors
    ///
    /// The error of a request or of a sink, with the checkpoint of the position.
    #[doc(hidden)]
    pub async fn collect<S: Sink>(
        &self,
        from: &PagePosition,
        limits: Limits,
        progress: &Arc<AtomicU64>,
        sink: impl Fn() -> S,
    ) -> Result<(Vec<S>, PagePosition)> {
        let collected = async {
            self.check_process()?;
            if limits.items.is_some() || limits.pages.is_some() {
                let first = async || self.next(None, false).await;
                let collected = collect_up_to(from, first, limits, progress, sink()).await;
                return collected.map(|(sink, end)| (vec![sink], end));
            }
            if from.page.is_none()
                && let Some(collected) = self.collect_in_windows(progress, &sink).await?
            {
                return Ok(collected);
            }
            let (list, begun) = match &from.page {
                Some(page) => (page.list().clone(), Some((page.clone(), from.row))),
                // Each key begins as in a list of its own, unless a page of the keys was requested.
                None if self.shared.listing.keys.is_some() && !self.first.is_begun() => {
                    (self.list().await?, None)
                }
                None => match self.next(None, true).await? {
                    Some(page) => (page.list().clone(), Some((page.clone(), page.first()))),
                    None => return Ok((Vec::new(), PagePosition::default())),
                },
            };
            collect_all(&list, begun, progress, sink).await
        };
        let collected = collected.await;
        collected.map_err(|error| self.located(error, from.page.as_deref(), from.row))
    }

    /// Returns the position of a place.
    #[doc(hidden)]
    pub fn position(&self, place: &PagePosition) -> Position {
        match &place.page {
            Some(page) => page.position(place.row),
            None => self.start.clone(),
        }
    }

    /// Returns the exact position of a place, as a small JSON string without secrets. Fails if the
    /// service's cursor has a secret.
    #[doc(hidden)]
    pub fn checkpoint(&self, place: &PagePosition) -> Result<String> {
        checkpoint::write(&self.position(place), &self.shared)
    }

    /// Adds the checkpoint of a place to an error, if there is one.
    #[doc(hidden)]
    pub fn with_checkpoint(&self, error: Error, place: &PagePosition) -> Error {
        match self.checkpoint(place) {
            Ok(checkpoint) => error.with_checkpoint(checkpoint),
            Err(_) => error,
        }
    }

    /// Fails in a forked child of the process that created this.
    #[doc(hidden)]
    pub fn check_process(&self) -> Result<()> {
        match self.process == process::id() {
            true => Ok(()),
            false => Err(Error::misuse(
                "this pager belongs to the parent process; create another one from its checkpoint()",
                "Pass the checkpoint as `resume` to the same call.",
            )),
        }
    }

    /// Returns the page after this one. If `ahead`, requests the pages that the caller may ask for
    /// next, too.
    async fn next(
        &self,
        page: Option<&ListedPage>,
        ahead: bool,
    ) -> Result<Option<Arc<ListedPage>>> {
        self.check_process()?;
        let found = match page {
            Some(page) => {
                // A caller with this page needs no other way to it.
                self.first.clear();
                page.next().await?
            }
            None => self.first(ahead).await?,
        };
        if let (Some(page), true) = (&found, ahead) {
            page.request_ahead();
        }
        Ok(found)
    }

    async fn first(&self, ahead: bool) -> Result<Option<Arc<ListedPage>>> {
        let list = self.list().await?;
        if ahead {
            list.request_ahead(0);
        }
        let first = || ListedPage::first_of(list, 0, Arc::default()).boxed();
        self.first.wait(self.first.begin(first)).await
    }

    /// Collects all records of a list that was not begun, in windows that the caller did not ask
    /// for. None if one cursor has to read it from the first page on: because one cursor is the
    /// better choice, or because windows have failed in any way. One cursor may be able to read
    /// what windows cannot.
    async fn collect_in_windows<S: Sink>(
        &self,
        progress: &Arc<AtomicU64>,
        sink: &impl Fn() -> S,
    ) -> Result<Option<(Vec<S>, PagePosition)>> {
        if self.is_resumed || !self.shared.listing.may_be_in_windows() {
            return Ok(None);
        }
        let first = self.next(None, false).await?;
        let Some(first) = first.filter(|first| is_promising(first)) else { return Ok(None) };
        let before = progress.load(Ordering::Relaxed);
        let collected = async {
            match choose(&first).await? {
                Some(windows) => collect_all(&windows, None, progress, sink).await,
                None => {
                    let begun = Some((first.clone(), first.first()));
                    collect_all(first.list(), begun, progress, sink).await
                }
            }
        };
        let error = match collected.await {
            Ok(collected) => return Ok(Some(collected)),
            Err(error) => error,
        };
        if let Some(call) = self.shared.listing.valid_call() {
            self.shared.source.pause(call, &self.shared.located(error)).await;
        }
        progress.store(before, Ordering::Relaxed);
        self.first.clear();
        first.list().forget_first(0);
        Ok(None)
    }

    /// Returns the list. An open time range is fixed now.
    async fn list(&self) -> Result<Arc<List>> {
        let (shared, start) = (self.shared.clone(), self.start.clone());
        let opened = || async move { List::open(shared, start).await }.boxed();
        self.list.wait(self.list.begin(opened)).await
    }

    /// Adds the call and the checkpoint to resume from to an error. The error may be about a page
    /// that was received earlier, and show the beginning of that page.
    fn located(&self, error: Error, page: Option<&ListedPage>, row: usize) -> Error {
        let error = self.shared.located(error);
        let position = page.map_or_else(|| self.start.clone(), |page| page.position(row));
        match checkpoint::write(&position, &self.shared) {
            Ok(checkpoint) => error.with_checkpoint(checkpoint),
            Err(_) => error,
        }
    }
}
