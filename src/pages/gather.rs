//! The remaining records as one result, for `all` and for frames.

use std::sync::{
    Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use futures_util::future::try_join_all;
use tokio::{
    sync::mpsc::{Sender, channel},
    task::{JoinHandle, yield_now},
};

use super::{Fetcher, Gathering, Sink};
use crate::{
    decode::PageSlice,
    error::{Error, Result},
};

/// How much is gathered at most.
#[derive(Debug, Clone, Copy, Default)]
pub struct Limits {
    /// So many records.
    pub items: Option<usize>,
    /// The records of so many pages.
    pub pages: Option<usize>,
}

/// All windows concurrently, each at its own speed.
pub(super) async fn gather_all<T, S: Sink>(
    fetcher: &mut Fetcher,
    gathering: &mut Gathering<T>,
    progress: &AtomicU64,
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
    let collector = Collector::start(sinks);
    let drains = fetcher.streams.iter_mut().enumerate().map(async |(index, stream)| {
        while let Some(page) = stream.fetch_inline().await? {
            let slice = page.rest();
            progress.fetch_add(slice.range.len() as u64, Ordering::Relaxed);
            collector.push(index, slice).await?;
        }
        Ok(())
    });
    let drained: Result<Vec<()>> = try_join_all(drains).await;
    // If collecting failed, that is why fetching stopped.
    let sinks = collector.finish().await?;
    drained?;
    // All have been read to their ends: the iteration is at the end of the last one.
    gathering.after = fetcher.streams.back().map(|stream| stream.position().clone());
    Ok(sinks)
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

/// Puts pages into sinks, as they are fetched.
enum Collector<S> {
    /// At once.
    Inline(Mutex<Vec<S>>),
    /// In its own task, so that fetching continues. Not on its own thread: no pool has one for each list.
    Task(Sender<(usize, PageSlice)>, JoinHandle<Result<Vec<S>>>),
}

/// The most pages between the two tasks. With several, neither has to wake the other for each page.
const QUEUED_MAX: usize = 8;

impl<S: Sink> Collector<S> {
    fn start(mut sinks: Vec<S>) -> Self {
        if !S::COMPUTES {
            return Collector::Inline(Mutex::new(sinks));
        }
        let (sender, mut receiver) = channel(QUEUED_MAX);
        let task = tokio::spawn(async move {
            let mut queued = Vec::with_capacity(QUEUED_MAX);
            while receiver.recv_many(&mut queued, QUEUED_MAX).await > 0 {
                for (index, slice) in queued.drain(..) {
                    push_into(&mut sinks, index, slice)?;
                    // Other tasks have their turn after each page.
                    yield_now().await;
                }
            }
            Ok(sinks)
        });
        Collector::Task(sender, task)
    }

    async fn push(&self, index: usize, slice: PageSlice) -> Result<()> {
        match self {
            Collector::Inline(sinks) => {
                push_into(&mut sinks.lock().unwrap_or_else(PoisonError::into_inner), index, slice)
            }
            Collector::Task(sender, _) => {
                let sent = sender.send((index, slice)).await;
                sent.map_err(|_| Error::internal("the rows can no longer be collected"))
            }
        }
    }

    async fn finish(self) -> Result<Vec<S>> {
        match self {
            Collector::Inline(sinks) => {
                Ok(sinks.into_inner().unwrap_or_else(PoisonError::into_inner))
            }
            Collector::Task(sender, task) => {
                drop(sender);
                task.await.map_err(|error| Error::aborted(&error))?
            }
        }
    }
}

fn push<S: Sink>(sink: &mut S, slice: PageSlice, progress: &AtomicU64) -> Result<()> {
    progress.fetch_add(slice.range.len() as u64, Ordering::Relaxed);
    sink.push(slice)
}

fn push_into<S: Sink>(sinks: &mut [S], index: usize, slice: PageSlice) -> Result<()> {
    sinks.get_mut(index).map_or(Ok(()), |sink| sink.push(slice))
}

/// The error of using a pager whose end the caller has been informed of.
pub fn exhausted() -> Error {
    Error::misuse(
        "this pager is exhausted: every row has been received; keep the earlier result, or call the \
         client's method again for a new pager",
        "A pager reads its list once: make a new one to read it again.",
    )
}
