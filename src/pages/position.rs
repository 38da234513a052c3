//! The position of an iteration: what the caller's code has received.

use std::sync::{
    Mutex, MutexGuard, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use super::{PreviousRows, cursor_history::CursorDigest};

/// A position in a list, exact to the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// The time range of the whole iteration, once a record of it has been received. Until then, an
    /// open range stays open.
    pub range: Option<(i64, i64)>,
    /// The window that holds the next record; the latest is 0.
    pub window: usize,
    /// The cursor of the page that holds the next record; none for the first page.
    pub cursor: Option<String>,
    /// How many records of that page were received.
    pub row: usize,
    /// Whether it is the end of the list.
    pub done: bool,
    /// The rows of the page before that one, which that page may repeat.
    pub previous_rows: PreviousRows,
    /// The cursors that have been used in this window.
    pub used_cursors: Vec<CursorDigest>,
}

/// The position, readable at any moment from any thread.
///
/// It moves only when a record, page or result has reached the caller's code. Its lock is held for a
/// few instructions, never during a request and never while Python runs, so that a signal handler, a
/// hook or a finalizer can read it.
#[derive(Debug, Default)]
pub struct SharedPosition {
    state: Mutex<State>,
    /// While a page is lent, that page and the row of the position, as `PageRow::packed`. Otherwise 0.
    lent: AtomicU64,
}

#[derive(Debug, Default)]
struct State {
    position: Position,
    /// The time range that is being read.
    range: Option<(i64, i64)>,
    total: Option<i64>,
    exhausted: bool,
}

/// A record of a page in memory.
#[derive(Debug, Clone, Copy, Default)]
pub struct PageRow {
    /// The id of the page.
    pub page: u64,
    /// Its index in the page.
    pub index: usize,
    /// The number of records of the page.
    pub page_length: usize,
}

impl PageRow {
    const INDEX_BITS: u32 = 24;

    /// One number for a page and an index, which one instruction compares and replaces. None if they do
    /// not fit: a page of 16 million records, or one after a trillion pages.
    fn packed(page: u64, index: usize) -> Option<u64> {
        let fits = page >> (u64::BITS - Self::INDEX_BITS) == 0 && index >> Self::INDEX_BITS == 0;
        fits.then_some(page << Self::INDEX_BITS | index as u64)
    }

    fn unpacked_index(packed: u64) -> usize {
        (packed & ((1 << Self::INDEX_BITS) - 1)) as usize
    }
}

impl SharedPosition {
    /// At this position.
    pub fn new(position: Position) -> Self {
        let range = position.range;
        let state = Mutex::new(State { position, range, ..State::default() });
        SharedPosition { state, lent: AtomicU64::default() }
    }

    /// The position at this moment.
    pub fn get(&self) -> Position {
        let state = self.state();
        let mut position = state.position.clone();
        // While the state is locked, no page is lent or taken back.
        match self.lent.load(Ordering::Acquire) {
            0 => {}
            lent => position.row = PageRow::unpacked_index(lent),
        }
        position
    }

    /// The time range that is being read, in microseconds since 1970; none until it is known, or if the
    /// list has none.
    pub fn range(&self) -> Option<(i64, i64)> {
        self.state().range
    }

    /// Notes the time range.
    pub(super) fn set_range(&self, range: Option<(i64, i64)>) {
        if range.is_some() {
            self.state().range = range;
        }
    }

    /// The total number of records, if the service has returned it.
    pub fn total(&self) -> Option<i64> {
        self.state().total
    }

    /// Notes the total number of records.
    pub fn set_total(&self, total: Option<i64>) {
        if total.is_some() {
            self.state().total = total;
        }
    }

    /// Whether the caller has been informed that the list has ended.
    pub fn is_exhausted(&self) -> bool {
        self.state().exhausted
    }

    /// The caller has been informed that the list has ended.
    pub(super) fn set_exhausted(&self) {
        self.state().exhausted = true;
    }

