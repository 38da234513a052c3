//! Records as text that another process reads, for pickles: each record as the service sent it, and what
//! stood next to the list.

use std::{borrow::Cow, sync::Arc};

use bytes::Bytes;

use super::{Page, PageSlice, Rows, json::write_object, parse_page};
use crate::{
    api::{Envelope, RecordsLocation},
    error::Result,
};

const OUTER: &str = "page";

impl Rows {
    /// The text of each page, with the key of its records. Of a page it has these records alone.
    pub fn to_portable(&self) -> Vec<(String, Option<String>)> {
        let is_same_page = |one: &PageSlice, next: &PageSlice| {
            Arc::ptr_eq(&one.page, &next.page) && one.key == next.key
        };
        let chunks = self.slices().chunk_by(is_same_page);
        chunks.filter_map(|slices| Some((text_of(slices)?, key_of(slices)))).collect()
    }
}

fn key_of(slices: &[PageSlice]) -> Option<String> {
    slices.first()?.key.as_deref().map(str::to_owned)
}

fn text_of(slices: &[PageSlice]) -> Option<String> {
    let page = &slices.first()?.page;
    let meta: Vec<_> = page.meta().collect();
    let mut list = "rows".to_owned();
    while meta.iter().any(|(name, _)| *name == list) {
        list.push('_');
    }
    let mut text = format!("{{\"{OUTER}\":{{\"{list}\":[");
    let indices = slices.iter().flat_map(|slice| slice.range.clone());
    for (number, index) in indices.enumerate() {
        if number > 0 {
            text.push(',');
        }
        text.push_str(page.row_text(index));
    }
    text.push(']');
    if !meta.is_empty() {
        let mut members = String::new();
        write_object(meta.iter().map(|(name, value)| (*name, value)), &mut members);
        // Without its first brace it continues the object that has the list.
        text.push(',');
        text.push_str(members.get(1..)?);
        text.push('}');
    } else {
        text.push_str("}}");
    }
    Some(text)
}

/// The page of such a text.
pub fn portable_page(text: String) -> Result<Page> {
    // The list is the first member of the inner object.
    let list = text.split('"').nth(3).unwrap_or_default();
    let at = RecordsLocation::At(Cow::Owned(format!("{OUTER}.{list}")));
    parse_page(Envelope::Field(OUTER), &at, &http::Response::new(Bytes::from(text)))
}
