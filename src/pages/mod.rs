//! Iterations over lists that come in pages, exact to the record: the only pagination loop.
//!
//! `Pages` fetches; `Standing` says what the caller has received. A record, a page or a result is
//! first looked at (`next_row`, `next_page`, `gather`), and received by a call of its own
//! (`received_row`, `received_page`, `received_all`) once the caller's code has it. Whatever is given
//! up in between is still to come.

pub mod checkpoint;
mod cursor_history;
mod date_range;
mod gather;
mod listing;
mod page_stream;
mod position;
mod window;

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::AtomicU64},
};

pub use date_range::{DateRange, NextEnd, PreviousRows};
pub use gather::{Sink, exhausted};
pub use listing::{Listing, PagingStyle, TimeRange};
pub use page_stream::Source;
use page_stream::{FetchedPage, PageStream};
pub use position::{Position, Standing};
use window::Window;

use crate::{
    decode::{Page, PageSlice},
    error::{Error, Result},
};

/// The most windows that a range is split into.
pub const WINDOWS_MAX: usize = 64;

/// An iteration over a list: one page in memory, and one more under way for each window.
#[derive(Debug)]
pub struct Pages {
    source: Arc<dyn Source>,
    listing: Arc<Listing>,
    standing: Arc<Standing>,
    /// Whether what follows has been set out from where the caller stands.
    under_way: bool,
    /// The time range that the requests ask for.
    range: Option<(i64, i64)>,
    /// What is yet to be read: the current window first, then the earlier ones.
    streams: VecDeque<PageStream>,
    /// The number of the first of them.
    window: usize,
    current: Option<Current>,
    requests: Arc<AtomicU64>,
}

#[derive(Debug)]
struct Current {
    arrived: FetchedPage,
    /// Whether nothing of it was received yet, not even that it is empty.
    fresh: bool,
}

impl Pages {
    /// From the beginning, or from a checkpoint of the same call.
    pub fn new(source: Arc<dyn Source>, listing: Listing, resume: Option<&str>) -> Result<Self> {
        let position = resume
            .map(|text| checkpoint::read(text, &listing, source.origin()))
            .transpose()
            .map_err(|error| error.with_endpoint(&listing.draft.label))?;
        Ok(Pages {
            source,
            listing: Arc::new(listing),
            standing: Arc::new(Standing::at(position.unwrap_or_default())),
            under_way: false,
            range: None,
            streams: VecDeque::new(),
            window: 0,
            current: None,
            requests: Arc::default(),
        })
    }

    pub fn listing(&self) -> &Arc<Listing> {
        &self.listing
    }

    /// The address of the service.
    pub fn origin(&self) -> &str {
        self.source.origin()
    }

    /// Where the caller stands: can be read while a page is under way.
    pub fn standing(&self) -> &Arc<Standing> {
        &self.standing
    }

    /// How many pages were asked for: can be read while a page is under way.
    pub fn requests(&self) -> &Arc<AtomicU64> {
        &self.requests
    }

    /// Where the caller stands, as a small JSON text without secrets.
    pub fn checkpoint(&self) -> String {
        checkpoint::write(&self.standing.position(), &self.listing, self.origin())
    }

    /// Makes sure that the next record is in memory; false at the end of the list.
    pub async fn fill(&mut self) -> Result<bool> {
        let outcome = self.fill_until(|pages| pages.unread() > 0).await;
        outcome.map_err(|error| self.located(error))
    }

    /// Makes sure that a page, or the rest of one, is in memory; false at the end of the list.
    pub async fn fill_page(&mut self) -> Result<bool> {
        let outcome = self.fill_until(Pages::has_page).await;
        outcome.map_err(|error| self.located(error))
    }

