//! A position in a list, and what is looked at there.

use serde::{Deserialize, Serialize};

use super::{PreviousRows, cursor_history::UsedCursors};

/// A position in a list, exact to the record. Cheap to clone. A checkpoint has it in this form.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Position {
    /// The time range of the whole iteration, once a record of it has been received. Until then, an
    /// open range stays open.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub range: Option<(i64, i64)>,
    /// The window that holds the next record; the latest is 0.
    #[serde(skip_serializing_if = "is_default")]
    pub window: usize,
    /// The cursor of the page that holds the next record; none for the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// The number of records of that page that were received.
    #[serde(skip_serializing_if = "is_default")]
    pub row: usize,
    /// The digest of the last of them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last: Option<String>,
    /// The number of records that the page had.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub length: Option<usize>,
    /// True if it is the end of the list.
    #[serde(skip_serializing_if = "is_default")]
    pub done: bool,
    /// The rows of the page before that one, which that page may repeat.
    #[serde(rename = "previous", skip_serializing_if = "PreviousRows::is_empty")]
    pub previous_rows: PreviousRows,
    /// The cursors that have been used in this window.
    #[serde(rename = "used", skip_serializing_if = "UsedCursors::is_empty")]
    pub used_cursors: UsedCursors,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

/// A ticket to receive what was looked at, unless something else has been received since.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ticket {
    pub(super) receipts: u64,
    /// The id of the page: if fetching has started again, the same records come with another page.
    pub(super) page: u64,
}

/// A conversion of an iteration's rows: each view of them has its own number.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct View(pub u64);

/// The amount that is requested at a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    /// One record.
    Row,
    /// The remaining records of a page.
    Page,
}
