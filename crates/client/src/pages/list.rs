//! A list whose time range is fixed: its parts, which are read one after another.

use std::sync::Arc;

use futures_util::FutureExt;

use super::{
    Position,
    borders::Borders,
    link::{Link, Request},
    pace::Pace,
    part::{FetchedPage, Part, WindowPlace},
    position::KeysLeft,
    shared::Shared,
    window::{Window, split},
};
use crate::error::Result;

/// A list from a position on.
#[derive(Debug)]
pub struct List {
    pub shared: Arc<Shared>,
    /// The parts to read, in their order.
    pub parts: Vec<Arc<Part>>,
    /// The first pages of the parts that were requested in advance.
    firsts: Vec<Link<Vec<FetchedPage>>>,
    /// Number of parts at the beginning whose keys had already been begun.
    begun: usize,
    /// Number of the first key after these parts.
    next: usize,
}

/// The windows of a call, each with its starting position.
type Parts = Vec<(Option<Window>, Position)>;

impl List {
    /// Fixes the time range. An open range ends at the current time of the service's clock.
    pub async fn open(shared: Arc<Shared>, start: Position) -> Result<Arc<Self>> {
        let range = match (start.range, shared.listing.time_range()) {
            (Some(range), _) => Some(range),
            (None, None) => None,
            (None, Some(range)) if range.is_open() => {
                let call = shared.listing.valid_call();
                let now = match call {
                    Some(call) => shared.source.now(call).await?,
                    None => 0,
                };
                Some(range.resolve(now)?)
            }
            (None, Some(range)) => range.known(),
        };
        shared.note(|known| known.range = range.or(known.range));
        let start = Position { range, ..start };
        let list = match shared.listing.keys {
            Some(_) => List::of_keys(shared, start),
            None => List::of_call(shared, start),
        };
        Ok(Arc::new(list))
    }

    /// Returns the same range in this many windows, whose requests wait for their turns.
    pub fn in_windows(&self, count: usize, pace: Pace) -> Arc<Self> {
        let start = Position { range: self.fixed_range(), ..Position::default() };
        let parts = vec![(0, parts_of(&self.shared, 0, start, count))];
        Arc::new(List::new(self.shared.clone(), parts, Some(Arc::new(pace)), (0, 0)))
    }

    /// Returns a part for a single window of the range, which keeps all records that the service
    /// returns.
    pub fn probe(&self, window: Window) -> Arc<Part> {
        let (index, borders, pace) = (0, Arc::default(), None);
        let start = Position { range: self.fixed_range(), ..Position::default() };
        let place = WindowPlace { window, index, borders, pace };
        Part::new(self.shared.clone(), 0, Some(place), start)
    }

    /// Returns the time range that this list has fixed.
    fn fixed_range(&self) -> Option<(i64, i64)> {
        self.parts.first().and_then(|part| part.start.range)
    }

    /// Returns the whole time range.
    pub fn whole_range(&self) -> Option<(i64, i64)> {
        self.fixed_range().or_else(|| self.shared.listing.given_range())
    }

    fn of_call(shared: Arc<Shared>, start: Position) -> Self {
        let call = shared.listing.valid_call();
        let windows = call.map_or(1, |call| call.windows);
        let parts = match call.and_then(|call| call.part) {
            // The other windows are read by callers with lists of their own.
            Some(part) => {
                let whole = Position { part: None, cursor: None, ..start.clone() };
                let of_part = parts_of(&shared, 0, whole, windows).into_iter().nth(part);
                of_part.map(|(window, _)| (window, start)).into_iter().collect()
            }
            None => parts_of(&shared, 0, start, windows),
        };
        List::new(shared, vec![(0, parts)], None, (0, 0))
    }

    /// Creates the list of the keys that were already begun, including the key of the position, and
    /// the keys after them.
    fn of_keys(shared: Arc<Shared>, start: Position) -> Self {
        let range = start.range;
        let left = start.keys.clone().unwrap_or_else(|| {
            let end = if start.done { shared.listing.calls.len() } else { start.window + 1 };
            Box::new(KeysLeft { begun: Vec::new(), next: end })
        });
        let mut begun = left.begun;
        if !start.done && start.window < shared.listing.calls.len() {
            begun.push(Position { keys: None, ..start });
        }
        begun.sort_by_key(|position| position.window);
        let count = begun.len();
        let others = (left.next..shared.listing.calls.len()).map(|key| Position {
            range,
            window: key,
            ..Position::default()
        });
        let windows = shared.listing.valid_call().map_or(1, |call| call.windows);
        let keys = begun.into_iter().chain(others).map(|start| {
            let key = start.window;
            (key, parts_of(&shared, key, start, windows))
        });
        let keys: Vec<_> = keys.collect();
        let begun = keys.iter().take(count).map(|(_, parts)| parts.len()).sum();
        List::new(shared, keys, None, (begun, left.next))
    }

