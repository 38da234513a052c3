//! A position as a small JSON string without secrets, from which another process can resume.

use serde::{Deserialize, Serialize};

use super::{PagedCall, Position};
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
    at: Position,
    /// A digest of everything else.
    checksum: String,
}

const VERSION: u32 = 2;

/// The checkpoint of a position in this call of the service at `origin`.
pub fn write(position: &Position, call: &PagedCall, origin: &str) -> String {
    let mut checkpoint = Checkpoint {
        boardlot: VERSION,
        service: origin.to_owned(),
        call: call.plan.request.label.clone(),
        id: call.identity(),
        at: position.clone(),
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
    let at = checkpoint.at;
    let started = at.cursor.is_some() || at.row > 0 || at.window > 0;
    let misplaced = match call.time_range {
        // The range is fixed by the first record.
        Some(_) => at.range.is_none() && started,
        None => at.range.is_some(),
    };
    if misplaced {
        return Err(Error::config("resume is a checkpoint with another time range"));
    }
    Ok(at)
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
