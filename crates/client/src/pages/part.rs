//! A part of a list with cursors of its own: a window of its time range, a key, or all of it.

use std::sync::{Arc, Mutex, PoisonError, atomic::Ordering};

use super::{
    PagedCall, Position,
    borders::Borders,
    cursor_history::{CursorHistory, UsedCursors},
    pace::Pace,
    shared::Shared,
    window::Window,
};
use crate::{
    decode::{Page, PageSlice},
    error::{Error, Result},
};

/// A service that returns this many pages without records in succession has no more records.
const EMPTY_PAGES_MAX: usize = 1_000;

/// A part of a list.
#[derive(Debug)]
pub struct Part {
    shared: Arc<Shared>,
    /// Number of the part's call among the calls of the list.
    pub number: usize,
    /// The window whose records belong to this part.
    place: Option<WindowPlace>,
    /// The position of the part's first page.
    pub start: Position,
    history: Mutex<CursorHistory>,
}

/// A window, and its place among the other windows of a list.
#[derive(Debug)]
pub struct WindowPlace {
    pub window: Window,
    pub index: usize,
    pub borders: Arc<Borders>,
    /// The turns of requests, if the caller did not ask for the windows.
    pub pace: Option<Arc<Pace>>,
}

/// A page that was fetched.
#[derive(Debug, Clone)]
pub struct FetchedPage {
    pub records: Arc<Page>,
    /// The key that the records belong to.
    pub key: Option<Arc<str>>,
    /// Number of records that were received earlier: not 0 in a page within which an iteration
    /// resumes.
    pub first: usize,
    /// The position of the page's first record.
    pub at: Position,
    /// The position after the page's last record; none at the end of its part.
    pub after: Option<Position>,
    pub counts: Counts,
}

/// Number of pages before a page, and number of successive pages without records up to it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Counts {
    before: usize,
    empty: usize,
}

impl FetchedPage {
    /// Creates the page that ends a part which failed at this position.
    pub fn without_records(key: Arc<str>, at: Position) -> Self {
        let (records, key) = (Arc::new(Page::default()), Some(key));
        FetchedPage { records, key, first: 0, at, after: None, counts: Counts::default() }
    }

    /// Returns the records from this index on.
    pub fn rest(&self, start: usize) -> PageSlice {
        let end = self.records.len();
        PageSlice { page: self.records.clone(), range: start.min(end)..end, key: self.key.clone() }
    }
}

impl Part {
    pub fn new(
        shared: Arc<Shared>,
        number: usize,
        place: Option<WindowPlace>,
        start: Position,
    ) -> Arc<Self> {
        let history = Mutex::new(CursorHistory::of(&start.used_cursors));
        Arc::new(Part { shared, number, place, start, history })
    }

    /// Returns the key that is read.
    pub fn key(&self) -> Option<&Arc<str>> {
        self.shared.listing.calls.get(self.number).and_then(|keyed| keyed.key.as_ref())
    }

    /// Returns true if the part's requests wait for their turns.
    pub fn is_paced(&self) -> bool {
        self.place.as_ref().is_some_and(|place| place.pace.is_some())
    }

    pub fn call(&self) -> Result<&Arc<PagedCall>> {
        let keyed = self.shared.listing.calls.get(self.number);
        let keyed = keyed.ok_or_else(|| Error::internal("a part of a list has no call"))?;
        keyed.call.as_ref().map_err(Clone::clone)
    }

    /// Returns the first page. If the part was already begun, returns the page within which it
    /// continues, and the pages that were fetched to find that page.
    pub async fn first(&self) -> Result<Vec<FetchedPage>> {
        self.resume().await.map_err(|error| self.located(error))
    }

    /// Returns the first page of a part that was not begun before.
    pub async fn beginning(&self) -> Result<FetchedPage> {
        let page = self.fetch(self.start.clone(), Counts::default()).await;
        page.map_err(|error| self.located(error))
    }

    /// Returns the page after this one; none at the end.
    pub async fn next(&self, page: &FetchedPage) -> Result<Option<FetchedPage>> {
        let Some(after) = &page.after else { return Ok(None) };
        self.fetch_after(after.clone(), page.counts).await.map(Some)
    }

    /// Returns the page at the position after a page with these counts.
    pub async fn fetch_after(&self, after: Position, counts: Counts) -> Result<FetchedPage> {
        let counts = Counts { before: counts.before + 1, ..counts };
        self.fetch(after, counts).await.map_err(|error| self.located(error))
    }

    fn located(&self, error: Error) -> Error {
        match self.shared.listing.calls.get(self.number) {
            Some(keyed) => keyed.located(error),
            None => error,
        }
    }

    async fn fetch(&self, at: Position, counts: Counts) -> Result<FetchedPage> {
        let (call, shared) = (self.call()?, &self.shared);
        let window = self.place.as_ref().map(|place| place.window.requested());
        let mut turn = match self.place.as_ref().and_then(|place| place.pace.as_ref()) {
            Some(pace) => Some(pace.turn(&shared.failed_attempts).await?),
            None => None,
        };
        let _permit = shared.permit().await;
        shared.requests.fetch_add(1, Ordering::Relaxed);
        let (cursor, range) = (at.cursor.as_deref(), window.or(self.start.range));
        let page = shared.source.page(call, cursor, range, &shared.failed_attempts).await?;
        let page = self.accept(page, at, counts)?;
        if let Some(turn) = &mut turn {
            turn.is_accepted = true;
        }
        Ok(page)
    }

