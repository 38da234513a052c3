//! The paging of a list: how it continues (section 2.4).

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

/// Paging by a cursor: what is sent, and what comes back.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CursorPaging {
    /// The name of the cursor, in a request and in a response.
    pub name: &'static str,
    /// The flag of a response that says whether the list ends, and its value at the end.
    pub end: (&'static str, bool),
    /// The location of the two in a response.
    pub location: CursorLocation,
    /// The cursor of the first request.
    pub first: FirstPage,
    /// The time range of the list, if it has one.
    pub time_range: Option<TimeRangeSpec>,
    /// The parameter for the size of a page, of the sandbox's undeclared endpoints too.
    pub page_size: &'static str,
    /// The cursor of the sandbox's last page.
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

/// The value of the cursor in the first request, unless the caller gives one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FirstPage {
    /// An empty string.
    Empty,
    /// No such parameter.
    Omitted,
}

/// The time range of a list: the parameters `start` and `end` in microseconds. It has to be fixed before
/// the first page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TimeRangeSpec {
    /// The length of the range if only one of them is given.
    pub default_days: i64,
    /// The field of the records that the range is about.
    pub time_field: &'static str,
}

/// `next_key` is sent; `pagination.next_key` and `pagination.has_more` come back.
pub const NEXT_KEY: CursorPaging = CursorPaging {
    name: "next_key",
    end: ("has_more", false),
    location: CursorLocation::Pagination,
    first: FirstPage::Empty,
    time_range: None,
    page_size: "limit",
    last: "-1",
};

/// `page_flag` is sent; `page_flag` and `completed` come back, beside the rows.
pub const PAGE_FLAG: CursorPaging = CursorPaging {
    name: "page_flag",
    end: ("completed", true),
    location: CursorLocation::BesideRows,
    // A caller whose endpoint needs an empty one passes it.
    first: FirstPage::Omitted,
    time_range: None,
    page_size: "page_size",
    last: "",
};

impl Paging {
    /// The kinds of paging that a user may declare, for errors.
    pub const EXPECTED: &str = "'next_key', 'page_flag' or a DateRange";

    /// The paging that a user declares by the name of its cursor, or what is wrong with the name.
    pub fn declared(name: &str) -> Result<Self, String> {
        const KNOWN: [CursorPaging; 2] = [NEXT_KEY, PAGE_FLAG];
        let known = KNOWN.into_iter().find(|cursor| cursor.name == name).map(Paging::Cursor);
        known.ok_or_else(|| {
            let nearest = did_you_mean(name, KNOWN.map(|cursor| cursor.name));
            format!("is '{}'; expected {}{nearest}", name.escape_debug(), Self::EXPECTED)
        })
    }

    /// The parameter that differs from page to page.
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
    /// A range with its next end at the path `next` or on the day before the field `before`, or what is
    /// wrong with it.
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

/// Its text, which stays the same: checkpoints have a hash of it.
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

/// The source of the end of the next, earlier range.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum NextEnd {
    /// This path in the response.
    At(Vec<String>),
    /// The day before the earliest date in this field of the records.
    DayBefore(String),
}
