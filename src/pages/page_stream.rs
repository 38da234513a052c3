//! One chain of cursors: each page tells the next, and one page is under way ahead.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::task::JoinHandle;

use super::{
    Listing, Position, PreviousRows, Sink, Window,
    cursor_history::{CursorHistory, Mark},
};
use crate::{
    decode::{Page, PageSlice, parse_page},
    error::{Error, Result},
    http::{Draft, Sender},
};

/// Where the pages of a listing come from.
pub trait Source: std::fmt::Debug + Send + Sync {
    fn page<'a>(
        &'a self,
        listing: &'a Listing,
        draft: &'a Draft,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>>;

    /// The address of the service that the pages come from.
    fn origin(&self) -> &str;

    /// The service's time in milliseconds, at least, to end the open range of this listing.
    fn now_ms<'a>(
        &'a self,
        listing: &'a Listing,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>>;
}

impl Source for Sender {
    fn page<'a>(
        &'a self,
        listing: &'a Listing,
        draft: &'a Draft,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        Box::pin(async move {
            let prepared = draft.prepare(self.base(), &self.options().headers)?;
            self.send(&prepared, |answer| parse_page(listing.contract, &listing.rows_at, answer))
                .await
        })
    }

    fn origin(&self) -> &str {
        self.base().as_str()
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
    /// The time range that its requests ask for, where the client fixed it.
    range: Option<(i64, i64)>,
    window: Option<Window>,
    upcoming: Upcoming,
    /// Records of the upcoming page that were received before: only after a resume.
    skip: usize,
    ahead: Option<Prefetch>,
    history: CursorHistory,
    /// The rows of the page before the upcoming one.
    previous_rows: PreviousRows,
    requests: Arc<AtomicU64>,
}

/// A page that has come.
#[derive(Debug)]
pub struct FetchedPage {
    pub page: Arc<Page>,
    pub cursor: Option<String>,
    /// How many of its records were received.
    pub read: usize,
    /// The rows of the page before it.
    pub previous_rows: PreviousRows,
    /// Whether the caller stands in it already.
    pub published: bool,
}

#[derive(Debug, Clone)]
enum Upcoming {
    /// The cursor to send; none for the first page.
    At(Option<String>),
    End,
}

#[derive(Debug)]
struct Prefetch {
    task: JoinHandle<Result<Page>>,
    /// A forked child has the handle of a task that does not run there.
    process: u32,
}

impl Drop for Prefetch {
    fn drop(&mut self) {
        if self.process == std::process::id() {
            self.task.abort();
        }
    }
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
            upcoming: Upcoming::At(None),
            skip: 0,
            ahead: None,
            history: CursorHistory::default(),
            previous_rows: PreviousRows::default(),
            requests,
        }
    }

    /// Goes to a place within this walk.
    pub fn go_to(&mut self, position: Position) {
        self.history = CursorHistory::of(position.used_cursors);
        self.previous_rows = position.previous_rows;
        self.skip = position.row;
        self.upcoming = if position.done { Upcoming::End } else { Upcoming::At(position.cursor) };
    }

    /// The cursor of the upcoming page and how much of that was received; none at the end.
    pub fn upcoming(&self) -> Option<(Option<&str>, usize)> {
        match &self.upcoming {
            Upcoming::At(cursor) => Some((cursor.as_deref(), self.skip)),
            Upcoming::End => None,
        }
    }

    /// The cursors of the pages so far.
    pub fn used_cursors(&self) -> &[Mark] {
        self.history.used()
    }

    /// The rows of the page before the upcoming one.
    pub fn previous_rows(&self) -> &PreviousRows {
        &self.previous_rows
    }

    /// Asks for the upcoming page, unless that is under way.
    pub fn request_ahead(&mut self) {
        let Upcoming::At(cursor) = &self.upcoming else { return };
        let process = std::process::id();
        if self.ahead.as_ref().is_some_and(|ahead| ahead.process == process) {
            return;
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let (source, listing) = (self.source.clone(), self.listing.clone());
        let (range, cursor) = (self.range, cursor.clone());
        let task = tokio::spawn(async move {
            let draft = listing.page_at(range, cursor.as_deref())?;
            source.page(&listing, &draft).await
        });
        self.ahead = Some(Prefetch { task, process });
    }

    /// The upcoming page as it came; none at the end. Nothing counts as read before `accept`.
    pub async fn arrive(&mut self) -> Option<Result<Page>> {
        self.request_ahead();
        let ahead = self.ahead.as_mut()?;
        let outcome = (&mut ahead.task).await;
        self.ahead = None;
        Some(outcome.unwrap_or_else(|error| Err(Error::aborted(&error))))
    }

    /// Goes on after a page that arrived.
    pub fn accept(&mut self, mut page: Page) -> Result<FetchedPage> {
        let Upcoming::At(cursor) = &self.upcoming else {
            return Err(Error::pagination("a page came after the end"));
        };
        let cursor = cursor.clone();
        if let (Some(window), Some(span)) = (&self.window, &self.listing.span) {
            window.keep_own(&mut page, span)?;
        }
        let (next, rows) =
            self.listing.advance(&mut page, cursor.as_deref(), &self.previous_rows)?;
        if self.skip > page.len() {
            return Err(Error::pagination(format!(
                "the checkpoint stands behind record {} of a page that now has {}",
                self.skip,
                page.len()
            )));
        }
        if let Some(cursor) = &cursor {
            self.history.insert(cursor);
        }
        self.upcoming = match next {
            None => Upcoming::End,
            Some(next) => {
                // The first page of these styles is asked for by an empty cursor.
                if next.is_empty() || self.history.contains(&next) {
                    return Err(Error::pagination(format!(
                        "the service handed out the cursor '{}' for the second time",
                        next.chars().take(64).collect::<String>().escape_debug()
                    )));
                }
                Upcoming::At(Some(next))
            }
        };
        let read = std::mem::take(&mut self.skip);
        let previous_rows = std::mem::replace(&mut self.previous_rows, rows);
        Ok(FetchedPage { page: Arc::new(page), cursor, read, previous_rows, published: false })
    }

    /// Reads to its end, into a sink.
    pub async fn drain<S: Sink>(&mut self, sink: &mut S, progress: &AtomicU64) -> Result<()> {
        while let Some(page) = self.arrive().await {
            let FetchedPage { page, read, .. } = self.accept(page?)?;
            self.request_ahead();
            let range = read..page.len();
            progress.fetch_add(range.len() as u64, Ordering::Relaxed);
            sink.push(PageSlice { page, range, key: None })?;
        }
        Ok(())
    }
}
