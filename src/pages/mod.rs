//! Iterations over lists that are returned in pages, exact to the record: the only pagination loop.
//!
//! `Pages` fetches; `SharedPosition` records what the caller has received. A record, a page or a
//! result is first looked at (`next_row`, `next_page`, `gather`), and received by a separate call
//! (`received_row`, `received_page`, `received_all`) once the caller's code has it. If the caller is
//! cancelled in between, it gets the same again.

pub mod checkpoint;
mod cursor_history;
mod date_range;
mod gather;
mod listing;
mod page_stream;
mod position;
mod sink;
mod window;

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::AtomicU64},
};

pub use date_range::PreviousRows;
pub use gather::exhausted;
pub use listing::{Listing, PagingStyle, WINDOWS_MAX, time_range};
pub use page_stream::Source;
use page_stream::{FetchedPage, PageStream};
pub use position::{PageRow, Position, SharedPosition};
pub use sink::{CheckedSink, Sink};
use window::Window;

use crate::{
    decode::{Page, PageSlice},
    error::{Error, Result},
};

/// An iteration over a list: one page in memory, and one more being fetched for each window.
#[derive(Debug)]
pub struct Pages {
    source: Arc<dyn Source>,
    listing: Arc<Listing>,
    position: Arc<SharedPosition>,
    /// Whether the streams continue from the position.
    started: bool,
    /// The time range of the requests.
    range: Option<(i64, i64)>,
    /// The streams that are not at their end: the current window first, then the earlier ones.
    streams: VecDeque<PageStream>,
    /// The index of the current window.
    window: usize,
    current: Option<Current>,
    requests: Arc<AtomicU64>,
}

/// The page in memory.
#[derive(Debug)]
struct Current {
    fetched: FetchedPage,
    /// Whether nothing of it has been received, not even that it is empty.
    untouched: bool,
}

impl Pages {
    /// From the beginning, or from a checkpoint of the same call.
    pub fn new(source: Arc<dyn Source>, listing: Listing, resume: Option<&str>) -> Result<Self> {
        let position = resume
            .map(|text| checkpoint::read(text, &listing, source.origin()))
            .transpose()
            .map_err(|error| error.with_endpoint(listing.plan.request.label()))?;
        let position = SharedPosition::new(position.unwrap_or_default());
        position.set_range(listing.plan.request.time_range().and_then(|range| range.known()));
        Ok(Pages {
            source,
            listing: Arc::new(listing),
            position: Arc::new(position),
            started: false,
            range: None,
            streams: VecDeque::new(),
            window: 0,
            current: None,
            requests: Arc::default(),
        })
    }

    /// What is iterated over.
    pub fn listing(&self) -> &Arc<Listing> {
        &self.listing
    }

    /// The address of the service.
    pub fn origin(&self) -> &str {
        self.source.origin()
    }

    /// What the caller has received: can be read while a page is being fetched.
    pub fn position(&self) -> &Arc<SharedPosition> {
        &self.position
    }

    /// How many pages have been requested: can be read while a page is being fetched.
    pub fn requests(&self) -> &Arc<AtomicU64> {
        &self.requests
    }

    /// The position as a small JSON string without secrets.
    pub fn checkpoint(&self) -> String {
        checkpoint::write(&self.position.get(), &self.listing, self.origin())
    }

    /// Makes sure that the next record is in memory; false at the end of the list.
    pub async fn fill(&mut self) -> Result<bool> {
        let outcome = self.fill_until(|pages| pages.unread() > 0).await;
        outcome.map_err(|error| self.located(error))
    }

    /// Makes sure that a page, or its remaining records, is in memory; false at the end of the list.
    pub async fn fill_page(&mut self) -> Result<bool> {
        let outcome = self.fill_until(Pages::has_page).await;
        outcome.map_err(|error| self.located(error))
    }

