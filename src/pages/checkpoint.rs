//! Where an iteration stands, as a small text without secrets that another process can go on from.

use serde::{Deserialize, Serialize};

use super::{Listing, PreviousRows, seen::Seen};
use crate::error::{Error, Result};

/// A place in a list, to the record.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Position {
    /// The time range that was fixed for the whole iteration.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub range: Option<(i64, i64)>,
    /// The window that holds the next record; the latest is 0.
    #[serde(default, skip_serializing_if = "is_first")]
    pub window: usize,
    /// The cursor of the page that holds the next record; null for the first page.
    pub cursor: Option<String>,
    /// How many records of that page were handed out.
    pub row: usize,
    pub done: bool,
    /// The cursors up to that page, as `Seen` writes them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub seen: String,
    /// The rows of the page before, which that page may repeat.
    #[serde(default, skip_serializing_if = "PreviousRows::is_empty")]
    pub previous: PreviousRows,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Checkpoint {
    /// The version of this form.
    boardlot: u32,
    call: String,
    /// A digest of the call and its arguments.
    id: String,
    at: Position,
}

const VERSION: u32 = 1;

impl Position {
    /// The checkpoint that says this of a listing.
    pub fn to_json(&self, listing: &Listing) -> String {
        let checkpoint = Checkpoint {
            boardlot: VERSION,
            call: listing.draft.label.clone(),
            id: listing.identity(),
            at: self.clone(),
        };
        // Texts and numbers: writing them cannot fail.
        serde_json::to_string(&checkpoint).unwrap_or_default()
    }

    /// What a checkpoint of this very listing says.
    pub fn from_json(listing: &Listing, text: &str) -> Result<Self> {
        let checkpoint: Checkpoint = serde_json::from_str(text)
            .map_err(|error| Error::config(format!("resume is no checkpoint: {error}")))?;
        if checkpoint.boardlot != VERSION {
            return Err(Error::config(format!(
                "resume is a checkpoint of version {}; allowed is {VERSION}",
                checkpoint.boardlot
            )));
        }
        if checkpoint.call != listing.draft.label || checkpoint.id != listing.identity() {
            return Err(Error::config(format!(
                "resume is a checkpoint of another call ({}); give the same method the same \
                 arguments",
                checkpoint.call.escape_debug()
            )));
        }
        if checkpoint.at.range.is_some() != listing.span.is_some() {
            return Err(Error::config("resume is a checkpoint with another time range"));
        }
        Seen::read(&checkpoint.at.seen)?;
        Ok(checkpoint.at)
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_first(window: &usize) -> bool {
    *window == 0
}
