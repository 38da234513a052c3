//! Iterations over lists that come in pages, to the record: the only pagination loop.

mod checkpoint;
mod date_range;
mod listing;
mod seen;
mod walk;
mod window;

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::future::try_join_all;

pub use checkpoint::Position;
pub use date_range::{DateRange, NextEnd, PreviousRows};
pub use listing::{Listing, Span, Style};
pub use walk::Source;
use walk::{Arrived, Walk};
use window::Window;

use crate::{
    decode::{Columns, Page, Parts, Piece},
    error::Result,
};

/// The most windows that a range is split into.
pub const WINDOWS_MAX: usize = 64;

/// An iteration over a list: one page in memory, and one more under way for each window.
#[derive(Debug)]
pub struct Pages {
    source: Arc<dyn Source>,
    listing: Arc<Listing>,
    /// The range of time of the whole iteration, and the corrections that the clock had when it was
    /// fixed by that; none where a checkpoint told it.
    range: Option<(i64, i64)>,
    fixed_with_corrections: Option<u64>,
    /// What is yet to be read: the window under way first, then the earlier ones.
    walks: VecDeque<Walk>,
    /// The number of the first of them.
    window: usize,
    current: Option<Current>,
    requests: Arc<AtomicU64>,
    total: Option<i64>,
    /// Where to go back to if what was gathered does not reach the caller.
    rewind: Option<Position>,
}

#[derive(Debug)]
struct Current {
    arrived: Arrived,
    /// Whether it was not yet handed out as a page.
    fresh: bool,
}

/// Takes up records as they come.
pub trait Sink {
    fn push(&mut self, piece: Piece) -> Result<()>;
}

impl Sink for Vec<Piece> {
    fn push(&mut self, piece: Piece) -> Result<()> {
        Vec::push(self, piece);
        Ok(())
    }
}

impl<Make: Fn() -> Columns> Sink for Parts<Make> {
    fn push(&mut self, piece: Piece) -> Result<()> {
        self.push_piece(&piece)
    }
}

impl Pages {
    /// From the beginning, or from a checkpoint of the same call.
    pub fn new(source: Arc<dyn Source>, listing: Listing, resume: Option<&str>) -> Result<Self> {
        let from = resume
            .map(|text| Position::from_json(&listing, text))
            .transpose()
            .map_err(|error| error.at(&listing.draft.label))?;
        let mut pages = Pages {
            source,
            listing: Arc::new(listing),
            range: None,
            fixed_with_corrections: None,
            walks: VecDeque::new(),
            window: 0,
            current: None,
            requests: Arc::default(),
            total: None,
            rewind: None,
        };
        pages.go_to(&from.unwrap_or_default());
        Ok(pages)
    }

    pub fn listing(&self) -> &Listing {
        &self.listing
    }

    /// How many pages were asked for: a counter that can be read while a page is under way.
    pub fn requests(&self) -> &Arc<AtomicU64> {
        &self.requests
    }

    pub fn total(&self) -> Option<i64> {
        self.total
    }

