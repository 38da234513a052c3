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

#[cfg(test)]
mod tests {
    use super::*;

    fn place(window: usize, row: usize) -> Position {
        Position { window, row, cursor: Some("c".into()), ..Position::default() }
    }

    #[test]
    fn cursors_are_added_within_a_window_and_replaced_by_those_of_another() {
        let standing = Standing::default();
        standing.move_to(place(0, 1), &[1, 2]);
        standing.move_to(place(0, 0), &[1, 2, 3]);
        assert_eq!(standing.position().used_cursors, [1, 2, 3]);
        // Back to an earlier place of the same window.
        standing.move_to(place(0, 2), &[7, 8]);
        assert_eq!(standing.position().used_cursors, [7, 8]);
        standing.move_to(place(1, 0), &[4, 5, 6]);
        assert_eq!(standing.position().used_cursors, [4, 5, 6]);
        standing.move_to_row(5);
        assert_eq!(standing.position(), Position { used_cursors: vec![4, 5, 6], ..place(1, 5) });
    }

    #[test]
    fn a_total_that_was_told_stays() {
        let standing = Standing::at(place(0, 3));
        assert_eq!(standing.total(), None);
        standing.set_total(Some(7));
        standing.set_total(None);
        assert_eq!(standing.total(), Some(7));
    }

    #[test]
    fn an_exhausted_iteration_is_done() {
        let standing = Standing::at(place(0, 3));
        assert!(!standing.is_exhausted() && !standing.position().done);
        standing.set_exhausted();
        assert!(standing.is_exhausted() && standing.position().done);
    }
}
