//! A chain of pages: each page has the cursor of the next one, which is fetched ahead.

use std::{
    collections::VecDeque,
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use super::{PagedCall, Position, cursor_history::CursorHistory, window::Window};
use crate::{
    decode::{Page, PageSlice},
    error::{Error, Redactor, Result},
    http::AuthorizedTransport,
    os::task::AbortOnDrop,
};

/// The source of a call's pages.
pub trait Source: std::fmt::Debug + Send + Sync {
    /// The page at a cursor, of the list or of the given part of its time range.
    fn page<'a>(
        &'a self,
        call: &'a PagedCall,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>>;

    /// The address of the service that the pages come from.
    fn origin(&self) -> &str;

    /// Redacts the secrets that a page may repeat; a source that sends none has none.
    fn redactor(&self) -> Redactor {
        Redactor::default()
    }

    /// The end in microseconds of the open time range of this call: all that existed at the service
    /// before this was called is earlier, and all that it adds after this has returned is later.
    fn now<'a>(
        &'a self,
        call: &'a PagedCall,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>>;
}

impl Source for AuthorizedTransport {
    fn page<'a>(
        &'a self,
        call: &'a PagedCall,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        Box::pin(async move {
            let plan = &call.plan;
            let request = self.request(&plan.request, call.cursor(cursor), range)?;
            self.call(&request, |response| plan.parse(response)).await
        })
    }

    fn origin(&self) -> &str {
        self.base.as_str()
    }

    fn redactor(&self) -> Redactor {
        self.redactor()
    }

    fn now<'a>(
        &'a self,
        call: &'a PagedCall,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>> {
        Box::pin(self.service_now(|| Some(call.identity())))
    }
}

/// A service that answers with so many pages without records in turn has no more to tell.
const EMPTY_PAGES_MAX: usize = 1_000;

/// The pages of a list, or of one window of it, one after another.
#[derive(Debug)]
pub struct PageStream {
    source: Arc<dyn Source>,
    call: Arc<PagedCall>,
    /// The time range of its requests.
    range: Option<(i64, i64)>,
    /// The part of the time range whose records are its own, and whether earlier parts follow.
    window: Option<(Window, bool)>,
    /// The start of its next page; after its last page, where the iteration continues.
    pub position: Position,
    ended: bool,
    /// The cursors so far.
    history: CursorHistory,
    prefetch: Option<AbortOnDrop<Page>>,
    requests: Arc<AtomicU64>,
    /// The number of pages without records in turn.
    empty_pages: usize,
    /// The search for the row after which the iteration resumes, until it is found.
    search: Option<Search>,
    /// The pages that the search has fetched beyond that row.
    found: VecDeque<FetchedPage>,
}

/// The search for the last row that was received before a checkpoint: the service may cut its pages otherwise
/// now.
#[derive(Debug)]
struct Search {
    start: Position,
    /// The pages from the cursor of the checkpoint on, each with the number of records before it.
    pages: Vec<(usize, FetchedPage)>,
}

/// A page that has been fetched.
#[derive(Debug, Clone)]
pub struct FetchedPage {
    pub page: Arc<Page>,
    /// The position of its first record that was not received.
    pub at: Position,
    /// The position after its last record.
    pub after: Position,
}

impl PageStream {
    /// Starts from a position, which must be in its window.
    pub fn new(
        source: Arc<dyn Source>,
        call: Arc<PagedCall>,
        window: Option<(Window, bool)>,
        position: Position,
        requests: Arc<AtomicU64>,
    ) -> Self {
        PageStream {
            source,
            call,
            range: window.map(|(window, _)| (window.start, window.end)).or(position.range),
            window,
            ended: position.done,
            history: CursorHistory::of(position.used_cursors.clone()),
            search: (position.row > 0)
                .then(|| Search { start: position.clone(), pages: Vec::new() }),
            position: Position { row: 0, last: None, length: None, ..position },
            prefetch: None,
            requests,
            empty_pages: 0,
            found: VecDeque::new(),
        }
    }

