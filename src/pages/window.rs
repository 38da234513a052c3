//! Windows: the parts of a time range that are fetched side by side.
//!
//! The document does not say whether the ends of a range belong to it. So each window asks for a
//! microsecond more than its own at either seam, and hands out just the records that are its own by
//! their moment: every record once, however the service reads a range, and without comparing ids.

use super::TimeRange;
use crate::{
    decode::Page,
    error::{Error, Result},
};

/// One part of a range. Its own moments are `first..=last`; it asks for `start` to `end`.
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
    let seam = |part: i128| {
        let time_field = i128::from(start) + length * part / count;
        i64::try_from(time_field).unwrap_or(end)
    };
    (0..count)
        .rev()
        .map(|part| {
            let (before, last) = (seam(part), seam(part + 1));
            // The seam itself belongs to the earlier part; the start of all has no earlier one.
            let first = if part == 0 { before } else { before.saturating_add(1) };
            Window { first, last, start: before, end: last.saturating_add(1).min(end) }
        })
        .collect()
}

impl Window {
    /// Leaves a page with this window's own records.
    pub fn keep_own(&self, page: &mut Page, span: &TimeRange) -> Result<()> {
        let mut own = Vec::with_capacity(page.len());
        for index in 0..page.len() {
            let time_field = page
                .integer(index, span.time_field)?
                .filter(|time_field| (self.start..=self.end).contains(time_field))
                .ok_or_else(|| {
                    let text = format!(
                        "{} of record {index} is not within the range that was asked for, so that \
                         windows cannot tell whose it is; ask without windows",
                        span.time_field
                    );
                    Error::protocol(text, page.body())
                })?;
            own.push((self.first..=self.last).contains(&time_field));
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
        fn every_moment_belongs_to_exactly_one_window_that_asks_for_it_whatever_its_ends_mean(
            start in 0_i64..1_000,
            length in 1_i64..1_000,
            count in 1_usize..70,
        ) {
            let end = start + length;
            let windows = split((start, end), count);
            prop_assert!(windows.len() <= count);
            for time_field in start..=end {
                let own: Vec<_> =
                    windows.iter().filter(|w| w.first <= time_field && time_field <= w.last).collect();
                prop_assert_eq!(own.len(), 1);
                // Within, not at an end that the caller did not write.
                let window = own[0];
                prop_assert!(window.start < time_field || window.start == start);
                prop_assert!(time_field < window.end || window.end == end);
            }
            prop_assert!(windows.is_sorted_by(|later, earlier| earlier.last < later.first));
            prop_assert!(windows.iter().all(|window| window.start < window.end));
        }
    }
}
