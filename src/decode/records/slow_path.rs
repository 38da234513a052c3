//! The slow path: finds the records of a response through serde, or says what is wrong with it.

use std::ops::Range;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{
    page::{MemberRanges, Page, PageMetadata},
    utf8::Utf8Bytes,
};
use crate::{
    api::RecordsLocation,
    decode::json::{Members, find_member, parse_members},
    error::{Error, Result, excerpt},
};

/// The number of lists that an error names.
const LISTS_SHOWN: usize = 8;

/// The page in a response with these top-level members, which is known to be valid JSON that is not
/// nested too deeply.
pub(in crate::decode) fn find_page(
    body: &Bytes,
    top: &Members<'_>,
    at: &RecordsLocation,
) -> Result<Page> {
    let body = Utf8Bytes::new(body)?;
    let (text, bytes) = (body.as_str(), body.bytes());
    let found = match at {
        RecordsLocation::At(path) => find_by_path(top, path),
        RecordsLocation::OnlyListOf(name) => find_only_list(top, name).map_err(|lists| {
            let places: Vec<String> = lists
                .iter()
                .take(LISTS_SHOWN)
                .map(|list| format!("\"{name}.{}\"", excerpt(list)))
                .collect();
            let text = format!(
                "the response has {} lists {at}: {}; expected one",
                lists.len(),
                places.join(", ")
            );
            let first = places.first().map_or("", String::as_str);
            let advice = format!(
                "If you declared this endpoint, say which list has the records, such as rows={first}; \
                 otherwise report the response."
            );
            Error::protocol(text, bytes).with_advice(advice)
        })?,
    };
    let no_list = |what: String| {
        let advice = "The response does not have this list: check `rows` if you set it; \
                      otherwise report the response.";
        Error::protocol(what, bytes).with_advice(advice.to_owned())
    };
    let (list, siblings) =
        found.ok_or_else(|| no_list(format!("the response has no list of records {at}")))?;
    let items: Vec<&RawValue> = serde_json::from_str(list.get())
        .map_err(|_| no_list(format!("the value {at} is not a list; expected a JSON array")))?;
    let mut rows = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        if !item.get().starts_with('{') {
            let advice = "Report the response: each record should be a JSON object.";
            let text = format!("record {index} is not a JSON object");
            return Err(Error::protocol(text, bytes).with_advice(advice.to_owned()));
        }
        rows.push(range_of(text, item.get()));
    }
    let ranges = |members: Members<'_>| -> MemberRanges {
        let others = members.into_iter().filter(|(_, value)| !std::ptr::eq(*value, list));
        others.map(|(key, value)| (key.into_owned(), range_of(text, value.get()))).collect()
    };
    let pagination = find_member(top, "pagination").map(|value| {
        let members = parse_members(value.get()).unwrap_or_default();
        (range_of(text, value.get()), ranges(members))
    });
    let metadata = PageMetadata { siblings: ranges(siblings), pagination };
    let page = Page::new(body.clone(), rows, None, metadata);
    page.check_escapes()?;
    Ok(page)
}

/// The position of a part of the text.
fn range_of(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}

/// The value that these names lead to, and the members of its object.
fn find_by_path<'a>(top: &Members<'a>, path: &str) -> Option<(&'a RawValue, Members<'a>)> {
    let mut members = top.clone();
    let mut rest = path;
    while let Some((name, inside)) = rest.split_once('.') {
        members = parse_members(find_member(&members, name)?.get()).ok()?;
        rest = inside;
    }
    let list = find_member(&members, rest)?;
    Some((list, members))
}

/// The only list in a member, or the member itself, and the members of its object; or the names of the
/// lists if there are several.
fn find_only_list<'a>(
    top: &Members<'a>,
    name: &str,
) -> Result<Option<(&'a RawValue, Members<'a>)>, Vec<String>> {
    let Some(data) = find_member(top, name) else { return Ok(None) };
    if data.get().starts_with('[') {
        return Ok(Some((data, Members::new())));
    }
    let Ok(members) = parse_members(data.get()) else { return Ok(None) };
    let mut lists = members.iter().filter(|(_, value)| value.get().starts_with('['));
    match (lists.next(), lists.next()) {
        (None, _) => Ok(None),
        (Some((_, list)), None) => Ok(Some((list, members))),
        (Some(first), Some(second)) => {
            let all = [first, second].into_iter().chain(lists);
            Err(all.map(|(name, _)| name.to_string()).collect())
        }
    }
}
