//! Paging backward by moving the end of a range of dates (section 2.4). The service document does
//! not say where the next range ends and when the list ends: rows may be repeated, and `has_more`
//! may count rows before the range.

use std::{cmp::Ordering, collections::HashSet, sync::Arc};

use base64::{Engine, engine::general_purpose::STANDARD_NO_PAD};
use jiff::{ToSpan, civil::Date};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::{
    api::{DateRange, NextEnd, micros_of_text},
    decode::{Page, Value, canonical_json, scalars::parse_date},
    error::{Error, Result},
};

/// The rows of the previous page, which the next page may repeat. It does not repeat earlier rows,
/// because the end of the range moves backward past them. Part of the checkpoint of the next page.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(into = "String", try_from = "String")]
pub struct PreviousRows(Arc<HashSet<RowDigest>>);

/// 64 bits of a digest of the field that identifies a row: among a million pairs of different rows,
/// the probability that two digests are equal is one in 18 trillion.
type RowDigest = [u8; 8];

/// Removes the rows that a page repeats, and returns the next end and all rows of the page. The
/// page was requested from `start` to `end`. The next end is none if nothing of that range remains,
/// even if the service has earlier rows.
pub fn advance_range(
    range: &DateRange,
    page: &mut Page,
    (start, end): (Option<&str>, Option<&str>),
    previous: &PreviousRows,
) -> Result<(Option<String>, PreviousRows)> {
    let next = next_end(&range.next, page)?;
    let count = page.len();
    let rows = drop_repeated(range, page, previous)?;
    let precedes = |start: &str| compare(&next, start) == Some(Ordering::Less);
    let same = |other: &str| compare(&next, other) == Some(Ordering::Equal);
    if start.is_some_and(precedes) {
        return Ok((None, rows));
    }
    if !end.is_some_and(same) {
        return Ok((Some(next), rows));
    }
    // The next request would be the same. If the page is full, more rows may have that end. If the
    // page is smaller and repeats known rows, or is empty, the range has no more rows.
    let is_last = page.is_empty() && count < previous.0.len().max(1);
    if start.is_some() && is_last {
        return Ok((None, rows));
    }
    let next = next.chars().take(64).collect::<String>();
    let (end, next) = (&range.end, next.escape_debug());
    let text = format!("the next {end} is '{next}', the same as on the previous page");
    let advice = format!(
        "More rows may have that {end} than fit on one page, and no other {end} reaches them: \
             request larger pages if the endpoint allows it, or read this range in another way."
    );
    Err(Error::pagination(text).with_advice(advice))
}

/// Removes the rows that the previous page already had. Returns all rows of the page.
pub fn drop_repeated(
    range: &DateRange,
    page: &mut Page,
    previous: &PreviousRows,
) -> Result<PreviousRows> {
    let Some(field) = &range.unique else { return Ok(PreviousRows::default()) };
    let mut digests = Vec::with_capacity(page.len());
    for index in 0..page.len() {
        let record = page.row(index)?;
        let raw = record.iter().rev().find(|(name, _)| name == field).ok_or_else(|| {
            let text = format!("record {index} has no {field}, the field that identifies rows");
            Error::protocol(text, page.body())
        })?;
        digests.push(digest(&canonical_json(raw.1.get())));
    }
    let own: Vec<bool> = digests.iter().map(|digest| !previous.0.contains(digest)).collect();
    if own.contains(&false) {
        page.retain(&own);
    }
    Ok(PreviousRows(Arc::new(digests.into_iter().collect())))
}

fn next_end(next: &NextEnd, page: &Page) -> Result<String> {
    match next {
        NextEnd::At(path) => {
            let next = page.text_at(path).ok_or_else(|| {
                Error::protocol(
                    format!("the page has no {} for the next page", path.join(".")),
                    page.body(),
                )
            })?;
            // Without an end, the next request would be the request of the first page.
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
                    Error::pagination("a page without records has no date for the next page")
                })
        }
    }
}

impl PreviousRows {
    /// Returns true if there is no previous page, or if rows are not identified.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<PreviousRows> for String {
    fn from(rows: PreviousRows) -> String {
        let mut digests: Vec<RowDigest> = rows.0.iter().copied().collect();
        digests.sort_unstable();
        STANDARD_NO_PAD.encode(digests.concat())
    }
}

impl TryFrom<String> for PreviousRows {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<Self, &'static str> {
        let bytes = STANDARD_NO_PAD.decode(text).unwrap_or_else(|_| vec![0]);
        match bytes.as_chunks::<8>() {
            (digests, []) => Ok(PreviousRows(Arc::new(digests.iter().copied().collect()))),
            _ => Err("the digests of the previous page's rows are unreadable"),
        }
    }
}

fn digest(raw: &str) -> RowDigest {
    Sha256::digest(raw.as_bytes()).first_chunk().copied().unwrap_or_default()
}

/// Compares two ends of ranges as services write them: numbers, times, or dates that may be
/// followed by a time. None if they are of different kinds, or if one is a time within the day of
/// the other.
fn compare(one: &str, other: &str) -> Option<Ordering> {
    if let (Ok(one), Ok(other)) = (one.parse::<i128>(), other.parse::<i128>()) {
        return Some(one.cmp(&other));
    }
    if let (Some(one), Some(other)) = (micros_of_text(one), micros_of_text(other)) {
        return Some(one.cmp(&other));
    }
    let ((date, time), (other_date, other_time)) = (split(one)?, split(other)?);
    match date.cmp(&other_date) {
        Ordering::Equal if time.len() == other_time.len() => Some(time.cmp(other_time)),
        Ordering::Equal => None,
        unequal => Some(unequal),
    }
}

/// Splits off a calendar date from the text after it.
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
            // Within the day, a time is neither earlier nor later.
            ("2026-01-02 15:00:00", "2026-01-02", None),
            ("1767225600", "2026-01-02", None),
            ("", "2026-01-02", None),
            ("soon", "later", None),
        ] {
            assert_eq!(compare(one, other), expected, "{one} and {other}");
        }
    }

    #[test]
    fn the_rows_of_the_previous_page_survive_a_checkpoint() {
        let rows = PreviousRows(Arc::new(["1", "\"a\""].into_iter().map(digest).collect()));
        let json = serde_json::to_string(&rows).expect("JSON");
        assert_eq!(serde_json::from_str::<PreviousRows>(&json).expect("read"), rows);
        assert!(serde_json::from_str::<PreviousRows>("\"AAAA\"").is_err());
        assert!(serde_json::from_str::<PreviousRows>("\"?\"").is_err());
    }
}
