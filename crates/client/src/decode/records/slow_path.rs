//! The slow path: finds the records of a response through serde, or returns an error that tells
//! what is wrong.

use std::{iter::successors, ops::Range};

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{
    page::{MemberRanges, Page, PageMetadata},
    utf8::Utf8Bytes,
};
use crate::{
    api::RecordsLocation,
    decode::{
        json::{Members, Raw, find_member, parse_members},
        rules::{self, list_in_envelope, list_in_member},
    },
    error::{Error, Result, excerpt},
};

/// Maximum number of lists that an error names.
const LISTS_SHOWN: usize = 8;

/// Finds the page in a response with these top-level members, which is known to be valid JSON that
/// is not nested too deeply.
pub(in crate::decode) fn find_page(
    body: &Bytes,
    top: &Members<'_>,
    at: &RecordsLocation,
) -> Result<Page> {
    let body = Utf8Bytes::new(body)?;
    let (text, bytes) = (body.as_str(), body.bytes());
    let found = match at {
        RecordsLocation::At(path) => Ok(find_by_path(top, path)),
        RecordsLocation::OnlyListOf(name) => list_in_member(top, name),
        RecordsLocation::OnlyList => match text.trim_start().starts_with('[') {
            true => Ok(serde_json::from_str(text).ok().map(|list| (list, Members::new()))),
            false => list_in_envelope(top),
        },
    };
    let found = found.map_err(|lists| {
        let places: Vec<String> =
            lists.iter().take(LISTS_SHOWN).map(|list| format!("\"{}\"", excerpt(list))).collect();
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
    })?;
    let no_list = |what: String| {
        let advice = "The response does not have this list: check `rows` if you set it; \
                      otherwise report the response.";
        Error::protocol(what, bytes).with_advice(advice)
    };
    let (list, siblings) =
        found.ok_or_else(|| no_list(format!("the response has no list of records {at}")))?;
    // An undocumented list may be null, or have items that are not objects.
    let items: Option<Vec<&RawValue>> = serde_json::from_str(list.get())
        .map_err(|_| no_list(format!("the value {at} is not a list; expected a JSON array")))?;
    let mut rows = Vec::new();
    let mut wrapped = String::new();
    for (index, item) in items.into_iter().flatten().enumerate() {
        if item.get().starts_with('{') {
            rows.push(range_of(text, item.get()));
        } else if matches!(at, RecordsLocation::At(_)) {
            let advice = "Report the response: each record should be a JSON object.";
            let text = format!("record {index} is not a JSON object");
            return Err(Error::protocol(text, bytes).with_advice(advice));
        } else {
            let name = name_of_item(at, item).ok_or_else(|| {
                let shown = excerpt(item.get());
                Error::protocol(format!("record {index} is {shown}; expected a day"), bytes)
            })?;
            let start = text.len() + wrapped.len();
            wrapped += &format!("{{\"{name}\":{}}}", item.get());
            rows.push(start..text.len() + wrapped.len());
        }
    }
    let ranges = |members: Members<'_>| -> MemberRanges {
        let others = members.into_iter().filter(|(_, value)| !std::ptr::eq(*value, list));
        others.map(|(key, value)| (key.into_owned(), range_of(text, value.get()))).collect()
    };
    let pagination = find_member(top, "pagination").map(|value| {
        let members = parse_members(value.get()).unwrap_or_default();
        (range_of(text, value.get()), ranges(members))
    });
    let says_more = chain_to(list, top).find_map(|members| {
        rules::says_more(members.iter().map(|(name, value)| (&**name, value.get())))
    });
    let metadata = PageMetadata { siblings: ranges(siblings), pagination, says_more };
    let body = match wrapped.is_empty() {
        true => body,
        false => Utf8Bytes::new(&Bytes::from(format!("{text}{wrapped}")))?,
    };
    Ok(Page::new(body, rows, None, metadata))
}

/// Returns the position of a part of the text.
fn range_of(text: &str, part: &str) -> Range<usize> {
    let start = (part.as_ptr() as usize).saturating_sub(text.as_ptr() as usize);
    start..start + part.len()
}

/// Returns the value at this path of names, and the members of its object.
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

/// Returns the name of the only field of a record that is not an object. None if the item cannot be
/// a record: a text that is not a day may be the text of an error.
fn name_of_item(at: &RecordsLocation, item: &RawValue) -> Option<&'static str> {
    if *at != RecordsLocation::OnlyList || !item.get().starts_with('"') {
        return Some("value");
    }
    let text = Raw::new(item.get()).text()?;
    text.starts_with(|first: char| first.is_ascii_digit()).then_some("date")
}

/// Returns the members of the objects that contain a list, from the top.
fn chain_to<'a>(list: &'a RawValue, top: &Members<'a>) -> impl Iterator<Item = Members<'a>> {
    let list = list.get().as_bytes().as_ptr_range();
    successors(Some(top.clone()), move |members| {
        let contains = |value: &RawValue| {
            let range = value.get().as_bytes().as_ptr_range();
            range.start < list.start && list.end < range.end
        };
        let (_, inner) = members.iter().find(|(_, value)| contains(value))?;
        parse_members(inner.get()).ok()
    })
}
