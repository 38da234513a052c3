//! Windows that the caller did not ask for. Three pages decide how many there are.
//!
//! The density of the first page promises a number of pages, and so does a probe: the first page of
//! the records older than the newest eighth of the range. If both promise many pages, the range is
//! split once, into a few windows of equal length that are read to their ends, and the three pages
//! are dropped. Compared with one cursor, this costs at most these three requests and one page for
//! each window, wherever the records are in the range.

use std::sync::{Arc, atomic::Ordering};

use super::{
    list::List,
    listed_page::ListedPage,
    pace::Pace,
    part::FetchedPage,
    source::Permitted,
    window::{REACH, Window, split},
};
use crate::error::Result;

/// Maximum number of windows, and of concurrent requests.
const MOST: usize = 8;
/// Number of pages that a range has to promise.
const PAGES: i64 = 8;
/// The number with a rate limit, under which a tenth more requests take a tenth more time.
const PAGES_WITH_RATE_LIMIT: i64 = 50;

/// Returns the number of pages that a range of a source has to promise.
fn pages_min(permitted: Permitted) -> i64 {
    if permitted.has_rate_limit { PAGES_WITH_RATE_LIMIT } else { PAGES }
}

/// Returns true if the first page of a list promises enough pages for reading a second page and a
/// probe.
pub fn is_promising(first: &ListedPage) -> bool {
    let list = first.list();
    let permitted = list.shared.source.permitted();
    let promised = list.whole_range().filter(|_| permitted.at_once > 1 && list.parts.len() == 1);
    let promised = promised.filter(|(_, end)| *end <= list.shared.source.time());
    let promised = promised.and_then(|range| promised_pages(list, first.fetched(), range));
    promised.is_some_and(|pages| pages >= pages_min(permitted))
}

/// Returns the list in windows; none if one cursor reads it, which has already requested its second
/// page.
pub async fn choose(first: &Arc<ListedPage>) -> Result<Option<Arc<List>>> {
    let list = first.list();
    let Some((start, end)) = list.whole_range() else { return Ok(None) };
    // The newest eighth is one of the eight windows of the range.
    let newest = split((start, end), MOST).into_iter().next();
    let Some(cut) = newest.map(|newest| newest.first).filter(|cut| *cut > start) else {
        return Ok(None);
    };
    let probe = list.probe(Window::of((start, end), (start, cut - 1)));
    let (second, probe) = tokio::join!(first.next(), probe.beginning());
    let (second, probe) = (second?, probe?);
    let promised = promised_pages(list, &probe, (start, cut));
    let permitted = list.shared.source.permitted();
    let has_failed = list.shared.failed_attempts.load(Ordering::Relaxed) > 0;
    let has_third = second.is_some_and(|second| second.fetched().after.is_some());
    match promised.filter(|pages| *pages >= pages_min(permitted) && has_third && !has_failed) {
        None => Ok(None),
        Some(pages) => {
            let count = MOST.min(usize::try_from(pages / 2).unwrap_or(MOST));
            let pace = Pace::after(3, MOST.min(permitted.at_once));
            Ok(Some(list.in_windows(count, pace)))
        }
    }
}

/// Estimates the number of pages in a range by this page of its latest records, as if all of the
/// range were as dense. None if this is the only page, or if its records are not the latest records
/// of the range, the latest first.
fn promised_pages(list: &List, page: &FetchedPage, (start, end): (i64, i64)) -> Option<i64> {
    let (records, time_field) = (&page.records, list.shared.listing.time_field()?);
    page.after.as_ref()?;
    let mut oldest = end.saturating_add(REACH);
    for index in 0..records.len() {
        let micros = records.integer(index, time_field).ok().flatten()?;
        if micros > oldest {
            return None;
        }
        oldest = micros;
    }
    if records.is_empty() || oldest < start.saturating_sub(REACH) {
        return None;
    }
    Some(end.saturating_sub(start) / end.saturating_sub(oldest).max(1))
}
