//! Pages of a list, as the endpoint's paging continues it.

use std::ops::Range;

use boardlot_service::api::Paging;
use serde::Serialize;
use serde_json::{Value, json};

use super::{
    arguments::Arguments,
    cursor::QueryDigest,
    envelope::{Body, HandlerResult, Rejection},
};

const PAGE: usize = 50;
const PAGE_MAX: usize = 1_000;

/// The page that is requested of a list of this many rows, in the response's body.
pub fn page<R: Serialize>(
    mut body: Body,
    seed: u64,
    arguments: &Arguments,
    count: usize,
    rows: impl FnOnce(Range<usize>) -> R,
) -> HandlerResult {
    let is_next_key = matches!(arguments.endpoint.paging, Some(Paging::NextKey));
    let size = page_size(arguments, if is_next_key { "limit" } else { "page_size" }, PAGE)?;
    let identity = arguments.identity();
    let digest = QueryDigest::new(seed, &identity);
    let first = match arguments.cursor.as_deref() {
        None => 0,
        Some(cursor) => digest
            .read(cursor)
            .map(|place| place as usize)
            .filter(|place| *place <= count)
            .ok_or_else(|| Rejection::invalid("the cursor does not belong to this list"))?,
    };
    let end = first.saturating_add(size).min(count);
    let next = (end < count).then(|| digest.cursor(end as u32));
    if is_next_key {
        let pagination = json!({
            "has_more": next.is_some(),
            "next_key": next.unwrap_or_else(|| "-1".to_owned()),
            "total": count,
        });
        body.top("pagination", pagination);
    } else {
        body.beside("completed", Value::Bool(next.is_none()));
        body.beside("page_flag", Value::String(next.unwrap_or_default()));
    }
    Ok(body.rows(&rows(first..end)))
}

/// The size of a page: an argument of that name, or the default.
pub fn page_size(arguments: &Arguments, name: &str, default: usize) -> Result<usize, Rejection> {
    let Some(text) = arguments.sent(name) else { return Ok(default) };
    text.parse().ok().filter(|size| (1..=PAGE_MAX).contains(size)).ok_or_else(|| {
        let shown: String = text.chars().take(40).collect();
        Rejection::invalid(format!(
            "{name} is '{}'; expected an integer from 1 to {PAGE_MAX}",
            shown.escape_debug()
        ))
    })
}