    async fn fill_until(&mut self, filled: impl Fn(&Self) -> bool) -> Result<bool> {
        self.set_out().await?;
        while !filled(self) {
            if !self.advance(true).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next record, if it is in memory.
    pub fn next_row(&self) -> Option<(Arc<Page>, usize)> {
        let FetchedPage { page, read, .. } = &self.in_memory()?.arrived;
        (*read < page.len()).then(|| (page.clone(), *read))
    }

    /// The caller has received the next record.
    pub fn received_row(&mut self) {
        self.receive(1);
    }

    /// What is left of the page in memory.
    pub fn next_page(&self) -> Option<PageSlice> {
        let FetchedPage { page, read, .. } = &self.in_memory()?.arrived;
        self.has_page().then(|| PageSlice {
            page: page.clone(),
            range: *read..page.len(),
            key: None,
        })
    }

    /// The caller has received what was left of the page in memory.
    pub fn received_page(&mut self) {
        self.receive(usize::MAX);
    }

    /// The caller has learned that nothing is left.
    pub fn received_end(&mut self) {
        self.publish();
        self.standing.set_exhausted();
    }

    /// The page in memory, unless that is of an iteration which was given up.
    fn in_memory(&self) -> Option<&Current> {
        self.current.as_ref().filter(|_| self.under_way)
    }

    fn receive(&mut self, most: usize) {
        if self.under_way && self.take_slice(most).is_some() {
            match self.current.as_ref().filter(|_| self.unread() > 0) {
                Some(Current { arrived, .. }) if arrived.published => {
                    self.standing.move_to_row(arrived.read);
                }
                _ => self.publish(),
            }
        }
    }

    /// Makes the place that this iteration has reached the one where the caller stands.
    fn publish(&mut self) {
        let mut position =
            Position { range: self.range, window: self.window, ..Position::default() };
        let Some(stream) = self.streams.front() else { return };
        let unread = self.unread() > 0;
        let current = self.current.as_mut().filter(|_| unread);
        match (current, stream.upcoming()) {
            (Some(Current { arrived, .. }), _) => {
                arrived.published = true;
                position.cursor.clone_from(&arrived.cursor);
                position.previous_rows = arrived.previous_rows.clone();
                position.row = arrived.read;
            }
            (None, Some((cursor, row))) => {
                position.cursor = cursor.map(str::to_owned);
                position.previous_rows = stream.previous_rows().clone();
                position.row = row;
            }
            // The first page of the next window.
            (None, None) if self.streams.len() > 1 => {
                position.window += 1;
                return self.standing.move_to(position, &[]);
            }
            (None, None) => position.done = true,
        }
        self.standing.move_to(position, stream.used_cursors());
    }

    fn unread(&self) -> usize {
        let arrived = self.current.as_ref().map(|current| &current.arrived);
        arrived.map_or(0, |arrived| arrived.page.len() - arrived.read)
    }

    fn has_page(&self) -> bool {
        self.unread() > 0 || self.current.as_ref().is_some_and(|current| current.fresh)
    }

    fn take_slice(&mut self, most: usize) -> Option<PageSlice> {
        let unread = self.unread();
        let current = self.current.as_mut()?;
        let FetchedPage { page, read, .. } = &mut current.arrived;
        let end = *read + unread.min(most);
        let range = std::mem::replace(read, end)..end;
        current.fresh = false;
        Some(PageSlice { page: page.clone(), range, key: None })
    }

    /// Puts the next page into memory; false at the end of the list.
    async fn advance(&mut self, read_ahead: bool) -> Result<bool> {
        loop {
            if read_ahead {
                self.streams.iter_mut().for_each(PageStream::request_ahead);
            }
            let Some(stream) = self.streams.front_mut() else { return Ok(false) };
            let Some(outcome) = stream.arrive().await else {
                if self.streams.len() <= 1 {
                    return Ok(false);
                }
                self.streams.pop_front();
                self.window += 1;
                self.current = None;
                continue;
            };
            let page = outcome?;
            self.standing.set_total(page.pagination("total").and_then(|v| v.as_integer()));
            let Some(stream) = self.streams.front_mut() else { return Ok(false) };
            let arrived = stream.accept(page)?;
            if read_ahead {
                stream.request_ahead();
            }
            self.current = Some(Current { fresh: arrived.read == 0, arrived });
            return Ok(true);
        }
    }

    /// Starts from where the caller stands, unless that was done and nothing given up since.
    async fn set_out(&mut self) -> Result<()> {
        if self.under_way {
            return Ok(());
        }
        let position = self.standing.position();
        self.range = match (position.range, &self.listing.span) {
            (Some(range), _) => Some(range),
            (None, None) => None,
            // An open range ends now, by the service's clock. It is asked for anew as long as the
            // caller has received nothing.
            (None, Some(span)) if span.is_open() => {
                let now_ms = self.source.now_ms(&self.listing).await?;
                Some(span.resolve(now_ms.saturating_mul(1_000)))
            }
            (None, Some(span)) => Some(span.resolve(0)),
        };
        let windows = match (self.range, &self.listing.span) {
            (Some(range), Some(span)) if span.windows > 1 => window::split(range, span.windows),
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
            first.go_to(position);
        }
        self.current = None;
        self.under_way = true;
        Ok(())
    }

    /// The error with the call and the place to resume from.
    fn located(&self, error: Error) -> Error {
        error.with_endpoint(&self.listing.draft.label).with_checkpoint(self.checkpoint())
    }
}