    /// Starts to fetch the next page, unless that has been done.
    pub fn prefetch(&mut self) {
        if self.ended || self.prefetch.as_ref().is_some_and(AbortOnDrop::runs_here) {
            return;
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let (source, call) = (self.source.clone(), self.call.clone());
        let (range, cursor) = (self.range, self.position.cursor.clone());
        self.prefetch = Some(AbortOnDrop::poll_or_spawn(Box::pin(async move {
            source.page(&call, cursor.as_deref(), range).await
        })));
    }

    /// The next page; none at the end. If this is cancelled, it can be called again.
    pub async fn fetch(&mut self) -> Result<Option<FetchedPage>> {
        loop {
            if let Some(page) = self.found.pop_front() {
                return Ok(Some(page));
            }
            self.prefetch();
            let Some(prefetch) = &mut self.prefetch else { return Ok(None) };
            let outcome = prefetch.join().await;
            self.prefetch = None;
            let page = self.accept(outcome?)?;
            self.resume(page)?;
        }
    }

    /// The same for all that follows. The page is fetched by this task: waking another one for each page
    /// would cost as much as the page.
    pub async fn fetch_inline(&mut self) -> Result<Option<FetchedPage>> {
        let is_waiting = self.prefetch.as_ref().is_some_and(AbortOnDrop::runs_here);
        if self.ended || is_waiting || self.search.is_some() || !self.found.is_empty() {
            return self.fetch().await;
        }
        self.requests.fetch_add(1, Ordering::Relaxed);
        let cursor = self.position.cursor.as_deref();
        let page = self.source.page(&self.call, cursor, self.range).await?;
        self.accept(page).map(Some)
    }

    /// Notes a page that was fetched, once the row is found after which the iteration resumes. Where that row is
    /// at its number, or the page has as many records as before, it is there; else it is looked for among as many
    /// rows from the last of them backward: of equal rows, the right one is found.
    fn resume(&mut self, mut page: FetchedPage) -> Result<()> {
        let Some(mut search) = self.search.take() else {
            self.found.push_back(page);
            return Ok(());
        };
        let Position { row, last, length, .. } = search.start.clone();
        let digest = |page: &FetchedPage, index| Some(self.call.digest(&page.page, index)) == last;
        let count = page.page.len();
        let is_as_before = last.is_none() || length == Some(count) || digest(&page, row - 1);
        if search.pages.is_empty() && row <= count && is_as_before {
            page.at.row = row;
            self.found.push_back(page);
            return Ok(());
        }
        let before = search.pages.last().map_or(0, |(before, page)| before + page.page.len());
        search.pages.push((before, page));
        if before + count < row && !self.ended && last.is_some() {
            self.search = Some(search);
            return Ok(());
        }
        let in_page = |(before, page): &(usize, FetchedPage)| {
            let count = page.page.len().min(row.saturating_sub(*before));
            (0..count).rev().find(|index| digest(page, *index))
        };
        let mut pages = search.pages.iter().enumerate().rev();
        let found = pages.find_map(|(number, page)| Some((number, in_page(page)?)));
        if let Some((number, index)) = found {
            self.found = search.pages.drain(number..).map(|(_, page)| page).collect();
            if let Some(first) = self.found.front_mut() {
                first.at.row = index + 1;
            }
            return Ok(());
        }
        // The next call searches from the beginning.
        let Search { start, .. } = search;
        let error = match last {
            None => format!("the checkpoint is after record {row} of a page that now has {count}"),
            Some(_) => format!(
                "the last row that was received before the checkpoint is not among the {row} rows after its cursor"
            ),
        };
        let (source, call, window) = (self.source.clone(), self.call.clone(), self.window);
        *self = PageStream::new(source, call, window, start, self.requests.clone());
        Err(Error::pagination(error))
    }

    /// Moves past a page that was fetched.
    fn accept(&mut self, mut page: Page) -> Result<FetchedPage> {
        let Position { range, window, cursor, previous_rows, .. } = &self.position;
        if let (Some((own, _)), Some(range)) = (&self.window, &self.call.time_range) {
            own.retain_own(&mut page, range.time_field)?;
        }
        let (next, rows) = self.call.advance(&mut page, cursor.as_deref(), previous_rows)?;
        let empty_pages = if page.is_empty() { self.empty_pages + 1 } else { 0 };
        if empty_pages > EMPTY_PAGES_MAX {
            return Err(Error::pagination(format!(
                "{EMPTY_PAGES_MAX} pages in turn had no row, and the service says that there are more"
            )));
        }
        if let Some(cursor) = cursor {
            self.history.insert(cursor);
        }
        // The first page of these styles is requested with an empty cursor.
        if let Some(next) = &next
            && (next.is_empty() || self.history.contains(next))
        {
            return Err(Error::pagination(format!(
                "the service returned the cursor '{}' a second time",
                next.chars().take(64).collect::<String>().escape_debug()
            )));
        }
        let here = Position { range: *range, window: *window, ..Position::default() };
        self.empty_pages = empty_pages;
        self.ended = next.is_none();
        let after = match next {
            Some(_) => Position {
                cursor: next,
                previous_rows: rows,
                used_cursors: self.history.used.clone(),
                ..here
            },
            None if self.window.is_some_and(|(_, is_followed)| is_followed) => {
                Position { window: here.window + 1, ..here }
            }
            None => Position { done: true, ..here },
        };
        let at = std::mem::replace(&mut self.position, after.clone());
        Ok(FetchedPage { page: Arc::new(page), at, after })
    }
}

impl FetchedPage {
    /// Returns true if it has records that were not received.
    pub fn has_rows(&self) -> bool {
        self.at.row < self.page.len()
    }

    /// The records that were not received.
    pub fn rest(&self) -> PageSlice {
        PageSlice { page: self.page.clone(), range: self.at.row..self.page.len(), key: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::http::{BaseUrl, TransportOptions};

    #[test]
    fn a_list_belongs_to_the_service_of_the_client() {
        let base = BaseUrl::parse("https://api.example.com/").expect("a base");
        let transport = AuthorizedTransport::new(base, None, TransportOptions::default());
        assert_eq!(Source::origin(&transport.expect("a transport")), "https://api.example.com");
    }
}
