//! The remaining records as one result, for `all` and for frames.

use std::{
    mem,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use futures_util::{
    FutureExt,
    future::{try_join, try_join_all},
};

use super::{Fetcher, Gathering, Sink, page_stream::PageStream};
use crate::{
    decode::PageSlice,
    error::{Error, Result},
    os::task::AbortOnDrop,
};

/// The most that is gathered.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// This many records.
    pub items: Option<usize>,
    /// The records of this many pages.
    pub pages: Option<usize>,
}

/// All windows concurrently, each by a task of its own.
pub(super) async fn gather_all<T, S: Sink>(
    fetcher: &mut Fetcher,
    gathering: &mut Gathering<T>,
    progress: &Arc<AtomicU64>,
    sink: impl Fn() -> S,
) -> Result<Vec<S>> {
    let first = match gathering.first.take() {
        Some(page) => Some(page),
        None => fetcher.next_page(true).await?,
    };
    let mut sinks: Vec<S> = fetcher.streams.iter().map(|_| sink()).collect();
    if let (Some(page), Some(sink)) = (first, sinks.first_mut()) {
        gathering.note_total(&page.page);
        push(sink, page.rest(), progress)?;
    }
    let streams = mem::take(&mut fetcher.streams).into_iter().zip(sinks);
    let mut drains: Vec<_> = streams
        .map(|(stream, sink)| AbortOnDrop::spawn(drain(stream, sink, progress.clone()).boxed()))
        .collect();
    let (streams, sinks): (Vec<_>, _) =
        try_join_all(drains.iter_mut().map(AbortOnDrop::join)).await?.into_iter().unzip();
    // All have been read to their ends: the iteration is at the end of the last one.
    gathering.after = streams.last().map(|stream| stream.position.clone());
    Ok(sinks)
}

/// Collects all that remains of a window.
async fn drain<S: Sink>(
    mut stream: PageStream,
    mut sink: S,
    progress: Arc<AtomicU64>,
) -> Result<(PageStream, S)> {
    let mut fetched = None;
    loop {
        // The next page is requested first, so that this one is collected while it is on its way.
        let collected =
            async { fetched.take().map_or(Ok(()), |page| push(&mut sink, page, &progress)) };
        let (next, ()) = try_join(stream.fetch_inline(), collected).await?;
        let Some(page) = next else { return Ok((stream, sink)) };
        fetched = Some(page.rest());
    }
}

/// One page after another.
pub(super) async fn gather_up_to<T, S: Sink>(
    fetcher: &mut Fetcher,
    gathering: &mut Gathering<T>,
    limits: Limits,
    progress: &AtomicU64,
    mut sink: S,
) -> Result<S> {
    let mut items = limits.items.unwrap_or(usize::MAX);
    let mut pages = limits.pages.unwrap_or(usize::MAX);
    while items > 0 && pages > 0 {
        let page = match gathering.first.take() {
            Some(page) => Some(page),
            // A page that is fetched ahead may be beyond the limits.
            None => fetcher.next_page(false).await?,
        };
        let Some(mut page) = page else { break };
        gathering.note_total(&page.page);
        let mut slice = page.rest();
        slice.range.end = slice.range.end.min(slice.range.start.saturating_add(items));
        page.at.row = slice.range.end;
        items -= slice.range.len();
        pages -= 1;
        push(&mut sink, slice, progress)?;
        gathering.set_end(page);
    }
    Ok(sink)
}

fn push<S: Sink>(sink: &mut S, slice: PageSlice, progress: &AtomicU64) -> Result<()> {
    progress.fetch_add(slice.range.len() as u64, Ordering::Relaxed);
    sink.push(slice)
}

/// The error of using a pager whose end the caller has been informed of.
pub fn exhausted() -> Error {
    Error::misuse(
        "this pager is exhausted: every row has been received; keep the earlier result, or call the \
         client's method again for a new pager",
        "A pager reads its list once: make a new one to read it again.",
    )
}
