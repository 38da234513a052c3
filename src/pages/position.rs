//! Where the caller of an iteration stands: what its code has received.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{PreviousRows, cursor_history::Mark};

/// A place in a list, exact to the record.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Position {
    /// The time range of the whole iteration, once a record of it was received. Before that an open
    /// range stays open.
    pub range: Option<(i64, i64)>,
    /// The window that holds the next record; the latest is 0.
    pub window: usize,
    /// The cursor of the page that holds the next record; none for the first page.
    pub cursor: Option<String>,
    /// How many records of that page were received.
    pub row: usize,
    /// Whether nothing is left.
    pub done: bool,
    /// The rows of the page before that one, which it may repeat.
    pub previous_rows: PreviousRows,
    /// The cursors that were used in this window.
    pub used_cursors: Vec<Mark>,
}

/// The position that everybody may read at any moment.
///
/// It moves when a record, page or result has reached the caller's code, and by nothing else. The
/// lock is held for a few instructions: never while a request is under way and never while Python
/// runs, so that a signal handler, a hook or a finalizer can read it.
#[derive(Debug, Default)]
pub struct Standing(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    position: Position,
    total: Option<i64>,
    exhausted: bool,
}

impl Standing {
    pub fn at(position: Position) -> Self {
        Standing(Mutex::new(State { position, ..State::default() }))
    }

    pub fn position(&self) -> Position {
        self.state().position.clone()
    }

    /// The total number of records, if the service has told it.
    pub fn total(&self) -> Option<i64> {
        self.state().total
    }

    pub fn set_total(&self, total: Option<i64>) {
        if total.is_some() {
            self.state().total = total;
        }
    }

    /// Whether the caller knows that nothing is left.
    pub fn is_exhausted(&self) -> bool {
        self.state().exhausted
    }

    pub fn set_exhausted(&self) {
        let mut state = self.state();
        state.position.done = true;
        state.exhausted = true;
    }

    /// The next record of the same page was received.
    pub fn move_to_row(&self, row: usize) {
        self.state().position.row = row;
    }

    /// Moves to a place in this window, whose cursors so far are `used`.
    pub fn move_to(&self, mut position: Position, used: &[Mark]) {
        let mut state = self.state();
        // Those that are there already stay: an iteration costs as much for its last page as for its
        // first.
        let mut cursors = std::mem::take(&mut state.position.used_cursors);
        if state.position.window != position.window || cursors.len() > used.len() {
            cursors.clear();
        }
        cursors.extend_from_slice(used.get(cursors.len()..).unwrap_or_default());
        position.used_cursors = cursors;
        state.position = position;
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
