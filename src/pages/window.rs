//! Windows: the parts of a time range that are fetched side by side.
//!
//! The document does not say whether the ends of a range belong to it. So each window asks for a
//! microsecond more than its own at either seam, and hands out just the records that are its own by
//! their moment: every record once, however the service reads a range, and without comparing ids.

use super::Span;
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
        let moment = i128::from(start) + length * part / count;
        i64::try_from(moment).unwrap_or(end)
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
    pub fn keep_own(&self, page: &mut Page, span: &Span) -> Result<()> {
        let mut own = Vec::with_capacity(page.len());
        for index in 0..page.len() {
            let moment = page
                .integer(index, span.moment)?
                .filter(|moment| (self.start..=self.end).contains(moment))
                .ok_or_else(|| {
                    let text = format!(
                        "{} of record {index} is not within the range that was asked for, so that \
                         windows cannot tell whose it is; ask without windows",
                        span.moment
                    );
                    Error::protocol(text, page.body())
                })?;
            own.push((self.first..=self.last).contains(&moment));
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
            for moment in start..=end {
                let own: Vec<_> =
                    windows.iter().filter(|w| w.first <= moment && moment <= w.last).collect();
                prop_assert_eq!(own.len(), 1);
                // Within, not at an end that the caller did not write.
                let window = own[0];
                prop_assert!(window.start < moment || window.start == start);
                prop_assert!(moment < window.end || window.end == end);
            }
            prop_assert!(windows.is_sorted_by(|later, earlier| earlier.last < later.first));
            prop_assert!(windows.iter().all(|window| window.start < window.end));
        }
    }
}
