//! Paging: how a list continues (section 2.4).

use std::fmt;

use crate::error::did_you_mean;

/// The paging of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Paging {
    /// By a cursor of the service.
    Cursor(CursorPaging),
    /// By moving the end of a range of dates backward.
    DateRange(DateRange),
}

/// Paging by a cursor: the parameter in the request, and the members of the response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorPaging {
    /// Name of the cursor, in a request and in a response.
    pub name: &'static str,
    /// The member of a response that says whether the list ends, with its value at the end.
    pub end: (&'static str, bool),
    /// Location of the cursor and the end flag in a response.
    pub location: CursorLocation,
    /// Cursor of the first request.
    pub first: FirstPage,
    /// The time range of the list, if it has one.
    pub time_range: Option<TimeRangeSpec>,
    /// The parameter for the size of a page, also for the sandbox's undeclared endpoints.
    pub page_size: &'static str,
    /// Cursor of the sandbox's last page.
    pub last: &'static str,
}

/// The location of a cursor in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CursorLocation {
    /// In the object `pagination`.
    Pagination,
    /// Beside the rows.
    BesideRows,
}

/// Value of the cursor in the first request, unless the caller passes one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstPage {
    /// An empty string.
    Empty,
    /// The parameter is not sent.
    Omitted,
}

/// The time range of a list: the parameters `start` and `end` in microseconds. It has to be fixed
/// before the first page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRangeSpec {
    /// Length of the range if only one of them is passed.
    pub default_days: i64,
    /// The field of the records to which the range applies.
    pub time_field: &'static str,
}

/// The request has `next_key`; the response has `pagination.next_key` and `pagination.has_more`.
pub const NEXT_KEY: CursorPaging = CursorPaging {
    name: "next_key",
    end: ("has_more", false),
    location: CursorLocation::Pagination,
    first: FirstPage::Empty,
    time_range: None,
    page_size: "limit",
    last: "-1",
};

/// The request has `page_flag`; the response has `page_flag` and `completed` beside the rows.
pub const PAGE_FLAG: CursorPaging = CursorPaging {
    name: "page_flag",
    end: ("completed", true),
    location: CursorLocation::BesideRows,
    // A caller whose endpoint needs an empty cursor passes one.
    first: FirstPage::Omitted,
    time_range: None,
    page_size: "page_size",
    last: "",
};

impl Paging {
    /// Kinds of paging that a user may declare, for errors.
    pub const EXPECTED: &str = "'next_key', 'page_flag' or a DateRange";

    /// Returns the paging that a user declares by the name of its cursor. The error tells what is
    /// wrong with the name.
    pub fn declared(name: &str) -> Result<Self, String> {
        const KNOWN: [CursorPaging; 2] = [NEXT_KEY, PAGE_FLAG];
        let known = KNOWN.into_iter().find(|cursor| cursor.name == name).map(Paging::Cursor);
        known.ok_or_else(|| {
            let nearest = did_you_mean(name, KNOWN.map(|cursor| cursor.name));
            format!("is '{}'; expected {}{nearest}", name.escape_debug(), Self::EXPECTED)
        })
    }

    /// Returns the parameter that differs from page to page.
    pub fn parameter(&self) -> &str {
        match self {
            Paging::Cursor(cursor) => cursor.name,
            Paging::DateRange(range) => &range.end,
        }
    }
}

/// Paging backward by moving the end of a range of dates.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct DateRange {
    /// The parameter for the end of the range.
    pub end: String,
    /// The source of the next end.
    pub next: NextEnd,
    /// The field that identifies a row, if rows may be repeated on the next page.
    pub unique: Option<String>,
}

impl DateRange {
    /// Creates a range whose next end is at the path `next`, or on the day before the earliest
    /// value of the field `before`. The error tells what is wrong with the declaration.
    pub fn declared(
        end: Option<String>,
        next: Option<String>,
        before: Option<String>,
        unique: Option<String>,
    ) -> Result<Self, &'static str> {
        let names = [&end, &next, &before, &unique];
        if names.into_iter().flatten().any(String::is_empty) {
            return Err("has an empty name; expected the name of a parameter or field");
        }
        let next = match (next, before) {
            (Some(path), None) => NextEnd::At(path.split('.').map(str::to_owned).collect()),
            (None, Some(field)) => NextEnd::DayBefore(field),
            _ => return Err("takes exactly one of next and before, such as before='data_date'"),
        };
        Ok(DateRange { end: end.unwrap_or_else(|| "end".to_owned()), next, unique })
    }
}

/// Formats the range. The text must not change, because checkpoints contain a hash of it.
impl fmt::Display for DateRange {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "DateRange('{}', ", self.end)?;
        match &self.next {
            NextEnd::At(place) => write!(out, "next='{}'", place.join("."))?,
            NextEnd::DayBefore(field) => write!(out, "before='{field}'")?,
        }
        if let Some(field) = &self.unique {
            write!(out, ", unique='{field}'")?;
        }
        out.write_str(")")
    }
}

/// Source of the end of the next, earlier range.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NextEnd {
    /// This path in the response.
    At(Vec<String>),
    /// The day before the earliest date in this field of the records.
    DayBefore(String),
}
