//! Paging backward by moving the end of a range of dates (section 2.4), where neither the place of
//! the next end nor the end of the list is quite told: rows may come twice, and `has_more` may
//! speak of rows before the range.

use std::{cmp::Ordering, collections::HashSet, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use jiff::{Timestamp, ToSpan, civil::Date};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    decode::{Page, Value, parse_date},
    error::{Error, Result},
};

/// Paging backward by moving the end of a range of dates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DateRange {
    /// The parameter that holds the end of the range.
    pub end: String,
    pub next: NextEnd,
    /// The field that identifies a row, if rows may be repeated on the next page.
    pub unique: Option<String>,
}

/// Where the end of the next, earlier range comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextEnd {
    /// This place of the response, from its top.
    At(Vec<String>),
    /// The day before the earliest date in this field of the records.
    DayBefore(String),
}

/// The rows of the page before, which the next page may repeat: no earlier ones, as the end of the
/// range moves backward past them. Part of a checkpoint, which stands at the next page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PreviousRows(Arc<HashSet<Mark>>);

/// Among a million pairs of rows two have the same once in 18 million million.
type Mark = [u8; 8];

impl DateRange {
    /// Drops what a page repeats, and returns the next end with the page's rows as they came. The
    /// page was asked for from `start` to `end`; `None` if nothing of that range is left, whatever the
    /// service says of rows before it.
    pub fn advance(
        &self,
        page: &mut Page,
        (start, end): (Option<&str>, Option<&str>),
        previous: &PreviousRows,
    ) -> Result<(Option<String>, PreviousRows)> {
        let next = self.next.read(page)?;
        let count = page.len();
        let rows = self.drop_repeated(page, previous)?;
        let precedes = |start: &str| compare(&next, start) == Some(Ordering::Less);
        let same = |other: &str| compare(&next, other) == Some(Ordering::Equal);
        if start.is_some_and(precedes) {
            return Ok((None, rows));
        }
        if !end.is_some_and(same) {
            return Ok((Some(next), rows));
        }
        // The same request would follow. The rows of a full page may hide others of the same moment;
        // a smaller page of known rows, or an empty one, is all that the range still has.
        let is_last = page.is_empty() && count < previous.0.len().max(1);
        if start.is_some_and(|start| is_last || same(start)) {
            return Ok((None, rows));
        }
        Err(Error::pagination(format!(
            "the next {} is '{}', the same as of the page before it",
            self.end,
            next.chars().take(64).collect::<String>().escape_debug()
        )))
    }

    /// Takes out of a page the rows that the page before it had. Returns its rows as they came.
    pub fn drop_repeated(&self, page: &mut Page, previous: &PreviousRows) -> Result<PreviousRows> {
        let Some(field) = &self.unique else { return Ok(PreviousRows::default()) };
        let mut marks = Vec::with_capacity(page.len());
        for index in 0..page.len() {
            let record = page.row(index)?;
            let raw = record.iter().rev().find(|(name, _)| name == field).ok_or_else(|| {
                let text = format!("record {index} has no {field}, which is to identify it");
                Error::protocol(text, page.body())
            })?;
            marks.push(mark(raw.1.get()));
        }
        let own: Vec<bool> = marks.iter().map(|mark| !previous.0.contains(mark)).collect();
        if own.contains(&false) {
            page.retain(&own);
        }
        Ok(PreviousRows(Arc::new(marks.into_iter().collect())))
    }
}

