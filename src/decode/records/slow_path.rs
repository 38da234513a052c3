//! The slow path: finds the records of a response through serde, or says what is wrong with it.

use std::ops::Range;

use bytes::Bytes;
use serde_json::value::RawValue;

use super::{
    page::{MemberRanges, Page, PageMetadata, RowsAt},
    utf8::Utf8Bytes,
};
use crate::{
    decode::json::{Members, find_member, parse_members},
    error::{Error, Result},
};

/// The page in a response with these top-level members, which is known to be valid JSON that is not
/// nested too deeply.
pub(in crate::decode) fn find_page(body: &Bytes, top: &Members<'_>, at: &RowsAt) -> Result<Page> {
    let body = Utf8Bytes::new(body)?;
    let (text, bytes) = (body.as_str(), body.bytes());
    let found = match at {
        RowsAt::Path(path) => find_by_path(top, path),
        RowsAt::OnlyListOf(name) => find_only_list(top, name),
    };
    let (list, siblings) = found.ok_or_else(|| {
        Error::protocol(format!("the response has no list of records {at}"), bytes)
    })?;
    let items: Vec<&RawValue> = serde_json::from_str(list.get()).map_err(|_| {
        Error::protocol(format!("the value {at} is not a list; expected a JSON array"), bytes)
    })?;
    let mut rows = Vec::with_capacity(items.len());
    for (index, item) in items.into_iter().enumerate() {
        if !item.get().starts_with('{') {
            return Err(Error::protocol(format!("record {index} is not a JSON object"), bytes));
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
fn find_by_path<'a>(top: &Members<'a>, path: &[String]) -> Option<(&'a RawValue, Members<'a>)> {
    let (last, parents) = path.split_last()?;
    let mut members = top.clone();
    for name in parents {
        members = parse_members(find_member(&members, name)?.get()).ok()?;
    }
    let list = find_member(&members, last)?;
    Some((list, members))
}

/// The only list in a member, or the member itself, and the members of its object.
fn find_only_list<'a>(top: &Members<'a>, name: &str) -> Option<(&'a RawValue, Members<'a>)> {
    let data = find_member(top, name)?;
    if data.get().starts_with('[') {
        return Some((data, Members::new()));
    }
    let members = parse_members(data.get()).ok()?;
    let mut lists = members.iter().filter(|(_, value)| value.get().starts_with('['));
    let list = lists.next()?.1;
    lists.next().is_none().then_some((list, members))
}
