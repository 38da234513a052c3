//! Pages of a list, continued as the endpoint's paging says.

use std::ops::Range;

use base64::{Engine, engine::general_purpose::STANDARD};
use boardlot_service::api::CursorLocation;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::{
    arguments::Arguments,
    envelope::{Body, HandlerResult, Rejection},
};

const PAGE: usize = 50;
const PAGE_MAX: usize = 1_000;
/// Prefix of every cursor. It has characters that need encoding in a URL, so that a client that
/// alters them is detected.
const ODD: &str = "p /+&=%?#";

/// Writes the requested page of a list with this many rows into the response's body.
pub fn page<R: Serialize>(
    mut body: Body,
    seed: u64,
    arguments: &Arguments,
    count: usize,
    rows: impl FnOnce(Range<usize>) -> R,
) -> HandlerResult {
    let Some(paging) = arguments.endpoint.cursor_paging() else {
        return Ok(body.rows(&rows(0..count)));
    };
    let size = page_size(arguments, paging.page_size, PAGE)?;
    let list = format!("{seed} {:?}", arguments.identity());
    let first = match arguments.cursor.as_deref() {
        None => 0,
        Some(cursor) => position(&list, cursor)
            .map(|position| position as usize)
            .filter(|position| *position <= count)
            .ok_or_else(|| Rejection::invalid("the cursor does not belong to this list"))?,
    };
    let end = first.saturating_add(size).min(count);
    let next = (end < count).then(|| cursor(&list, end as u32));
    let (flag, at_end) = paging.end;
    let is_flagged = next.is_none() == at_end;
    let next = next.unwrap_or_else(|| paging.last.to_owned());
    match paging.location {
        CursorLocation::Pagination => {
            body.top("pagination", json!({ flag: is_flagged, paging.name: next, "total": count }));
        }
        CursorLocation::BesideRows => {
            body.beside(flag, json!(is_flagged));
            body.beside(paging.name, json!(next));
        }
    }
    Ok(body.rows(&rows(first..end)))
}

/// Returns the size of a page: an argument of that name, or the default.
pub fn page_size(arguments: &Arguments, name: &str, default: usize) -> Result<usize, Rejection> {
    let Some(text) = arguments.get(name) else { return Ok(default) };
    text.parse().ok().filter(|size| (1..=PAGE_MAX).contains(size)).ok_or_else(|| {
        let shown = text.escape_debug();
        Rejection::invalid(format!("{name} is '{shown}'; expected an integer from 1 to {PAGE_MAX}"))
    })
}

/// Returns the cursor of a position, bound to its list.
fn cursor(list: &str, position: u32) -> String {
    let digest = Sha256::digest(list);
    let digest = digest.get(..8).unwrap_or_default();
    format!("{ODD}{}", STANDARD.encode([digest, &position.to_be_bytes()].concat()))
}

/// Returns the position; `None` if the cursor was altered or belongs to another list.
fn position(list: &str, text: &str) -> Option<u32> {
    let bytes = STANDARD.decode(text.strip_prefix(ODD)?).ok()?;
    let position = u32::from_be_bytes(*bytes.last_chunk()?);
    (cursor(list, position) == text).then_some(position)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cursor_is_read_back_only_for_its_own_list() {
        let text = cursor("7 fills HK", 4_000_000_000);
        assert_eq!(position("7 fills HK", &text), Some(4_000_000_000));
        for odd in "/+&= ".chars() {
            assert!(text.contains(odd), "{text}");
        }
        for other in ["7 fills US", "8 fills HK", ""] {
            assert_eq!(position(other, &text), None);
        }
        for altered in ["", "x", text.split_at(1).1, &text.replace('+', " ")] {
            assert_eq!(position("7 fills HK", altered), None, "{altered}");
        }
    }
}