impl NextEnd {
    fn read(&self, page: &Page) -> Result<String> {
        match self {
            NextEnd::At(path) => {
                let next = page.text_at(path).ok_or_else(|| {
                    Error::protocol(
                        format!("the page has no {} to go on with", path.join(".")),
                        page.body(),
                    )
                })?;
                // The end of the first page, if the caller gave none: it would come again.
                if next.is_empty() {
                    let text = format!("the page has an empty {}", path.join("."));
                    return Err(Error::pagination(text));
                }
                Ok(next)
            }
            NextEnd::DayBefore(field) => {
                let mut earliest = None;
                for index in 0..page.len() {
                    let record = page.row(index)?;
                    let raw = record.iter().rev().find(|(name, _)| name == field);
                    let value = raw.and_then(|(_, raw)| Value::parse(raw.get()).ok());
                    let date = value
                        .as_ref()
                        .and_then(|value| parse_date(value.as_text()?.get(..10)?))
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

impl PreviousRows {
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<PreviousRows> for String {
    fn from(rows: PreviousRows) -> String {
        let mut marks: Vec<Mark> = rows.0.iter().copied().collect();
        marks.sort_unstable();
        STANDARD_NO_PAD.encode(marks.concat())
    }
}

impl TryFrom<String> for PreviousRows {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<Self, &'static str> {
        let bytes = STANDARD_NO_PAD.decode(text).unwrap_or_else(|_| vec![0]);
        match bytes.as_chunks::<8>() {
            (marks, []) => Ok(PreviousRows(Arc::new(marks.iter().copied().collect()))),
            _ => Err("the rows of the page before cannot be read"),
        }
    }
}

fn mark(raw: &str) -> Mark {
    Sha256::digest(raw.as_bytes()).first_chunk().copied().unwrap_or_default()
}

/// Two ends of ranges as services write them: numbers, times, or dates that may have a time behind
/// them. `None` if they are of different kinds, or one is within the day that the other names.
fn compare(one: &str, other: &str) -> Option<Ordering> {
    if let (Ok(one), Ok(other)) = (one.parse::<i128>(), other.parse::<i128>()) {
        return Some(one.cmp(&other));
    }
    if let (Ok(one), Ok(other)) = (one.parse::<Timestamp>(), other.parse::<Timestamp>()) {
        return Some(one.cmp(&other));
    }
    let ((date, time), (other_date, other_time)) = (split(one)?, split(other)?);
    match date.cmp(&other_date) {
        Ordering::Equal if time.len() == other_time.len() => Some(time.cmp(other_time)),
        Ordering::Equal => None,
        unequal => Some(unequal),
    }
}

/// A calendar date and what stands behind it.
fn split(text: &str) -> Option<(Date, &str)> {
    let (date, time) = text.split_at_checked(10)?;
    Some((parse_date(date)?, time))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_of_the_same_kind_are_compared_and_others_are_not() {
        use Ordering::{Equal, Greater, Less};
        for (one, other, expected) in [
            ("9", "10", Some(Less)),
            ("18446744073709551615", "9", Some(Greater)),
            ("007", "7", Some(Equal)),
            ("2026-01-02", "2026-01-10", Some(Less)),
            ("2026/01/02", "2026-01-02", Some(Equal)),
            ("2026-01-02 15:00:00", "2026-01-02 09:30:00", Some(Greater)),
            ("2026-01-01 15:00:00", "2026-01-02", Some(Less)),
            ("2026-01-02T00:00:00Z", "2026-01-02T08:00:00+08:00", Some(Equal)),
            // Within the day: neither before nor after it.
            ("2026-01-02 15:00:00", "2026-01-02", None),
            ("1767225600", "2026-01-02", None),
            ("", "2026-01-02", None),
            ("soon", "later", None),
        ] {
            assert_eq!(compare(one, other), expected, "{one} and {other}");
        }
    }

    #[test]
    fn the_rows_of_the_page_before_survive_a_checkpoint() {
        let rows = PreviousRows(Arc::new(["1", "\"a\""].into_iter().map(mark).collect()));
        let json = serde_json::to_string(&rows).expect("JSON");
        assert_eq!(serde_json::from_str::<PreviousRows>(&json).expect("read"), rows);
        assert!(serde_json::from_str::<PreviousRows>("\"AAAA\"").is_err());
        assert!(serde_json::from_str::<PreviousRows>("\"?\"").is_err());
    }
}
