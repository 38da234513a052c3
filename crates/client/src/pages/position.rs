//! A position in a list.

use serde::{Deserialize, Serialize};

use super::{PreviousRows, cursor_history::UsedCursors};

/// A position in a list, exact to the record. Cheap to clone. A checkpoint has it in this form.
#[derive(Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Position {
    /// Time range of the whole iteration, once one of its pages has been received. Until then, an
    /// open range stays open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<(i64, i64)>,
    /// The number of the next record's key.
    #[serde(skip_serializing_if = "is_default")]
    pub window: usize,
    /// The times of the window that holds the next record, if the range is read in windows. Earlier
    /// records have not been received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub part: Option<(i64, i64)>,
    /// The cursor of the page that holds the next record; none for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Number of records of that page that were received.
    #[serde(skip_serializing_if = "is_default")]
    pub row: usize,
    /// Digest of the last received record of that page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The number of records that the page had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// True at the end of the list.
    #[serde(skip_serializing_if = "is_default")]
    pub done: bool,
    /// Rows of the page before the page of this position, which may repeat them.
    #[serde(rename = "previous", skip_serializing_if = "PreviousRows::is_empty")]
    pub previous_rows: PreviousRows,
    /// The cursors that have been used in this window, or list.
    #[serde(rename = "used", skip_serializing_if = "UsedCursors::is_empty")]
    pub used_cursors: UsedCursors,
    /// The keys that failed, if any did.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub keys: Option<Box<KeysLeft>>,
}

// A service may put secrets into a cursor.
boardlot_service::shown_as!(Position, |this| "Position(row {}, done {})", this.row, this.done);

/// The keys that remain in a list, besides the key of a position.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KeysLeft {
    /// The positions at which keys failed.
    pub begun: Vec<Position>,
    /// Number of the first key that was not begun.
    pub next: usize,
}

impl Position {
    /// Returns true if no record of the position's window was received, or of the list if one
    /// cursor reads it.
    pub fn is_beginning(&self) -> bool {
        self.cursor.is_none() && self.row == 0 && !self.done
    }
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