    /// Creates the list of these parts of calls.
    fn new(
        shared: Arc<Shared>,
        calls: Vec<(usize, Parts)>,
        pace: Option<Arc<Pace>>,
        (begun, next): (usize, usize),
    ) -> Self {
        let parts = calls.into_iter().flat_map(|(number, parts)| {
            parts.into_iter().map(move |(window, start)| (number, window, start))
        });
        let parts: Vec<_> = parts.collect();
        let windows = parts.iter().filter_map(|(number, window, _)| Some((*number, (*window)?)));
        let borders = Arc::new(Borders::of(windows.collect()));
        let mut indices = 0..;
        let parts: Vec<_> = parts
            .into_iter()
            .map(|(number, window, start)| {
                let place = window.map(|window| {
                    let index = indices.next().unwrap_or_default();
                    let (borders, pace) = (borders.clone(), pace.clone());
                    WindowPlace { window, index, borders, pace }
                });
                Part::new(shared.clone(), number, place, start)
            })
            .collect();
        let firsts = parts.iter().map(|_| Link::default()).collect();
        List { shared, parts, firsts, begun, next }
    }

    /// Returns the first pages of a part; none if there is no such part.
    pub async fn first_pages(&self, index: usize) -> Option<Result<Vec<FetchedPage>>> {
        let (part, link) = (self.parts.get(index)?, self.firsts.get(index)?);
        Some(link.wait(request_first(part, link)).await)
    }

    /// Returns the first pages of a part, if they were requested in advance.
    pub async fn requested_first(&self, index: usize) -> Option<Result<Vec<FetchedPage>>> {
        self.firsts.get(index)?.wait_if_begun().await
    }

    /// Requests the first pages of the parts after this one: of all windows, or of as many keys as
    /// are read concurrently.
    pub fn request_ahead(&self, index: usize) {
        let most = self.concurrency().saturating_sub(1);
        let parts = self.parts.iter().zip(&self.firsts);
        for (part, link) in parts.skip(index + 1).take(most) {
            let _begun = request_first(part, link);
        }
    }

    /// Forgets the first pages of a part, one of which was received.
    pub fn forget_first(&self, index: usize) {
        if let Some(link) = self.firsts.get(index) {
            link.clear();
        }
    }

    /// Returns true if the list is read in windows that the caller did not ask for.
    pub fn is_paced(&self) -> bool {
        self.parts.iter().any(|part| part.is_paced())
    }

    /// Returns the index of the last part of the same key.
    pub fn last_of_key(&self, index: usize) -> usize {
        let key = self.parts.get(index).map(|part| part.number);
        let others = self.parts.iter().skip(index + 1);
        index + others.take_while(|part| Some(part.number) == key).count()
    }

    /// Returns the number of parts that are read concurrently.
    pub fn concurrency(&self) -> usize {
        let keys = self.shared.listing.keys.as_ref();
        keys.map_or(self.parts.len(), |keys| keys.concurrency.max(1))
    }

    /// Returns the position at the end of a part, which is the beginning of the next one.
    pub fn position_after(&self, index: usize) -> Position {
        if let Some(part) = self.parts.get(index + 1) {
            return part.start.clone();
        }
        let last = self.parts.get(index).map(|part| &part.start);
        let (range, window) = last.map_or((None, 0), |start| (start.range, start.window));
        // A range that the caller passed is already in the call.
        let range = range.filter(|_| self.shared.listing.time_range().is_some());
        Position { range, window, done: true, ..Position::default() }
    }

    /// Adds the remaining keys to a position in a part. `failed` are the positions of the keys that
    /// have failed.
    pub fn with_keys(
        &self,
        position: Position,
        index: usize,
        failed: impl Iterator<Item = Position>,
    ) -> Position {
        if self.shared.listing.keys.is_none() {
            return position;
        }
        let mut key = self.parts.get(index).map(|part| part.number);
        let later = self.parts.iter().take(self.begun).skip(index + 1);
        // The first part of a key includes the windows after it.
        let later = later.filter(|part| key.replace(part.number) != Some(part.number));
        let begun: Vec<_> = failed.chain(later.map(|part| part.start.clone())).collect();
        let next = match self.parts.get(index) {
            Some(part) if index >= self.begun => part.start.window + 1,
            Some(_) => self.next,
            None => self.shared.listing.calls.len(),
        };
        let is_told = begun.is_empty() && (position.done || next == position.window + 1);
        let keys = (!is_told).then(|| Box::new(KeysLeft { begun, next }));
        Position { keys, ..position }
    }
}

/// Returns the parts of a call from a position on, each with its window and its beginning: the
/// remainder of the position's window and the windows before it in time, or the remainder of the
/// pages of one cursor.
fn parts_of(shared: &Shared, number: usize, start: Position, windows: usize) -> Parts {
    let range = start.range.or_else(|| shared.listing.given_range());
    let Some(range) = range.filter(|_| !start.done) else {
        return if start.done { Vec::new() } else { vec![(None, start)] };
    };
    let beginning = |window: Window| {
        let part = Some((window.first, window.last));
        let beginning =
            Position { range: Some(range), window: number, part, ..Position::default() };
        (Some(window), beginning)
    };
    match start.part {
        Some(times) => {
            let window = Window::of(range, times);
            let older = window.older(windows).map(beginning);
            [(Some(window), start)].into_iter().chain(older).collect()
        }
        None if windows > 1 && start.is_beginning() => {
            split(range, windows).into_iter().map(beginning).collect()
        }
        None => vec![(None, start)],
    }
}

/// Returns the request for the first pages of a part.
fn request_first(
    part: &Arc<Part>,
    link: &Link<Vec<FetchedPage>>,
) -> Arc<Request<Vec<FetchedPage>>> {
    link.begin(|| {
        let part = part.clone();
        async move { part.first().await }.boxed()
    })
}
