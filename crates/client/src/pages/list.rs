//! A list whose time range is fixed: its parts, which are read one after another.

use std::sync::{Arc, Mutex};

use futures_util::FutureExt;

use super::{
    Position,
    link::{Link, Request},
    part::{FetchedPage, Part},
    position::KeysLeft,
    shared::Core,
    window::{self, Window},
};
use crate::error::Result;

/// A list from a position on.
#[derive(Debug)]
pub struct List {
    pub core: Arc<Core>,
    /// The parts that are read, in their order.
    pub parts: Vec<Arc<Part>>,
    /// The first pages of the parts that were requested ahead.
    firsts: Vec<Link<Vec<FetchedPage>>>,
    /// The number of parts, the first ones, that had been begun before.
    begun: usize,
    /// The number of the first key after these.
    next: usize,
}

impl List {
    /// Fixes the time range. An open one ends now, by the service's clock.
    pub async fn open(core: Arc<Core>, start: Position) -> Result<Arc<Self>> {
        let range = match (start.range, core.listing.time_range()) {
            (Some(range), _) => Some(range),
            (None, None) => None,
            (None, Some(range)) if range.is_open() => {
                let call = core.listing.valid_call();
                let now = match call {
                    Some(call) => core.source.now(call).await?,
                    None => 0,
                };
                Some(range.resolve(now)?)
            }
            (None, Some(range)) => range.known(),
        };
        core.note(|known| known.range = range.or(known.range));
        let start = Position { range, ..start };
        let list = match core.listing.keys {
            Some(_) => List::of_keys(core, start),
            None => List::of_windows(core, start),
        };
        Ok(Arc::new(list))
    }

    /// The list from the beginning of a window on that was chosen as pages came: the window, and all that
    /// precedes it in time.
    pub fn beginning_with(&self, times: (i64, i64)) -> Arc<Self> {
        let range = self.parts.first().and_then(|part| part.start.range);
        let part = Some(times).filter(|times| Some(*times) != self.whole_range());
        let start = Position { range, part, ..Position::default() };
        Arc::new(List::of_windows(self.core.clone(), start))
    }

    /// The list of a part's key alone, if it can be collected in windows. Where errors are collected, it is not: a
    /// failure has the position of one cursor.
    pub fn alone(&self, index: usize) -> Option<Arc<Self>> {
        let part = self.parts.get(index).filter(|part| part.start.is_beginning())?;
        let listing = self.core.listing.of_key(part.start.window)?;
        let (source, requests) = (self.core.source.clone(), self.core.requests.clone());
        let core = Core { source, listing, requests, known: Mutex::default() };
        let start = Position { range: part.start.range, ..Position::default() };
        Some(Arc::new(List::of_windows(Arc::new(core), start)))
    }

    /// The whole time range.
    pub fn whole_range(&self) -> Option<(i64, i64)> {
        let start = self.parts.first().map(|part| &part.start)?;
        start.range.or_else(|| self.core.listing.given_range())
    }

    fn of_windows(core: Arc<Core>, start: Position) -> Self {
        if let Some(part) = start.part.filter(|_| !start.done) {
            return List::of_chosen_window(core, start, part);
        }
        let call = core.listing.valid_call().cloned();
        let (windows, part) = call.as_ref().map_or((1, None), |call| (call.windows, call.part));
        let range = start.range;
        let split = match range {
            Some(range) if windows > 1 => window::split(range, windows),
            _ => Vec::new(),
        };
        let last = split.len().saturating_sub(1);
        let (current, count) = match part {
            Some(part) => (part, 1),
            None => (start.window.min(last), split.len()),
        };
        let mut split = split.into_iter().enumerate().skip(current).take(count);
        let first = split.next().map(|(_, window)| window);
        let starts = std::iter::once((first, start)).chain(split.map(|(number, window)| {
            (Some(window), Position { range, window: number, ..Position::default() })
        }));
        let parts = starts
            .filter(|(_, start)| !start.done)
            .map(|(window, start)| Part::new(core.clone(), 0, window, start));
        List::new(core.clone(), parts.collect(), 0, 0)
    }

