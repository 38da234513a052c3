//! Windows: the parts of a time range that are fetched concurrently.
//!
//! The service document does not say whether the bounds of a range belong to it. So each window
//! requests a microsecond more than its own at either boundary, and keeps the records whose time is
//! its own: every record once, however the service interprets a range, and without comparing ids.

use crate::{
    decode::Page,
    error::{Error, Result},
};

/// One part of a range. Its own times are `first..=last`; its requests are for `start` to `end`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    pub first: i64,
    pub last: i64,
    pub start: i64,
    pub end: i64,
}

/// The parts of a range, the latest first.
pub fn split((start, end): (i64, i64), count: usize) -> Vec<Window> {
    let length = i128::from(end) - i128::from(start);
    let count = i128::try_from(count).unwrap_or(1).min(length).max(1);
    let boundary = |part: i128| {
        let micros = i128::from(start) + length * part / count;
        i64::try_from(micros).unwrap_or(end)
    };
    (0..count)
        .rev()
        .map(|part| {
            let (before, last) = (boundary(part), boundary(part + 1));
            // The boundary itself belongs to the earlier part; the first start has no earlier one.
            let first = if part == 0 { before } else { before.saturating_add(1) };
            Window { first, last, start: before, end: last.saturating_add(1).min(end) }
        })
        .collect()
}

impl Window {
    /// The window of a range that has these times.
    pub fn of((start, end): (i64, i64), (first, last): (i64, i64)) -> Self {
        let start = if first > start { first.saturating_sub(1) } else { start };
        Window { first, last, start, end: last.saturating_add(1).min(end) }
    }

    /// Removes the records of a page that belong to another window, by the time in this field.
    pub fn retain_own(&self, page: &mut Page, time_field: &str) -> Result<()> {
        let mut own = Vec::with_capacity(page.len());
        for index in 0..page.len() {
            let micros = page
                .integer(index, time_field)?
                .filter(|micros| (self.start..=self.end).contains(micros))
                .ok_or_else(|| {
                    let text = format!(
                        "{time_field} of record {index} is not within the requested time range, so \
                         it cannot be assigned to a window; call it without windows"
                    );
                    Error::protocol(text, page.body())
                })?;
            own.push((self.first..=self.last).contains(&micros));
        }
        page.retain(&own);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn every_time_belongs_to_exactly_one_window_that_requests_it_whether_bounds_are_inclusive_or_not(
            start in 0_i64..1_000,
            length in 1_i64..1_000,
            count in 1_usize..70,
        ) {
            let end = start + length;
            let windows = split((start, end), count);
            prop_assert!(windows.len() <= count);
            for micros in start..=end {
                let own: Vec<_> =
                    windows.iter().filter(|w| w.first <= micros && micros <= w.last).collect();
                prop_assert_eq!(own.len(), 1);
                // Within it, and not at a bound that the caller did not give.
                let window = own[0];
                prop_assert!(window.start < micros || window.start == start);
                prop_assert!(micros < window.end || window.end == end);
            }
            prop_assert!(windows.is_sorted_by(|later, earlier| earlier.last < later.first));
            prop_assert!(windows.iter().all(|window| window.start < window.end));
        }
    }
}
