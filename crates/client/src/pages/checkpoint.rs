//! A position as a small JSON string without secrets, from which another process can resume.

use serde::{Deserialize, Serialize};

use super::{Listing, Position, paged_call::short_digest, shared::Shared};
use crate::{
    api::Argument,
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
    /// The account or plate, for the error when a checkpoint is used with another one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    of: Option<String>,
    /// A digest of the call and its arguments.
    id: String,
    at: Position,
    /// A digest of everything else.
    checksum: String,
}

const VERSION: u32 = 2;

/// Writes the checkpoint of a position. Fails if the service's cursor has a secret.
pub(super) fn write(position: &Position, shared: &Shared) -> Result<String> {
    let Shared { source, listing, .. } = shared;
    let failed = position.keys.iter().flat_map(|keys| &keys.begun);
    let mut cursors = failed.chain([position]).filter_map(|position| position.cursor.as_ref());
    let redactor = source.redactor();
    if cursors.any(|cursor| redactor.is_in(cursor)) {
        let text = "the service's cursor repeats a secret of this client, which a checkpoint must not \
                    contain: this position cannot be saved";
        let error = Error::pagination(text.to_owned()).with_advice(
            "Read the list without checkpoints, and report this to the service.".to_owned(),
        );
        return Err(error.with_endpoint(listing.label()));
    }
    Ok(text_of(position, listing, source.origin()))
}

/// Writes the checkpoint of a position in this list of the service at `origin`.
pub fn text_of(position: &Position, listing: &Listing, origin: &str) -> String {
    let mut checkpoint = Checkpoint {
        boardlot: VERSION,
        service: origin.to_owned(),
        call: listing.label().to_owned(),
        of: listing.subject().map(str::to_owned),
        id: listing.identity(),
        at: position.clone(),
        checksum: String::new(),
    };
    checkpoint.checksum = checkpoint.digest();
    checkpoint.to_json()
}

fn not_a_checkpoint(text: &str) -> Error {
    let is_json = text.trim_start().starts_with('{');
    let shown = match is_json {
        true => String::new(),
        false => format!(" {},", Argument::Text(text.to_owned()).shown()),
    };
    let text = format!("resume is{shown} not a checkpoint; pass what checkpoint() returned");
    match is_json {
        true => Error::config(text),
        false => Error::misuse(text, "If it is in a file, pass the content of the file."),
    }
}

/// Reads the position from a checkpoint of this list.
pub fn read(text: &str, listing: &Listing, origin: &str) -> Result<Position> {
    let mut checkpoint: Checkpoint = serde_json::from_slice(without_mark(text.as_bytes()))
        .map_err(|_| not_a_checkpoint(text))?;
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
            "resume is a checkpoint of another service ({}); this client uses {origin}",
            checkpoint.service.escape_debug()
        )));
    }
    if checkpoint.call != listing.label() || checkpoint.id != listing.identity() {
        return Err(of_another_call(&checkpoint, listing));
    }
    let at = checkpoint.at;
    let started = at.cursor.is_some() || at.row > 0 || at.window > 0 || at.part.is_some();
    let positions = || at.keys.iter().flat_map(|left| &left.begun).chain([&at]);
    let misplaced = match listing.time_range() {
        // The first page fixes the range.
        Some(_) => at.range.is_none() && started,
        None => positions().any(|at| at.range.is_some() && at.range != listing.given_range()),
    };
    if misplaced || !positions().all(|at| has_part(at, listing)) {
        return Err(Error::config("resume is a checkpoint with another time range"));
    }
    if !listing.has_keys(positions().map(|position| position.window)) {
        return Err(Error::config("resume is a checkpoint with other keys"));
    }
    Ok(at)
}

/// Returns the error for a checkpoint of another call. It names the accounts or plates if they
/// differ.
fn of_another_call(checkpoint: &Checkpoint, listing: &Listing) -> Error {
    let call = checkpoint.call.escape_debug();
    let expected = "pass the same arguments to the same method";
    Error::config(match (&checkpoint.of, listing.subject()) {
        (Some(of), Some(own)) if of != own => format!(
            "resume is a checkpoint of another call ({call} of {}); this call is of {own}: {expected}",
            of.escape_debug()
        ),
        _ if checkpoint.call == listing.label() => format!(
            "resume is a checkpoint of another call ({call}); {expected}: one such as code, start or page_size differs"
        ),
        _ => format!("resume is a checkpoint of another call ({call}); {expected}"),
    })
}

/// Returns true if the window of a position can be one of the list's time range.
fn has_part(at: &Position, listing: &Listing) -> bool {
    let Some((first, last)) = at.part else { return true };
    let range = at.range.or_else(|| listing.given_range());
    range.is_some_and(|(start, end)| start <= first && first <= last && last <= end)
}

impl Checkpoint {
    /// Computes a digest of everything but the checksum, which must be empty.
    fn digest(&self) -> String {
        short_digest(&self.to_json(), 16)
    }

    /// Serializes strings and numbers, which cannot fail.
    fn to_json(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }
}