    fn of_chosen_window(core: Arc<Core>, start: Position, (first, last): (i64, i64)) -> Self {
        let range = start.range.or_else(|| core.listing.given_range());
        let (from, until) = range.unwrap_or((first, last));
        let window = |times| Some(Window::of((from, until), times));
        let rest = (first > from).then(|| {
            let part = (from, first.saturating_sub(1));
            let start = Position { range: start.range, part: Some(part), ..Position::default() };
            (window(part), start)
        });
        let parts = [(window((first, last)), start)].into_iter().chain(rest);
        let parts = parts.map(|(window, start)| Part::new(core.clone(), 0, window, start));
        List::new(core.clone(), parts.collect(), 0, 0)
    }

    /// The keys that were begun before, the key of the position among them, and the ones after these.
    fn of_keys(core: Arc<Core>, start: Position) -> Self {
        let range = start.range;
        let left = start.keys.clone().unwrap_or_else(|| {
            let end = if start.done { core.listing.calls.len() } else { start.window + 1 };
            Box::new(KeysLeft { begun: Vec::new(), next: end })
        });
        let mut begun = left.begun;
        if !start.done && start.window < core.listing.calls.len() {
            begun.push(Position { keys: None, ..start });
        }
        begun.sort_by_key(|position| position.window);
        let count = begun.len();
        let others = (left.next..core.listing.calls.len()).map(|key| Position {
            range,
            window: key,
            ..Position::default()
        });
        let parts = begun
            .into_iter()
            .chain(others)
            .map(|start| Part::new(core.clone(), start.window, None, start));
        List::new(core.clone(), parts.collect(), count, left.next)
    }

    fn new(core: Arc<Core>, parts: Vec<Arc<Part>>, begun: usize, next: usize) -> Self {
        let firsts = parts.iter().map(|_| Link::default()).collect();
        List { core, parts, firsts, begun, next }
    }

    /// The first pages of a part; nothing if there is no such part.
    pub async fn first_pages(&self, index: usize) -> Option<Result<Vec<FetchedPage>>> {
        let (part, link) = (self.parts.get(index)?, self.firsts.get(index)?);
        Some(link.wait(request_first(part, link)).await)
    }

    /// The first pages of a part, if they were requested ahead.
    pub async fn requested_first(&self, index: usize) -> Option<Result<Vec<FetchedPage>>> {
        self.firsts.get(index)?.wait_if_begun().await
    }

    /// Requests the first pages of the parts after this one: of all windows, or of as many keys as are read side by
    /// side.
    pub fn request_ahead(&self, index: usize) {
        let most = self.concurrency().saturating_sub(1);
        let parts = self.parts.iter().zip(&self.firsts);
        for (part, link) in parts.skip(index + 1).take(most) {
            let _begun = request_first(part, link);
        }
    }

    /// Forgets the first pages of a part, of which one was received.
    pub fn forget_first(&self, index: usize) {
        if let Some(link) = self.firsts.get(index) {
            link.clear();
        }
    }

    /// The number of parts that are read side by side.
    pub fn concurrency(&self) -> usize {
        let keys = self.core.listing.keys.as_ref();
        keys.map_or(self.parts.len(), |keys| keys.concurrency.max(1))
    }

    /// The position at the end of a part, which is the beginning of the next one.
    pub fn position_after(&self, index: usize) -> Position {
        if let Some(part) = self.parts.get(index + 1) {
            return part.start.clone();
        }
        let last = self.parts.get(index).map(|part| &part.start);
        let (range, window) = last.map_or((None, 0), |start| (start.range, start.window));
        Position { range, window, done: true, ..Position::default() }
    }

    /// The position in a part with the keys that are left, of which these have failed.
    pub fn with_keys(
        &self,
        position: Position,
        index: usize,
        failed: impl Iterator<Item = Position>,
    ) -> Position {
        if self.core.listing.keys.is_none() {
            return position;
        }
        let later = self.parts.iter().take(self.begun).skip(index + 1);
        let begun: Vec<_> = failed.chain(later.map(|part| part.start.clone())).collect();
        let next = match self.parts.get(index) {
            Some(part) if index >= self.begun => part.start.window + 1,
            Some(_) => self.next,
            None => self.core.listing.calls.len(),
        };
        let is_told = begun.is_empty() && (position.done || next == position.window + 1);
        let keys = (!is_told).then(|| Box::new(KeysLeft { begun, next }));
        Position { keys, ..position }
    }
}

/// The request for the first pages of a part.
fn request_first(
    part: &Arc<Part>,
    link: &Link<Vec<FetchedPage>>,
) -> Arc<Request<Vec<FetchedPage>>> {
    link.begin(|| {
        let part = part.clone();
        async move { part.first().await }.boxed()
    })
}
