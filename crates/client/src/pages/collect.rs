//! Collects the records after a place in a list as one result, for `all` and for frames.

use std::{
    collections::VecDeque,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::{FutureExt, StreamExt, TryStreamExt, future::join, stream};

use super::{
    Position, Sink,
    list::List,
    listed_page::{Failure, ListedPage},
    part::{FetchedPage, Part},
};
use crate::{
    decode::PageSlice,
    error::{Error, Result},
    os::task::AbortOnDrop,
};

/// A position among the pages of a list: after this many records of a page, or before the first
/// page.
#[derive(Debug, Clone, Default)]
pub struct PagePosition {
    /// The page.
    pub page: Option<Arc<ListedPage>>,
    /// Number of the page's records before the position.
    pub row: usize,
}

/// Limits on the collected records.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// Maximum number of records.
    pub items: Option<usize>,
    /// Maximum number of pages.
    pub pages: Option<usize>,
}

/// Collects all records of a list, or the records after a record of one of its pages. Parts are
/// read concurrently, each by a task of its own.
pub async fn collect_all<S: Sink>(
    list: &Arc<List>,
    begun: Option<(Arc<ListedPage>, usize)>,
    progress: &Arc<AtomicU64>,
    sink: impl Fn() -> S,
) -> Result<(Vec<S>, PagePosition)> {
    let first = begun.as_ref().map_or(0, |(page, _)| page.index());
    let start = |index| match &begun {
        Some((page, row)) if index == first => Start::Within(page.clone(), *row),
        Some((page, _)) if index == first + 1 && page.fetched().after.is_none() => {
            Start::After(page.clone())
        }
        _ => Start::Beginning,
    };
    let starts = (first..list.parts.len()).map(|index| (index, start(index)));
    let starts: Vec<(usize, Start)> = starts.collect();
    let begin = |(index, start)| {
        let (list, sink, progress) = (list.clone(), sink(), progress.clone());
        let mut task = AbortOnDrop::spawn(drain(list, index, start, sink, progress).boxed());
        async move { task.join().await }
    };
    let drained = stream::iter(starts.into_iter().map(begin)).buffered(list.concurrency());
    let drained: Vec<Drained<S>> = match list.is_paced() {
        // Requests that were sent have ended before anything is read again.
        true => drained.collect::<Vec<_>>().await.into_iter().collect::<Result<_>>()?,
        false => drained.try_collect().await?,
    };
    (first..list.parts.len()).for_each(|index| list.forget_first(index));
    let failures = begun.map(|(page, _)| page.failures().to_vec()).unwrap_or_default();
    let (mut sinks, mut last, mut failures) = (Vec::new(), None, failures);
    let mut failed_key = None;
    for (part, drained) in list.parts.iter().skip(first).zip(drained) {
        // These are the windows of a key after one that failed: a resume retries the key from
        // there.
        if failed_key == Some(part.number) {
            continue;
        }
        failed_key = drained.failure.is_some().then_some(part.number);
        sinks.push(drained.sink);
        let is_new = |failure: &Failure| failures.iter().all(|known| known.key != failure.key);
        let failure = drained.failure.filter(is_new);
        failures.extend(failure);
        last = Some(drained.last);
    }
    let end = last.map(|fetched| ListedPage::at_end(list, fetched, failures));
    let row = end.as_ref().map_or(0, |page| page.len());
    Ok((sinks, PagePosition { page: end, row }))
}

/// Collects page after page from a place on; `first` returns the first page of a list. Requests no
/// page that may be beyond the limits.
pub async fn collect_up_to<S: Sink>(
    from: &PagePosition,
    first: impl AsyncFnOnce() -> Result<Option<Arc<ListedPage>>>,
    limits: Limits,
    progress: &AtomicU64,
    mut sink: S,
) -> Result<(S, PagePosition)> {
    let mut items = limits.items.unwrap_or(usize::MAX);
    let mut pages = limits.pages.unwrap_or(usize::MAX);
    let (mut place, mut first) = (from.clone(), Some(first));
    let mut begun = place.page.clone().filter(|page| place.row < page.len());
    while items > 0 && pages > 0 {
        let next = match (begun.take(), &place.page, first.take()) {
            (Some(page), ..) => Some((place.row, page)),
            (None, Some(page), _) => page.next().await?.map(|page| (page.first(), page)),
            (None, None, Some(first)) => first().await?.map(|page| (page.first(), page)),
            (None, None, None) => None,
        };
        let Some((row, page)) = next else { break };
        let mut slice = page.rest(row);
        slice.range.end = slice.range.end.min(slice.range.start.saturating_add(items));
        place = PagePosition { row: slice.range.end, page: Some(page) };
        items -= slice.range.len();
        pages -= 1;
        push(&mut sink, slice, progress)?;
    }
    Ok((sink, place))
}