    async fn fill_until(&mut self, filled: impl Fn(&Self) -> bool) -> Result<bool> {
        self.start().await?;
        while !filled(self) {
            if !self.advance(true).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next record, if it is in memory.
    pub fn next_row(&self) -> Option<(&Arc<Page>, usize)> {
        let FetchedPage { page, received, .. } = &self.in_memory()?.fetched;
        (*received < page.len()).then_some((page, *received))
    }

    /// The caller has received the next record.
    pub fn received_row(&mut self) {
        match &mut self.current {
            // Another record of the page follows: nothing else of the position changes.
            Some(Current { fetched, .. })
                if self.started
                    && fetched.published
                    && fetched.received + 1 < fetched.page.len() =>
            {
                fetched.received += 1;
                self.position.move_to_row(fetched.received);
            }
            _ => self.receive(1),
        }
    }

    /// Lets `SharedPosition::receive_lent` receive the records of the page in memory, until `take_back`.
    /// Without any lock, a row takes about a tenth less time.
    pub fn lend(&mut self) {
        if let Some(Current { fetched, .. }) = self.in_memory()
            && fetched.published
            && fetched.received < fetched.page.len()
        {
            self.position.lend(fetched.page.id());
        }
    }

    /// Continues from what was received of a lent page. Nothing else may be called while it is lent.
    pub fn take_back(&mut self) {
        if let (Some(row), Some(current)) = (self.position.take_back(), &mut self.current) {
            current.fetched.received = row;
        }
    }

    /// The remaining records of the page in memory.
    pub fn next_page(&self) -> Option<PageSlice> {
        let FetchedPage { page, received, .. } = &self.in_memory()?.fetched;
        self.has_page().then(|| PageSlice {
            page: page.clone(),
            range: *received..page.len(),
            key: None,
        })
    }

    /// The caller has received the remaining records of the page in memory.
    pub fn received_page(&mut self) {
        self.receive(usize::MAX);
    }

    /// The caller has received that there is nothing more. That the list has ended is for the service to
    /// say: before, there is only nothing more for now.
    pub fn received_end(&mut self) {
        self.publish();
        if self.is_at_end() {
            // An empty last page was passed by.
            self.current = None;
            self.position.set_exhausted();
        }
    }

    /// Whether the service has said that the list ends after what has been read.
    fn is_at_end(&self) -> bool {
        let has_next = |stream: &PageStream| stream.next_page().is_some();
        self.started
            && self.unread() == 0
            && self.streams.len() <= 1
            && !self.streams.front().is_some_and(has_next)
    }

    /// The page in memory, unless it is of a result that was not received.
    fn in_memory(&self) -> Option<&Current> {
        self.current.as_ref().filter(|_| self.started)
    }

    fn receive(&mut self, most: usize) {
        if self.started && self.take_slice(most).is_some() {
            self.publish();
        }
    }

    /// Moves the position to where this iteration is.
    fn publish(&mut self) {
        let mut position =
            Position { range: self.range, window: self.window, ..Position::default() };
        let Some(stream) = self.streams.front() else { return };
        let unread = self.unread() > 0;
        let current = self.current.as_mut().filter(|_| unread);
        match (current, stream.next_page()) {
            (Some(Current { fetched, .. }), _) => {
                fetched.published = true;
                position.cursor.clone_from(&fetched.cursor);
                position.previous_rows = fetched.previous_rows.clone();
                position.row = fetched.received;
            }
            (None, Some((cursor, row))) => {
                position.cursor = cursor.map(str::to_owned);
                position.previous_rows = stream.previous_rows().clone();
                position.row = row;
            }
            // The first page of the next window.
            (None, None) if self.streams.len() > 1 => {
                position.window += 1;
                return self.position.move_to(position, &[]);
            }
            (None, None) => position.done = true,
        }
        self.position.move_to(position, stream.used_cursors());
    }

    fn unread(&self) -> usize {
        let fetched = self.current.as_ref().map(|current| &current.fetched);
        fetched.map_or(0, |fetched| fetched.page.len() - fetched.received)
    }

    fn has_page(&self) -> bool {
        self.unread() > 0 || self.current.as_ref().is_some_and(|current| current.untouched)
    }

    fn take_slice(&mut self, most: usize) -> Option<PageSlice> {
        let unread = self.unread();
        let current = self.current.as_mut()?;
        let FetchedPage { page, received, .. } = &mut current.fetched;
        let end = *received + unread.min(most);
        let range = std::mem::replace(received, end)..end;
        current.untouched = false;
        Some(PageSlice { page: page.clone(), range, key: None })
    }

    /// Puts the next page into memory; false at the end of the list.
    async fn advance(&mut self, prefetch: bool) -> Result<bool> {
        loop {
            if prefetch {
                self.streams.iter_mut().for_each(PageStream::prefetch);
            }
            let Some(stream) = self.streams.front_mut() else { return Ok(false) };
            let Some(outcome) = stream.fetch().await else {
                if self.streams.len() <= 1 {
                    return Ok(false);
                }
                self.streams.pop_front();
                self.window += 1;
                self.current = None;
                continue;
            };
            let page = outcome?;
            self.position.set_total(page.pagination("total").and_then(|v| v.as_integer()));
            let Some(stream) = self.streams.front_mut() else { return Ok(false) };
            let fetched = stream.accept(page)?;
            if prefetch {
                stream.prefetch();
            }
            self.current = Some(Current { untouched: fetched.received == 0, fetched });
            return Ok(true);
        }
    }

    /// Starts from the position, unless it has been started and each result has been received since.
    async fn start(&mut self) -> Result<()> {
        if self.started {
            return Ok(());
        }
        let position = self.position.get();
        self.range = match (position.range, &self.listing.time_range) {
            (Some(range), _) => Some(range),
            (None, None) => None,
            // An open range ends now, by the service's clock. Until the caller has received something,
            // each start resolves it again.
            (None, Some(range)) if range.is_open() => {
                let now_ms = self.source.now_ms(&self.listing).await?;
                Some(range.resolve(now_ms.saturating_mul(1_000))?)
            }
            (None, Some(range)) => range.known(),
        };
        self.position.set_range(self.range);
        let windows = match self.range {
            Some(range) if self.listing.windows > 1 => window::split(range, self.listing.windows),
            _ => Vec::new(),
        };
        let stream = |window: Option<Window>| {
            let (source, listing) = (self.source.clone(), self.listing.clone());
            PageStream::new(source, listing, self.range, window, self.requests.clone())
        };
        self.window = position.window.min(windows.len().saturating_sub(1));
        self.streams = windows.into_iter().skip(self.window).map(|w| stream(Some(w))).collect();
        if self.streams.is_empty() {
            self.streams.push_back(stream(None));
        }
        if let Some(first) = self.streams.front_mut() {
            first.seek(position);
        }
        self.current = None;
        self.started = true;
        Ok(())
    }

    /// The error with the call and the checkpoint to resume from. It may be about a page that was received
    /// before, and show the beginning of it.
    fn located(&self, error: Error) -> Error {
        let error = error.redacted(&self.source.redactor());
        error.with_endpoint(self.listing.plan.request.label()).with_checkpoint(self.checkpoint())
    }
}
