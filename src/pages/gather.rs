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

use super::{Pages, Sink};
use crate::{
    decode::PageSlice,
    error::{Error, Result},
};

impl Pages {
    /// The remaining records, up to the limits, in sinks that `sink` creates: one for each window, in
    /// the order of the list. Unless `received_all` follows, the position does not move; the checkpoint
    /// of an error is the position before.
    pub async fn gather<S: Sink>(
        &mut self,
        max_items: Option<usize>,
        max_pages: Option<usize>,
        progress: &AtomicU64,
        sink: impl Fn() -> S,
    ) -> Result<Vec<S>> {
        let outcome = match self.position.is_exhausted() {
            true => Err(exhausted()),
            false => self.gather_rest((max_items, max_pages), progress, sink).await,
        };
        outcome.map_err(|error| self.located(error))
    }

    async fn gather_rest<S: Sink>(
        &mut self,
        limits: (Option<usize>, Option<usize>),
        progress: &AtomicU64,
        sink: impl Fn() -> S,
    ) -> Result<Vec<S>> {
        self.start().await?;
        self.started = false;
        match limits {
            (None, None) => self.gather_all(progress, sink).await,
            (items, pages) => {
                let most = (items.unwrap_or(usize::MAX), pages.unwrap_or(usize::MAX));
                self.gather_up_to(most, progress, sink()).await.map(|sink| vec![sink])
            }
        }
    }

    /// The caller has received what was gathered; `is_rest` if it knows from this that nothing follows, if
    /// the list has ended.
    pub fn received_all(&mut self, is_rest: bool) {
        self.started = true;
        if is_rest {
            self.received_end();
        } else {
            self.publish();
        }
    }

    /// All windows concurrently, each at its own speed.
    async fn gather_all<S: Sink>(
        &mut self,
        progress: &AtomicU64,
        sink: impl Fn() -> S,
    ) -> Result<Vec<S>> {
        if !self.has_page() {
            self.advance(true).await?;
        }
        let mut sinks: Vec<S> = self.streams.iter().map(|_| sink()).collect();
        if let Some(slice) = self.take_slice(usize::MAX)
            && let Some(first) = sinks.first_mut()
        {
            progress.fetch_add(slice.range.len() as u64, Ordering::Relaxed);
            first.push(slice)?;
        }
        let collector = Collector::start(sinks);
        let drains = self.streams.iter_mut().enumerate().map(async |(index, stream)| {
            while let Some(slice) = stream.next_slice().await? {
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
        let before = self.streams.len().saturating_sub(1);
        self.streams.drain(..before);
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
            // A prefetched page may be beyond the limits.
            if !self.has_page() && !self.advance(false).await? {
                break;
            }
            if let Some(slice) = self.take_slice(items) {
                items -= slice.range.len();
                pages -= 1;
                progress.fetch_add(slice.range.len() as u64, Ordering::Relaxed);
                sink.push(slice)?;
            }
        }
        Ok(sink)
    }
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
                    push(&mut sinks, index, slice)?;
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
                push(&mut sinks.lock().unwrap_or_else(PoisonError::into_inner), index, slice)
            }
            Collector::Task(sender, _) => {
                let sent = sender.send((index, slice)).await;
                sent.map_err(|_| Error::config("the rows can no longer be collected"))
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

fn push<S: Sink>(sinks: &mut [S], index: usize, slice: PageSlice) -> Result<()> {
    sinks.get_mut(index).map_or(Ok(()), |sink| sink.push(slice))
}

/// The error of using a pager whose end the caller has been informed of.
pub fn exhausted() -> Error {
    Error::config(
        "this pager is exhausted: every row has been received; keep the earlier result, or call the \
         client's method again for a new pager",
    )
}