    /// The next record of the same page has been received.
    pub fn move_to_row(&self, row: usize) {
        self.state().position.row = row;
    }

    /// Lets `receive_lent` receive the records of this page, from the position on, but not the last one:
    /// after that, the position is in another page.
    pub(super) fn lend(&self, page: u64) {
        let state = self.state();
        let packed = PageRow::packed(page, state.position.row).unwrap_or_default();
        self.lent.store(packed, Ordering::Release);
    }

    /// Ends that, and returns the number of records of the page that have been received.
    pub(super) fn take_back(&self) -> Option<usize> {
        let mut state = self.state();
        match self.lent.swap(0, Ordering::AcqRel) {
            0 => None,
            lent => {
                state.position.row = PageRow::unpacked_index(lent);
                Some(state.position.row)
            }
        }
    }

    /// Receives this record of a lent page. False if it is not the next one, or not of a lent page.
    #[inline]
    pub fn receive_lent(&self, row: PageRow) -> bool {
        let PageRow { page, index, page_length } = row;
        let (now, next) = (PageRow::packed(page, index), PageRow::packed(page, index + 1));
        match (now, next) {
            (Some(now), Some(next)) if index + 1 < page_length => {
                let (lent, relaxed) = (&self.lent, Ordering::Relaxed);
                lent.compare_exchange(now, next, Ordering::AcqRel, relaxed).is_ok()
            }
            _ => false,
        }
    }

    /// Moves to a position, with the cursors that have been used in its window.
    pub fn move_to(&self, mut position: Position, used: &[CursorDigest]) {
        let mut state = self.state();
        // Only new ones are copied, so that the last page of an iteration costs no more than the first.
        let mut cursors = std::mem::take(&mut state.position.used_cursors);
        if state.position.window != position.window || cursors.len() > used.len() {
            cursors.clear();
        }
        cursors.extend_from_slice(used.get(cursors.len()..).unwrap_or_default());
        position.used_cursors = cursors;
        state.position = position;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn position_at(window: usize, row: usize) -> Position {
        Position { window, row, cursor: Some("c".into()), ..Position::default() }
    }

    #[test]
    fn cursors_are_added_within_a_window_and_replaced_by_those_of_another() {
        let position = SharedPosition::default();
        position.move_to(position_at(0, 1), &[1, 2]);
        position.move_to(position_at(0, 0), &[1, 2, 3]);
        assert_eq!(position.get().used_cursors, [1, 2, 3]);
        // Back to an earlier position in the same window.
        position.move_to(position_at(0, 2), &[7, 8]);
        assert_eq!(position.get().used_cursors, [7, 8]);
        position.move_to(position_at(1, 0), &[4, 5, 6]);
        assert_eq!(position.get().used_cursors, [4, 5, 6]);
        position.move_to_row(5);
        assert_eq!(position.get(), Position { used_cursors: vec![4, 5, 6], ..position_at(1, 5) });
    }

    #[test]
    fn a_known_total_is_kept() {
        let position = SharedPosition::new(position_at(0, 3));
        assert_eq!(position.total(), None);
        position.set_total(Some(7));
        position.set_total(None);
        assert_eq!(position.total(), Some(7));
    }

    #[test]
    fn a_caller_that_knows_of_the_end_does_not_move_the_position() {
        let position = SharedPosition::new(position_at(0, 3));
        assert!(!position.is_exhausted());
        position.set_exhausted();
        assert!(position.is_exhausted());
        assert_eq!(position.get(), position_at(0, 3));
    }

    #[test]
    fn a_known_range_is_kept() {
        let position = SharedPosition::new(position_at(0, 3));
        assert_eq!(position.range(), None);
        position.set_range(Some((1, 2)));
        position.set_range(None);
        assert_eq!(position.range(), Some((1, 2)));
        let resumed = Position { range: Some((3, 4)), ..position_at(0, 3) };
        assert_eq!(SharedPosition::new(resumed).range(), Some((3, 4)));
    }
}
