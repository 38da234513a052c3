//! The declaration of a list that is paged by a range of dates (section 2.4).

use std::fmt;

/// Paging backward by moving the end of a range of dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateRange {
    /// The parameter for the end of the range.
    pub end: String,
    /// The source of the next end.
    pub next: NextEnd,
    /// The field that identifies a row, if rows may be repeated on the next page.
    pub unique: Option<String>,
}

/// Shows it as a user declares it.
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
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextEnd {
    /// This path in the response.
    At(Vec<String>),
    /// The day before the earliest date in this field of the records.
    DayBefore(String),
}
