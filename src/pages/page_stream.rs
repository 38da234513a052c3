//! A chain of pages: each page has the cursor of the next one, which is fetched ahead.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{
    Listing, Position, PreviousRows,
    cursor_history::{CursorDigest, CursorHistory},
    window::Window,
};
use crate::{
    decode::{Page, PageSlice},
    error::{Error, Redactor, Result},
    http::Sender,
    process::AbortOnDrop,
};

/// Where the pages of a listing come from.
pub trait Source: std::fmt::Debug + Send + Sync {
    /// The page at a cursor, of the list or of the given part of its time range.
    fn page<'a>(
        &'a self,
        listing: &'a Listing,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>>;

    /// The address of the service that the pages come from.
    fn origin(&self) -> &str;

    /// Redacts the secrets that a page may repeat; a source that sends none has none.
    fn redactor(&self) -> Redactor {
        Redactor::default()
    }

    /// The end in milliseconds of the open time range of this listing: all that existed at the service
    /// before this was called is earlier, and all that it adds after this has returned is later.
    fn now_ms<'a>(
        &'a self,
        listing: &'a Listing,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>>;
}

impl Source for Sender {
    fn page<'a>(
        &'a self,
        listing: &'a Listing,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        Box::pin(async move {
            let plan = &listing.plan;
            let request = self.request(&plan.request, listing.cursor(cursor), range)?;
            self.call(&request, |response| plan.parse(response)).await
        })
    }

    fn origin(&self) -> &str {
        self.base().as_str()
    }

    fn redactor(&self) -> Redactor {
        self.redactor()
    }

    fn now_ms<'a>(
        &'a self,
        listing: &'a Listing,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>> {
        Box::pin(self.service_now(|| listing.identity()))
    }
}

/// The pages of a list, or of one window of it, one after another.
#[derive(Debug)]
pub struct PageStream {
    source: Arc<dyn Source>,
    listing: Arc<Listing>,
    /// The time range of its requests, if the client fixes it.
    range: Option<(i64, i64)>,
    window: Option<Window>,
    next: NextPage,
    /// Records of the next page that were received before: only after a resume.
    skip: usize,
    prefetch: Option<AbortOnDrop<Page>>,
    history: CursorHistory,
    /// The rows of the page before the next one.
    previous_rows: PreviousRows,
    requests: Arc<AtomicU64>,
}

/// A page that has been fetched.
#[derive(Debug)]
pub struct FetchedPage {
    pub page: Arc<Page>,
    /// The cursor that it was requested with.
    pub cursor: Option<String>,
    /// How many of its records have been received.
    pub received: usize,
    /// The rows of the page before it.
    pub previous_rows: PreviousRows,
    /// Whether the shared position is in it already.
    pub published: bool,
}

#[derive(Debug, Clone)]
enum NextPage {
    /// The cursor to send; none for the first page.
    At(Option<String>),
    End,
}

impl PageStream {
    pub fn new(
        source: Arc<dyn Source>,
        listing: Arc<Listing>,
        range: Option<(i64, i64)>,
        window: Option<Window>,
        requests: Arc<AtomicU64>,
    ) -> Self {
        PageStream {
            source,
            listing,
            range: window.map(|window| (window.start, window.end)).or(range),
            window,
            next: NextPage::At(None),
            skip: 0,
            prefetch: None,
            history: CursorHistory::default(),
            previous_rows: PreviousRows::default(),
            requests,
        }
    }

    /// Continues from a position in this stream.
    pub fn seek(&mut self, position: Position) {
        self.history = CursorHistory::of(position.used_cursors);
        self.previous_rows = position.previous_rows;
        self.skip = position.row;
        self.next = if position.done { NextPage::End } else { NextPage::At(position.cursor) };
    }

    /// The cursor of the next page and how many of its records have been received; none at the end.
    pub fn next_page(&self) -> Option<(Option<&str>, usize)> {
        match &self.next {
            NextPage::At(cursor) => Some((cursor.as_deref(), self.skip)),
            NextPage::End => None,
        }
    }

    /// The cursors of the pages so far.
    pub fn used_cursors(&self) -> &[CursorDigest] {
        self.history.used()
    }

    /// The rows of the page before the next one.
    pub fn previous_rows(&self) -> &PreviousRows {
        &self.previous_rows
    }

    /// Starts to fetch the next page, unless that has been done.
    pub fn prefetch(&mut self) {
        let NextPage::At(cursor) = &self.next else { return };
        if self.prefetch.as_ref().is_some_and(AbortOnDrop::runs_here) {
            return;
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let (source, listing) = (self.source.clone(), self.listing.clone());
        let (range, cursor) = (self.range, cursor.clone());
        self.prefetch = Some(AbortOnDrop::poll_or_spawn(async move {
            source.page(&listing, cursor.as_deref(), range).await
        }));
    }

    /// The next page as it was received; none at the end. The stream moves with `accept`.
    pub async fn fetch(&mut self) -> Option<Result<Page>> {
        self.prefetch();
        let outcome = self.prefetch.as_mut()?.join().await;
        self.prefetch = None;
        Some(outcome)
    }

    /// Moves past a page that was fetched.
    pub fn accept(&mut self, mut page: Page) -> Result<FetchedPage> {
        let NextPage::At(cursor) = &self.next else {
            return Err(Error::pagination("a page was fetched after the end"));
        };
        let cursor = cursor.clone();
        if let (Some(window), Some(range)) = (&self.window, &self.listing.time_range) {
            window.retain_own(&mut page, range.time_field)?;
        }
        let (next, rows) =
            self.listing.advance(&mut page, cursor.as_deref(), &self.previous_rows)?;
        if self.skip > page.len() {
            return Err(Error::pagination(format!(
                "the checkpoint is after record {} of a page that now has {}",
                self.skip,
                page.len()
            )));
        }
        if let Some(cursor) = &cursor {
            self.history.insert(cursor);
        }
        self.next = match next {
            None => NextPage::End,
            Some(next) => {
                // The first page of these styles is requested with an empty cursor.
                if next.is_empty() || self.history.contains(&next) {
                    return Err(Error::pagination(format!(
                        "the service returned the cursor '{}' a second time",
                        next.chars().take(64).collect::<String>().escape_debug()
                    )));
                }
                NextPage::At(Some(next))
            }
        };
        let received = std::mem::take(&mut self.skip);
        let previous_rows = std::mem::replace(&mut self.previous_rows, rows);
        Ok(FetchedPage { page: Arc::new(page), cursor, received, previous_rows, published: false })
    }

    /// Moves past the next page and returns its records; none at the end. The page is fetched by this
    /// task: waking another one for each page would cost as much as the page.
    pub async fn next_slice(&mut self) -> Result<Option<PageSlice>> {
        let Some(page) = self.fetch_inline().await else { return Ok(None) };
        let FetchedPage { page, received, .. } = self.accept(page?)?;
        let range = received..page.len();
        Ok(Some(PageSlice { page, range, key: None }))
    }

    /// The next page as it was received, from its prefetch if there is one; none at the end.
    async fn fetch_inline(&mut self) -> Option<Result<Page>> {
        if self.prefetch.as_ref().is_some_and(AbortOnDrop::runs_here) {
            return self.fetch().await;
        }
        let NextPage::At(cursor) = &self.next else { return None };
        self.requests.fetch_add(1, Ordering::Relaxed);
        Some(self.source.page(&self.listing, cursor.as_deref(), self.range).await)
    }
}