    /// Accepts the page at a position, and determines the position after it.
    fn accept(&self, mut page: Page, at: Position, counts: Counts) -> Result<FetchedPage> {
        let call = self.call()?;
        // Counted as the service sent the page: records of other windows are records, too.
        let empty = if page.is_empty() { counts.empty + 1 } else { 0 };
        let range = call.plan.request.time_range.as_ref();
        let place = self.place.as_ref().zip(range);
        if let Some((WindowPlace { borders, index, .. }, range)) = place {
            borders.retain_own(*index, &mut page, call, range.time_field)?;
        }
        let (next, rows) = call.advance(&mut page, at.cursor.as_deref(), &at.previous_rows)?;
        if let Some((WindowPlace { borders, index, .. }, _)) = place
            && next.is_none()
            && self.start.is_beginning()
        {
            borders.complete(*index, &page)?;
        }
        let used_cursors = self.use_cursor(&at, next.as_deref(), counts.before)?;
        let counts = Counts { empty, ..counts };
        if counts.empty > EMPTY_PAGES_MAX {
            return Err(Error::pagination(format!(
                "{EMPTY_PAGES_MAX} consecutive pages had no rows, although the service says that more \
                 follow"
            )));
        }
        let Position { range, window, part, .. } = at;
        let here = Position { range, window, part, ..Position::default() };
        let after = next.map(|next| Position {
            cursor: Some(next),
            previous_rows: rows,
            used_cursors,
            ..here
        });
        // The total of a window or key is not the total of the list.
        if self.shared.listing.keys.is_none() && self.place.is_none() {
            let total = page.pagination("total").and_then(|value| value.as_integer());
            self.shared.note(|known| known.total = total.or(known.total));
        }
        let key = self.key().cloned();
        Ok(FetchedPage { records: Arc::new(page), key, first: 0, at, after, counts })
    }

    /// Notes the cursors of a page, and refuses the next one if it was already used. Returns all
    /// used cursors.
    fn use_cursor(&self, at: &Position, next: Option<&str>, page: usize) -> Result<UsedCursors> {
        let mut history = self.history.lock().unwrap_or_else(PoisonError::into_inner);
        let used = match &at.cursor {
            Some(cursor) => history.insert(cursor, page, &at.used_cursors),
            None => at.used_cursors.clone(),
        };
        match next {
            // The first page of these styles is requested with an empty cursor.
            Some(next) if next.is_empty() || history.contains(next, page) => {
                Err(Error::pagination(format!(
                    "the service returned the cursor '{}' a second time",
                    next.chars().take(64).collect::<String>().escape_debug()
                )))
            }
            _ => Ok(used),
        }
    }

    /// Finds the page within which the iteration resumes, and the pages after it that were fetched.
    /// It is the page with the last row that was received. That row is identified by its digest,
    /// because page borders may have moved, and rows before it may have been added or removed.
    async fn resume(&self) -> Result<Vec<FetchedPage>> {
        let Position { row, last, length, .. } = self.start.clone();
        let start = Position { row: 0, last: None, length: None, keys: None, ..self.start.clone() };
        let mut page = self.fetch(start, Counts::default()).await?;
        let Some(index) = row.checked_sub(1) else { return Ok(vec![page]) };
        let call = self.call()?;
        let has_last = |page: &FetchedPage, index: usize| {
            last.as_deref() == Some(call.digest(&page.records, index).as_str())
        };
        let count = page.records.len();
        if row <= count && (last.is_none() || has_last(&page, index)) {
            page.first = row;
            return Ok(vec![page]);
        }
        if last.is_none() {
            return Err(Error::pagination(format!(
                "the checkpoint is after record {row} of a page that now has {count}"
            )));
        }
        // Reads pages up to the stored row number, and searches them backward: of several equal
        // rows, this finds the right one.
        let (mut end, mut pages) = (count, vec![page]);
        while end < row
            && let Some(before) = pages.last()
            && let Some(after) = &before.after
        {
            let next = self.fetch_after(after.clone(), before.counts).await?;
            end += next.records.len();
            pages.push(next);
        }
        for index in (0..pages.len()).rev() {
            let Some(page) = pages.get_mut(index) else { break };
            let length = page.records.len();
            let before = end - length;
            let found =
                (0..length.min(row.saturating_sub(before))).rev().find(|at| has_last(page, *at));
            if let Some(found) = found {
                page.first = found + 1;
                return Ok(pages.split_off(index));
            }
            end = before;
        }
        // A record without an identifying field may have changed in place.
        let is_in_place = call.record_id.is_none() && length == Some(count);
        if let Some(page) = pages.first_mut().filter(|_| is_in_place && row <= count) {
            page.first = row;
            return Ok(pages);
        }
        Err(Error::pagination(format!(
            "the last row that was received before the checkpoint is not among the {row} rows after its cursor"
        )))
    }
}
