//! Everything from here on, for `all` and for frames.

use std::sync::atomic::{AtomicU64, Ordering};

use futures_util::future::try_join_all;

use super::Pages;
use crate::{
    decode::{BatchBuilder, Columns, PageSlice},
    error::{Error, Result},
};

/// Takes up records as they come.
pub trait Sink {
    fn push(&mut self, slice: PageSlice) -> Result<()>;
}

impl Sink for Vec<PageSlice> {
    fn push(&mut self, slice: PageSlice) -> Result<()> {
        Vec::push(self, slice);
        Ok(())
    }
}

impl<Make: Fn() -> Columns> Sink for BatchBuilder<Make> {
    fn push(&mut self, slice: PageSlice) -> Result<()> {
        self.push_slice(&slice)
    }
}

impl Pages {
    /// Everything from here on, up to the limits, into sinks that `sink` makes: one for each window,
    /// in the order of the list. Unless `received_all` follows, the caller stands where it stood
    /// before, and so does the checkpoint of an error.
    pub async fn gather<S: Sink>(
        &mut self,
        max_items: Option<usize>,
        max_pages: Option<usize>,
        progress: &AtomicU64,
        sink: impl Fn() -> S,
    ) -> Result<Vec<S>> {
        let outcome = match self.standing.is_exhausted() {
            true => Err(exhausted()),
            false => self.gather_from_here((max_items, max_pages), progress, sink).await,
        };
        outcome.map_err(|error| self.located(error))
    }

    async fn gather_from_here<S: Sink>(
        &mut self,
        limits: (Option<usize>, Option<usize>),
        progress: &AtomicU64,
        sink: impl Fn() -> S,
    ) -> Result<Vec<S>> {
        self.set_out().await?;
        self.under_way = false;
        match limits {
            (None, None) => self.gather_all(progress, sink).await,
            (items, pages) => {
                let most = (items.unwrap_or(usize::MAX), pages.unwrap_or(usize::MAX));
                self.gather_up_to(most, progress, sink()).await.map(|sink| vec![sink])
            }
        }
    }

    /// The caller has received what was gathered. `exhausted` tells whether it knows by this that
    /// nothing is left.
    pub fn received_all(&mut self, exhausted: bool) {
        self.under_way = true;
        if exhausted {
            self.received_end();
        } else {
            self.publish();
        }
    }

    /// All windows side by side, each as fast as it goes.
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
        let drains = self
            .streams
            .iter_mut()
            .zip(&mut sinks)
            .map(|(stream, sink)| stream.drain(sink, progress));
        try_join_all(drains).await?;
        // All were read to their ends: the iteration stands at that of the last.
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
            // A page ahead may be one that nobody wants.
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

/// The error of asking a pager for more that has said it has no more.
pub fn exhausted() -> Error {
    Error::config(
        "this pager is exhausted: every row was received before; keep the earlier result, or call \
         the client's method again for a new pager",
    )
}
