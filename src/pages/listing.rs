//! A list that comes in pages: what is asked for, and how a page tells where the list goes on.

use std::sync::Arc;

use super::{DateRange, PreviousRows};
use crate::{
    api::{Contract, Field, FirstPage, ParameterLocation},
    auth::body_hash,
    decode::{Page, RowsAt, Value},
    error::{Error, Result},
    http::{Body, Draft},
};

/// The request without its cursor, and how to read its pages and go on.
#[derive(Debug)]
pub struct Listing {
    pub draft: Draft,
    pub contract: Contract,
    pub rows_at: RowsAt,
    pub fields: Arc<[&'static Field]>,
    pub style: PagingStyle,
    /// The time range, where it is fixed by the client: left open by the caller, or in windows.
    pub span: Option<TimeRange>,
}

/// A time range in microseconds; an end that is none was left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRange {
    pub start: Option<i64>,
    pub end: Option<i64>,
    /// How long it is, where the document says so.
    pub default_days: i64,
    /// The field of the records that it is about.
    pub time_field: &'static str,
    /// Into how many parts it is split, to be fetched side by side.
    pub windows: usize,
}

impl TimeRange {
    /// Whether it depends on the clock.
    pub fn is_open(&self) -> bool {
        self.start.is_none() && self.end.is_none()
    }

    /// The range as the document says that the service would take it at this moment.
    pub fn resolve(&self, now_micros: i64) -> (i64, i64) {
        const MICROS_PER_DAY: i64 = 24 * 3_600 * 1_000_000;
        let length = self.default_days * MICROS_PER_DAY;
        match (self.start, self.end) {
            (Some(start), Some(end)) => (start, end),
            (Some(start), None) => (start, start.saturating_add(length)),
            (None, Some(end)) => (end.saturating_sub(length).max(1), end),
            (None, None) => (now_micros.saturating_sub(length), now_micros),
        }
    }
}

/// How a list goes on (section 2.4).
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PagingStyle {
    NextKey(ParameterLocation),
    PageFlag(ParameterLocation, FirstPage),
    DateRange(ParameterLocation, DateRange),
}

impl Listing {
    /// The request of one page.
    pub fn page_at(&self, range: Option<(i64, i64)>, cursor: Option<&str>) -> Result<Draft> {
        let mut draft = self.draft.clone();
        if let Some((start, end)) = range {
            draft.set(ParameterLocation::Query, "start", &start.to_string())?;
            draft.set(ParameterLocation::Query, "end", &end.to_string())?;
        }
        match (&self.style, cursor) {
            (PagingStyle::NextKey(place), Some(cursor)) => draft.set(*place, "next_key", cursor)?,
            (PagingStyle::NextKey(place), None) if draft.get(*place, "next_key").is_none() => {
                draft.set(*place, "next_key", "")?;
            }
            (PagingStyle::PageFlag(place, _), Some(cursor)) => {
                draft.set(*place, "page_flag", cursor)?
            }
            (PagingStyle::PageFlag(place, FirstPage::Empty), None) => {
                draft.set(*place, "page_flag", "")?
            }
            (PagingStyle::DateRange(place, range), Some(end)) => {
                draft.set(*place, &range.end, end)?
            }
            // What the caller wrote stands.
            (
                PagingStyle::NextKey(_)
                | PagingStyle::PageFlag(_, FirstPage::Omitted)
                | PagingStyle::DateRange(..),
                None,
            ) => {}
        }
        Ok(draft)
    }

    /// Where the list continues after the page at `cursor`: none if the service says that there is no
    /// more, or if a range of dates is exhausted. An empty page does not end the list. Rows that the
    /// page repeats of the one before are taken out of it, if the caller named what identifies a
    /// row; the next page is to be compared with those that are returned.
    pub fn advance(
        &self,
        page: &mut Page,
        cursor: Option<&str>,
        previous: &PreviousRows,
    ) -> Result<(Option<String>, PreviousRows)> {
        if !self.has_more(page)? {
            return match &self.style {
                PagingStyle::DateRange(_, range) => {
                    range.drop_repeated(page, previous).map(|rows| (None, rows))
                }
                PagingStyle::NextKey(_) | PagingStyle::PageFlag(..) => {
                    Ok((None, PreviousRows::default()))
                }
            };
        }
        match &self.style {
            PagingStyle::NextKey(_) => self.told(page, "next_key").map(Some),
            PagingStyle::PageFlag(..) => self.told(page, "page_flag").map(Some),
            PagingStyle::DateRange(place, range) => {
                let start = self.draft.get(*place, "start");
                let end = cursor.map(str::to_owned).or_else(|| self.draft.get(*place, &range.end));
                return range.advance(page, (start.as_deref(), end.as_deref()), previous);
            }
        }
        .map(|next| (next, PreviousRows::default()))
    }

    fn has_more(&self, page: &Page) -> Result<bool> {
        let (name, ends) = match self.style {
            PagingStyle::NextKey(_) | PagingStyle::DateRange(..) => ("has_more", false),
            PagingStyle::PageFlag(..) => ("completed", true),
        };
        let flag = self.beside(page, name).and_then(|value| value.as_bool());
        flag.map(|flag| flag != ends).ok_or_else(|| {
            let text = format!("the page does not tell {name} (true or false)");
            Error::protocol(text, page.body())
        })
    }

    /// The cursor that the page tells.
    fn told(&self, page: &Page, name: &str) -> Result<String> {
        let value = self.beside(page, name);
        value.as_ref().and_then(Value::as_text).map(str::to_owned).ok_or_else(|| {
            Error::protocol(format!("the page has no {name} to go on with"), page.body())
        })
    }

    fn beside<'a>(&self, page: &'a Page, name: &str) -> Option<Value<'a>> {
        match self.style {
            PagingStyle::PageFlag(..) => page.meta_member(name),
            PagingStyle::NextKey(_) | PagingStyle::DateRange(..) => page.pagination(name),
        }
    }

    /// Tells calls apart: the same method, path and arguments have the same digest.
    pub fn identity(&self) -> String {
        let draft = &self.draft;
        let body = match &draft.body {
            // No listing asks by a form, whose values are secrets.
            Body::None | Body::Form(_) => String::new(),
            Body::Json(members) => {
                members.iter().map(|(name, value)| format!("{name}:{value}\n")).collect()
            }
            Body::Bytes(bytes, _) => body_hash(bytes),
        };
        let windows = self.span.map_or(1, |span| span.windows);
        let text =
            format!("{}\n{}\n{:?}\n{windows}\n{body}", draft.method, draft.path, draft.query);
        body_hash(text.as_bytes()).chars().take(32).collect()
    }
}
