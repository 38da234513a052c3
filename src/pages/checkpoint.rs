//! A position as a small JSON string without secrets, from which another process can resume.

use serde::{Deserialize, Serialize};

use super::{
    PagedCall, Position, PreviousRows,
    cursor_history::{decode, encode},
};
use crate::{
    auth::body_hash,
    error::{Error, Result},
    os::texts::without_mark,
};

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Checkpoint {
    /// The version of this format.
    boardlot: u32,
    /// The address of the service.
    service: String,
    call: String,
    /// A digest of the call and its arguments.
    id: String,
    at: StoredPosition,
    /// A digest of everything else.
    checksum: String,
}

#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct StoredPosition {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    range: Option<(i64, i64)>,
    #[serde(default, skip_serializing_if = "is_zero")]
    window: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    cursor: Option<String>,
    #[serde(default, skip_serializing_if = "is_zero")]
    row: usize,
    #[serde(default, skip_serializing_if = "is_false")]
    done: bool,
    /// The rows of the previous page, which that page may repeat.
    #[serde(default, skip_serializing_if = "PreviousRows::is_empty")]
    previous: PreviousRows,
    /// The cursors up to that page, as `cursor_history` writes them.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    used: String,
}

const VERSION: u32 = 2;

/// The checkpoint of a position in this call of the service at `origin`.
pub fn write(position: &Position, call: &PagedCall, origin: &str) -> String {
    let mut checkpoint = Checkpoint {
        boardlot: VERSION,
        service: origin.to_owned(),
        call: call.plan.request.label.clone(),
        id: call.identity(),
        at: StoredPosition {
            range: position.range,
            window: position.window,
            cursor: position.cursor.clone(),
            row: position.row,
            done: position.done,
            previous: position.previous_rows.clone(),
            used: encode(&position.used_cursors),
        },
        checksum: String::new(),
    };
    checkpoint.checksum = checkpoint.digest();
    checkpoint.to_json()
}

/// The position in a checkpoint of this call.
pub fn read(text: &str, call: &PagedCall, origin: &str) -> Result<Position> {
    let mut checkpoint: Checkpoint = serde_json::from_slice(without_mark(text.as_bytes()))
        .map_err(|_| {
            Error::config("resume is not a checkpoint; pass what checkpoint() returned")
        })?;
    if checkpoint.boardlot != VERSION {
        return Err(Error::config(format!(
            "resume is a checkpoint of format {}; expected format {VERSION}: start from the \
             beginning",
            checkpoint.boardlot
        )));
    }
    let checksum = std::mem::take(&mut checkpoint.checksum);
    if checkpoint.digest() != checksum {
        return Err(Error::config(
            "resume is a damaged checkpoint: its checksum does not match; use it exactly as \
             checkpoint() returned it",
        ));
    }
    if checkpoint.service != origin {
        return Err(Error::config(format!(
            "resume is a checkpoint of another service ({}); this client's is {origin}",
            checkpoint.service.escape_debug()
        )));
    }
    if checkpoint.call != call.plan.request.label || checkpoint.id != call.identity() {
        return Err(Error::config(format!(
            "resume is a checkpoint of another call ({}); pass the same arguments to the same method",
            checkpoint.call.escape_debug()
        )));
    }
    let StoredPosition { range, window, cursor, row, done, previous, used } = checkpoint.at;
    let started = cursor.is_some() || row > 0 || window > 0;
    let misplaced = match call.time_range {
        // The range is fixed by the first record.
        Some(_) => range.is_none() && started,
        None => range.is_some(),
    };
    if misplaced {
        return Err(Error::config("resume is a checkpoint with another time range"));
    }
    let (previous_rows, used_cursors) = (previous, decode(&used)?);
    Ok(Position { range, window, cursor, row, done, previous_rows, used_cursors })
}

impl Checkpoint {
    /// A digest of everything but the checksum, which must be empty.
    fn digest(&self) -> String {
        body_hash(self.to_json().as_bytes()).chars().take(16).collect()
    }

    /// Strings and numbers: serializing them cannot fail.
    fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_zero(number: &usize) -> bool {
    *number == 0
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "as serde calls it")]
fn is_false(flag: &bool) -> bool {
    !*flag
}
