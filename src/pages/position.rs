//! A position in a list.

use super::{PreviousRows, cursor_history::UsedCursors};

/// A position in a list, exact to the record. Cheap to clone.
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
    pub used_cursors: UsedCursors,
}