    /// Makes sure that an unread record is at hand; false at the end of the list.
    pub async fn fill(&mut self) -> Result<bool> {
        self.rewind_if_broken();
        while self.unread() == 0 {
            if !self.advance(true).await? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// The next record of the page in memory.
    pub fn take_row(&mut self) -> Option<(Arc<Page>, usize)> {
        if self.rewind.is_some() {
            return None;
        }
        let current = self.current.as_mut()?;
        let Arrived { page, read, .. } = &mut current.arrived;
        let index = *read;
        if index >= page.len() {
            return None;
        }
        *read += 1;
        current.fresh = false;
        Some((page.clone(), index))
    }

    /// Makes sure that a page, or the rest of one, is at hand; false at the end of the list.
    pub async fn fill_page(&mut self) -> Result<bool> {
        self.rewind_if_broken();
        Ok(self.page_at_hand() || self.advance(true).await?)
    }

    /// What is left of the page in memory.
    pub fn take_page(&mut self) -> Option<Piece> {
        if self.page_at_hand() { self.take_piece(usize::MAX) } else { None }
    }

    /// Everything from here on, up to the limits, into sinks that `sink` makes: one for each
    /// window, in the order of the list. Until `keep` says that the caller has it, the iteration
    /// counts as standing where it was before, so that no record is lost; so does the checkpoint of
    /// an error.
    pub async fn gather<S: Sink>(
        &mut self,
        max_items: Option<usize>,
        max_pages: Option<usize>,
        progress: &AtomicU64,
        sink: impl Fn() -> S,
    ) -> Result<Vec<S>> {
        self.rewind_if_broken();
        let start = self.position();
        self.rewind = Some(start.clone());
        let outcome = match (max_items, max_pages) {
            (None, None) => self.gather_all(progress, sink).await,
            (items, pages) => {
                let most = (items.unwrap_or(usize::MAX), pages.unwrap_or(usize::MAX));
                self.gather_up_to(most, progress, sink()).await.map(|sink| vec![sink])
            }
        };
        outcome.map_err(|error| {
            error.at(&self.listing.draft.label).with_checkpoint(start.to_json(&self.listing))
        })
    }

    /// The caller has what was gathered: go on after it.
    pub fn keep(&mut self) {
        self.rewind = None;
    }

    /// All windows side by side, each as fast as it goes.
    async fn gather_all<S: Sink>(
        &mut self,
        progress: &AtomicU64,
        sink: impl Fn() -> S,
    ) -> Result<Vec<S>> {
        if !self.page_at_hand() {
            self.advance(true).await?;
        }
        let mut sinks: Vec<S> = self.walks.iter().map(|_| sink()).collect();
        if let Some(piece) = self.take_piece(usize::MAX)
            && let Some(first) = sinks.first_mut()
        {
            progress.fetch_add(piece.range.len() as u64, Ordering::Relaxed);
            first.push(piece)?;
        }
        let drains =
            self.walks.iter_mut().zip(&mut sinks).map(|(walk, sink)| walk.drain(sink, progress));
        try_join_all(drains).await?;
        // All were read to their ends: the iteration stands at that of the last.
        let before = self.walks.len().saturating_sub(1);
        self.walks.drain(..before);
        self.window += before;
        self.current = None;
        Ok(sinks)
    }

    async fn gather_up_to<S: Sink>(
        &mut self,
        (mut items, mut pages): (usize, usize),
        progress: &AtomicU64,
        mut sink: S,
    ) -> Result<S> {
        while items > 0 && pages > 0 {
            // A page ahead may be one that nobody wants.
            if !self.page_at_hand() && !self.advance(false).await? {
                break;
            }
            if let Some(piece) = self.take_piece(items) {
                items -= piece.range.len();
                pages -= 1;
                progress.fetch_add(piece.range.len() as u64, Ordering::Relaxed);
                sink.push(piece)?;
            }
        }
        Ok(sink)
    }

    /// Where the iteration stands, as a small JSON text without secrets.
    pub fn checkpoint(&self) -> String {
        let position = self.rewind.clone().unwrap_or_else(|| self.position());
        position.to_json(&self.listing)
    }

    fn unread(&self) -> usize {
        let arrived = self.current.as_ref().map(|current| &current.arrived);
        arrived.map_or(0, |arrived| arrived.page.len() - arrived.read)
    }

    fn page_at_hand(&self) -> bool {
        self.unread() > 0 || self.current.as_ref().is_some_and(|current| current.fresh)
    }

    fn take_piece(&mut self, most: usize) -> Option<Piece> {
        let unread = self.unread();
        let current = self.current.as_mut()?;
        let Arrived { page, read, .. } = &mut current.arrived;
        let end = *read + unread.min(most);
        let range = std::mem::replace(read, end)..end;
        current.fresh = false;
        Some(Piece { page: page.clone(), range, key: None })
    }

    /// Puts the next page into memory; false at the end of the list.
    async fn advance(&mut self, read_ahead: bool) -> Result<bool> {
        loop {
            if read_ahead {
                self.walks.iter_mut().for_each(Walk::request_ahead);
            }
            let Some(walk) = self.walks.front_mut() else { return Ok(false) };
            let Some(outcome) = walk.arrive().await else {
                if self.walks.len() <= 1 {
                    return Ok(false);
                }
                self.walks.pop_front();
                self.window += 1;
                continue;
            };
            if outcome.is_ok() && self.range_is_outdated() {
                self.go_to(&Position::default());
                continue;
            }
            let accepted = outcome.and_then(|page| {
                self.total = page.pagination("total").and_then(|v| v.as_integer()).or(self.total);
                // There is a first walk: it has just brought the page.
                self.walks.front_mut().map(|walk| walk.accept(page)).transpose()
            });
            let Some(arrived) = accepted.map_err(|error| {
                let at = self.position().to_json(&self.listing);
                error.at(&self.listing.draft.label).with_checkpoint(at)
            })?
            else {
                return Ok(false);
            };
            if read_ahead && let Some(walk) = self.walks.front_mut() {
                walk.request_ahead();
            }
            self.current = Some(Current { fresh: arrived.read == 0, arrived });
            return Ok(true);
        }
    }

    /// Whether the first page was asked for with a range by a clock that has since been corrected.
    fn range_is_outdated(&self) -> bool {
        self.current.is_none()
            && self.window == 0
            && self.walks.front().is_some_and(|walk| walk.upcoming() == Some((None, 0)))
            && self.listing.span.is_some_and(|span| span.is_open())
            && self.fixed_with_corrections.is_some_and(|count| count != self.source.corrections())
    }

    fn position(&self) -> Position {
        let mut position =
            Position { range: self.range, window: self.window, ..Position::default() };
        let Some(walk) = self.walks.front() else { return position };
        let current = self.current.as_ref().filter(|_| self.unread() > 0);
        match (current.map(|current| &current.arrived), walk.upcoming()) {
            (Some(arrived), _) => {
                position.cursor.clone_from(&arrived.cursor);
                position.row = arrived.read;
                position.previous = arrived.previous.clone();
            }
            (None, Some((cursor, row))) => {
                position.cursor = cursor.map(str::to_owned);
                position.previous = walk.previous().clone();
                position.row = row;
            }
            // The first page of the next window.
            (None, None) if self.walks.len() > 1 => position.window += 1,
            (None, None) => position.done = true,
        }
        if let Some(cursor) = &position.cursor {
            position.seen = walk.seen().up_to(cursor);
        }
        position
    }

    fn go_to(&mut self, position: &Position) {
        self.fixed_with_corrections = position.range.is_none().then(|| self.source.corrections());
        self.range = position.range.or_else(|| {
            self.listing
                .span
                .map(|span| span.fix(self.source.now_ms(&self.listing).saturating_mul(1_000)))
        });
        let windows = match (self.range, self.listing.span) {
            (Some(range), Some(span)) if span.windows > 1 => window::split(range, span.windows),
            _ => Vec::new(),
        };
        let walk = |window: Option<Window>| {
            let (source, listing) = (self.source.clone(), self.listing.clone());
            Walk::new(source, listing, self.range, window, self.requests.clone())
        };
        self.window = position.window.min(windows.len().saturating_sub(1));
        self.walks = windows.into_iter().skip(self.window).map(|w| walk(Some(w))).collect();
        if self.walks.is_empty() {
            self.walks.push_back(walk(None));
        }
        if let Some(first) = self.walks.front_mut() {
            first.go_to(position);
        }
        self.current = None;
    }

    fn rewind_if_broken(&mut self) {
        if let Some(start) = self.rewind.take() {
            self.go_to(&start);
        }
    }
}
