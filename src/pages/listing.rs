//! A list that comes in pages: what is asked for, and how a page tells where the list goes on.

use std::sync::Arc;

use jiff::ToSpan;

use crate::{
    api::{Contract, Field, FirstPage, Place},
    auth::body_hash,
    decode::{Page, RowsAt, Value, calendar_date},
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
    pub style: Style,
    /// The time range, where it is fixed by the client: left open by the caller, or in windows.
    pub span: Option<Span>,
}

/// A time range in microseconds; an end that is none was left open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    pub start: Option<i64>,
    pub end: Option<i64>,
    /// How long it is, where the document says so.
    pub default_days: i64,
    /// The field of the records that it is about.
    pub moment: &'static str,
    /// Into how many parts it is split, to be fetched side by side.
    pub windows: usize,
}

impl Span {
    /// Whether it depends on the clock.
    pub fn is_open(&self) -> bool {
        self.start.is_none() && self.end.is_none()
    }

    /// The range as the document says that the service would take it at this moment.
    pub fn fix(&self, now_micros: i64) -> (i64, i64) {
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
pub enum Style {
    NextKey(Place),
    PageFlag(Place, FirstPage),
    DateRange(Place, DateRange),
}

/// Paging backward by moving the end of a range of dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateRange {
    /// The parameter that holds the end of the range.
    pub end: String,
    pub next: NextEnd,
}

/// Where the end of the next, earlier range comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextEnd {
    /// This place of the answer, from its top.
    At(Vec<String>),
    /// The day before the earliest date in this field of the records.
    DayBefore(String),
}

impl Listing {
    /// The request of one page.
    pub fn page_at(&self, range: Option<(i64, i64)>, cursor: Option<&str>) -> Result<Draft> {
        let mut draft = self.draft.clone();
        if let Some((start, end)) = range {
            draft.set(Place::Query, "start", &start.to_string())?;
            draft.set(Place::Query, "end", &end.to_string())?;
        }
        match (&self.style, cursor) {
            (Style::NextKey(place), cursor) => {
                draft.set(*place, "next_key", cursor.unwrap_or_default())?;
            }
            (Style::PageFlag(place, _), Some(cursor)) => draft.set(*place, "page_flag", cursor)?,
            (Style::PageFlag(place, FirstPage::Empty), None) => {
                draft.set(*place, "page_flag", "")?
            }
            (Style::DateRange(place, range), Some(end)) => draft.set(*place, &range.end, end)?,
            (Style::PageFlag(_, FirstPage::Omitted) | Style::DateRange(..), None) => {}
        }
        Ok(draft)
    }

    /// The cursor of the next page; none where the service says that there is no more, and only
    /// then: an empty page in the middle goes on.
    pub fn next_cursor(&self, page: &Page) -> Result<Option<String>> {
        let beside = |name: &str| match self.style {
            Style::PageFlag(..) => page.meta_member(name),
            Style::NextKey(_) | Style::DateRange(..) => page.pagination(name),
        };
        let flag = |name: &str| {
            beside(name).and_then(|value| value.as_bool()).ok_or_else(|| {
                Error::protocol(
                    format!("the page does not tell {name} (true or false)"),
                    page.body(),
                )
            })
        };
        let cursor = |name: &str| {
            let value = beside(name);
            value.as_ref().and_then(Value::as_text).map(str::to_owned).ok_or_else(|| {
                Error::protocol(format!("the page has no {name} to go on with"), page.body())
            })
        };
        let more = match &self.style {
            Style::NextKey(_) | Style::DateRange(..) => flag("has_more")?,
            Style::PageFlag(..) => !flag("completed")?,
        };
        if !more {
            return Ok(None);
        }
        match &self.style {
            Style::NextKey(_) => cursor("next_key"),
            Style::PageFlag(..) => cursor("page_flag"),
            Style::DateRange(_, range) => range.next.read(page),
        }
        .map(Some)
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

impl NextEnd {
    fn read(&self, page: &Page) -> Result<String> {
        match self {
            NextEnd::At(path) => page.text_at(path).ok_or_else(|| {
                Error::protocol(
                    format!("the page has no {} to go on with", path.join(".")),
                    page.body(),
                )
            }),
            NextEnd::DayBefore(field) => {
                let mut earliest = None;
                for index in 0..page.len() {
                    let record = page.row(index)?;
                    let raw = record.iter().rev().find(|(name, _)| name == field);
                    let value = raw.and_then(|(_, raw)| Value::parse(raw.get()).ok());
                    let date = value
                        .as_ref()
                        .and_then(|value| calendar_date(value.as_text()?.get(..10)?))
                        .ok_or_else(|| {
                            Error::protocol(
                                format!("record {index} has no date in {field}"),
                                page.body(),
                            )
                        })?;
                    earliest = Some(earliest.map_or(date, |other| date.min(other)));
                }
                earliest
                    .and_then(|date| date.checked_sub(1.day()).ok())
                    .map(|date| date.to_string())
                    .ok_or_else(|| {
                        Error::pagination("a page without records cannot tell where to go on")
                    })
            }
        }
    }
}