/// The beginning of a part's records.
enum Start {
    /// At a record of a page.
    Within(Arc<ListedPage>, usize),
    /// After a page that ends the previous part.
    After(Arc<ListedPage>),
    Beginning,
}

/// A part whose records were all collected.
struct Drained<S> {
    sink: S,
    /// The last page of the part.
    last: FetchedPage,
    failure: Option<Failure>,
}

/// A page that is being collected. A page that the iteration knows may already have requested the
/// next one.
enum Collected {
    Listed(Arc<ListedPage>),
    Fetched(Box<FetchedPage>),
}

impl Collected {
    fn fetched(&self) -> &FetchedPage {
        match self {
            Collected::Listed(page) => page.fetched(),
            Collected::Fetched(page) => page,
        }
    }

    /// Returns the next page of its part.
    async fn next(&self, part: &Part) -> Result<Option<Self>> {
        if let Collected::Listed(page) = self
            && page.fetched().after.is_some()
            && let Some(next) = page.requested_next().await
        {
            return Ok(next?.map(Collected::Listed));
        }
        Ok(part.next(self.fetched()).await?.map(|page| Collected::Fetched(Box::new(page))))
    }

    /// Returns the failure that an empty page represents, in this part.
    fn failure(&self, key: Option<&Arc<str>>) -> Option<Failure> {
        let Collected::Listed(page) = self else { return None };
        page.failures().last().filter(|failure| Some(&failure.key) == key).cloned()
    }
}

/// Collects all that remains of a part.
async fn drain<S: Sink>(
    list: Arc<List>,
    index: usize,
    start: Start,
    mut sink: S,
    progress: Arc<AtomicU64>,
) -> Result<Drained<S>> {
    let part = list.parts.get(index).ok_or_else(|| Error::internal("a part is not of its list"))?;
    let failed = |position: Position, error| -> Result<(FetchedPage, Option<Failure>)> {
        let failure = Failure::of(&list, index, position.clone(), error)?;
        let last = FetchedPage::without_records(failure.key.clone(), position);
        Ok((last, Some(failure)))
    };
    let begun = match begin(&list, index, part, start).await {
        Ok(begun) => begun,
        Err(error) => {
            let (last, failure) = failed(part.start.clone(), error)?;
            return Ok(Drained { sink, last, failure });
        }
    };
    let (mut page, mut row, mut known) = begun;
    loop {
        // Requests the next page first, so that this page is collected while the next one is on its
        // way.
        let next = async {
            match known.pop_front() {
                Some(page) => Ok(Some(Collected::Fetched(Box::new(page)))),
                None => page.next(part).await,
            }
        };
        let collected = async { push(&mut sink, page.fetched().rest(row), &progress) };
        let (next, collected) = join(next, collected).await;
        collected?;
        let fetched = page.fetched().clone();
        match next {
            Ok(Some(next)) => (row, page) = (next.fetched().first, next),
            Ok(None) => {
                let failure = page.failure(part.key());
                return Ok(Drained { sink, last: fetched, failure });
            }
            Err(error) => {
                let position = fetched.after.unwrap_or(fetched.at);
                let (last, failure) = failed(position, error)?;
                return Ok(Drained { sink, last, failure });
            }
        }
    }
}

/// Returns the first page to collect, the index of the first record in it, and the known pages
/// after it.
async fn begin(
    list: &Arc<List>,
    index: usize,
    part: &Part,
    start: Start,
) -> Result<(Collected, usize, VecDeque<FetchedPage>)> {
    let after = match start {
        Start::Within(page, row) => return Ok((Collected::Listed(page), row, VecDeque::new())),
        Start::After(before) => before.requested_next().await,
        Start::Beginning => None,
    };
    if let Some(page) = after.transpose()?.flatten() {
        let row = page.first();
        return Ok((Collected::Listed(page), row, VecDeque::new()));
    }
    let pages = match list.requested_first(index).await {
        Some(pages) => pages?,
        None => part.first().await?,
    };
    let mut pages = VecDeque::from(pages);
    let first = pages.pop_front().ok_or_else(|| Error::internal("a part has no first page"))?;
    let row = first.first;
    Ok((Collected::Fetched(Box::new(first)), row, pages))
}

fn push<S: Sink>(sink: &mut S, slice: PageSlice, progress: &AtomicU64) -> Result<()> {
    progress.fetch_add(slice.range.len() as u64, Ordering::Relaxed);
    sink.push(slice)
}
