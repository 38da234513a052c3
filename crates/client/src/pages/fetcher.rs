//! Fetching: requests, and pages that are fetched ahead. It knows nothing of what was received.

use std::{
    collections::VecDeque,
    sync::{Arc, atomic::AtomicU64},
};

use super::{
    PagedCall, Position, Source,
    page_stream::{FetchedPage, PageStream},
    window,
};
use crate::error::Result;

/// Fetches the pages of a call, one after another from a position on.
#[derive(Debug)]
pub struct Fetcher {
    source: Arc<dyn Source>,
    call: Arc<PagedCall>,
    requests: Arc<AtomicU64>,
    /// The streams that are not at their end: the current window first, then the earlier ones.
    pub(super) streams: VecDeque<PageStream>,
    pub(super) run: Run,
}

/// One start of fetching: pages of different runs do not follow each other.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Run(u64);

impl Fetcher {
    /// One that has not started.
    pub fn new(source: Arc<dyn Source>, call: Arc<PagedCall>, requests: Arc<AtomicU64>) -> Self {
        Fetcher { source, call, requests, streams: VecDeque::new(), run: Run::default() }
    }

    /// Starts another run, to which its pages from here on belong.
    pub fn new_run(&mut self) -> Run {
        self.run = Run(self.run.0 + 1);
        self.run
    }

    /// Starts again, at this position. Sends nothing.
    pub fn start(&mut self, position: Position) -> Run {
        let windows = match position.range {
            Some(range) if self.call.windows > 1 => window::split(range, self.call.windows),
            _ => Vec::new(),
        };
        let stream = |window, position| {
            let (source, call) = (self.source.clone(), self.call.clone());
            PageStream::new(source, call, window, position, self.requests.clone())
        };
        let range = position.range;
        let last = windows.len().saturating_sub(1);
        let (current, count) = match self.call.part {
            Some(part) => (part, 1),
            None => (position.window.min(last), windows.len()),
        };
        let last = self.call.part.unwrap_or(last);
        let mut parts = windows.into_iter().enumerate().skip(current).take(count);
        let first = parts.next().map(|(index, window)| (window, index < last));
        self.streams = VecDeque::from([stream(first, position)]);
        self.streams.extend(parts.map(|(index, window)| {
            let start = Position { range, window: index, ..Position::default() };
            stream(Some((window, index < last)), start)
        }));
        self.new_run()
    }

    /// The next page; none at the end. With `ahead`, the page after it is requested as well, and one of
    /// each further window.
    pub async fn next_page(&mut self, ahead: bool) -> Result<Option<FetchedPage>> {
        loop {
            if ahead {
                self.streams.iter_mut().for_each(PageStream::prefetch);
            }
            let Some(stream) = self.streams.front_mut() else { return Ok(None) };
            if let Some(page) = stream.fetch().await? {
                if ahead {
                    stream.prefetch();
                }
                return Ok(Some(page));
            }
            if self.streams.len() <= 1 {
                return Ok(None);
            }
            self.streams.pop_front();
        }
    }
}
