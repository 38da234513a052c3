//! Windows: the parts of a time range that are fetched concurrently.
//!
//! The service document says neither whether the bounds of a range belong to it nor how exact they
//! are. The borders between windows are therefore on whole days, hours, minutes or seconds. Each
//! window requests two seconds more than its own range at either border, and a record belongs to
//! one window by its own time: every record is returned once, however the service reads the bounds.

use crate::{
    api::MICROS_PER_DAY,
    decode::Page,
    error::{Advice, Error, Result},
};

const SECOND: i64 = 1_000_000;
const MINUTE: i64 = 60 * SECOND;
/// Units of the borders. The smallest unit is the minimum length of a window.
const UNITS: [i64; 4] = [MICROS_PER_DAY, 60 * MINUTE, MINUTE, SECOND];
/// Time by which a window's request extends beyond its own range.
const OVERLAP: i64 = 2 * SECOND;
/// Distance from a border within which a window may receive records of its neighbor: the overlap,
/// and a minute for a service whose ranges are exact to a minute.
pub const REACH: i64 = OVERLAP + MINUTE;

/// One part of a range: its times are `first..=last`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    range: (i64, i64),
    pub first: i64,
    pub last: i64,
}

/// Splits a range into at most `count` parts, the latest first.
pub fn split((start, end): (i64, i64), count: usize) -> Vec<Window> {
    let length = i128::from(end) - i128::from(start);
    let shortest = length / i128::try_from(count.max(1)).unwrap_or(i128::MAX);
    let unit = UNITS.into_iter().find(|unit| i128::from(*unit) <= shortest).unwrap_or(SECOND);
    // Shorter windows would have no border between them.
    let most = (length / i128::from(unit)).max(1);
    let count = i128::try_from(count).unwrap_or(most).clamp(1, most);
    let border = |part: i128| {
        let micros = i128::from(start) + length * part / count;
        i64::try_from(micros).unwrap_or(end).div_euclid(unit) * unit
    };
    (0..count)
        .rev()
        .map(|part| {
            let first = if part == 0 { start } else { border(part) };
            let last = if part + 1 == count { end } else { border(part + 1) - 1 };
            Window { range: (start, end), first, last }
        })
        .collect()
}

impl Window {
    /// Returns the window of a range with these times.
    pub fn of(range: (i64, i64), (first, last): (i64, i64)) -> Self {
        Window { range, first, last }
    }

    /// Returns the windows that precede this one, if the range is read in `count` windows.
    pub fn older(&self, count: usize) -> impl Iterator<Item = Window> {
        let last = self.first.saturating_sub(1);
        let older = split(self.range, count).into_iter().filter(move |window| window.first <= last);
        older.map(move |window| Window { last: window.last.min(last), ..window })
    }

    /// Returns the bounds of the times to request.
    pub fn requested(&self) -> (i64, i64) {
        let (start, end) = self.range;
        (
            if self.first > start { self.first.saturating_sub(OVERLAP).max(start) } else { start },
            if self.last < end { self.last.saturating_add(1 + OVERLAP).min(end) } else { end },
        )
    }

    /// Returns true if records of this time belong to the window. The first and the last window of
    /// a range also own the times outside of it.
    pub fn owns(&self, micros: i64) -> bool {
        let (start, end) = self.range;
        (self.first <= micros || self.first <= start) && (micros <= self.last || self.last >= end)
    }

    /// Returns true if a neighbor may receive records of this time, or if this window may receive
    /// the neighbor's.
    pub fn is_near_border(&self, micros: i64) -> bool {
        let is_near = |border: i64| micros.abs_diff(border) <= REACH.unsigned_abs();
        is_near(self.first) || is_near(self.last)
    }
}

/// Returns the time of a record that decides its window.
pub fn time_of(page: &Page, index: usize, time_field: &str) -> Result<i64> {
    page.integer(index, time_field)?.ok_or_else(|| {
        let text = format!("{time_field} of record {index} is not a time");
        not_in_windows(&text, page)
    })
}

/// Returns the error for a list that cannot be read in windows.
pub fn not_in_windows(text: &str, page: &Page) -> Error {
    let text = format!("{text}, so the list cannot be read in windows");
    Error::protocol(text, page.body()).with_advice(Advice::OneCursor)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const DAY: i64 = MICROS_PER_DAY;
    /// A Tuesday, 9:20:30.123456 UTC.
    const START: i64 = 1_780_000_000_000_000 + 20_430_123_456;

    proptest! {
        #[test]
        fn every_time_belongs_to_one_window_and_is_requested_however_exact_ranges_are(
            start in 0_i64..400 * DAY,
            length in 1_i64..2_000 * SECOND,
            stretch in prop_oneof![Just(1), Just(60), Just(5_000)],
            count in 1_usize..70,
            offsets in proptest::collection::vec((0.0..1.0_f64, -2 * SECOND..2 * SECOND), 1..20),
            unit in prop_oneof![Just(1), Just(1_000), Just(SECOND), Just(MINUTE)],
        ) {
            let end = start + length * stretch;
            let windows = split((start, end), count);
            prop_assert!(windows.len() <= count && !windows.is_empty());
            prop_assert_eq!(windows[0].last, end);
            prop_assert_eq!(windows[windows.len() - 1].first, start);
            prop_assert!(windows.windows(2).all(|pair| pair[1].last + 1 == pair[0].first));
            prop_assert!(windows.iter().all(|window| window.first <= window.last));
            // At the borders, and anywhere.
            let near = windows.iter().flat_map(|window| [window.first, window.last]);
            let any = offsets.iter().map(|(share, more)| {
                start + ((end - start) as f64 * share) as i64 + more
            });
            for micros in near.chain(any) {
                let own: Vec<_> = windows.iter().filter(|window| window.owns(micros)).collect();
                prop_assert_eq!(own.len(), 1);
                if !(start..=end).contains(&micros) || length * stretch < 70 * unit {
                    continue;
                }
                // The time is within the requested bounds, even if the service truncates them to
                // its unit and excludes them. Bounds that the caller passed are exempt.
                let (from, until) = own[0].requested();
                let cut = |bound: i64| bound.div_euclid(unit) * unit;
                prop_assert!(from == start || cut(from) < micros, "{micros} {own:?}");
                prop_assert!(until == end || micros < cut(until), "{micros} {own:?}");
            }
        }

        #[test]
        fn what_precedes_a_window_is_in_the_windows_of_any_number(
            length in 1_i64..400 * DAY,
            (count, others) in (1_usize..70, 1_usize..70),
        ) {
            let range = (START, START + length);
            for window in split(range, count) {
                let older: Vec<Window> = window.older(others).collect();
                prop_assert_eq!(older.is_empty(), window.first == START);
                if let (Some(latest), Some(oldest)) = (older.first(), older.last()) {
                    prop_assert_eq!(latest.last + 1, window.first);
                    prop_assert_eq!(oldest.first, START);
                }
            }
        }
    }

    #[test]
    fn borders_are_on_whole_days_or_else_hours_minutes_or_seconds() {
        for (length, count, unit) in [
            (90 * DAY, 8, DAY),
            (64 * DAY, 64, DAY),
            (7 * DAY, 8, 60 * MINUTE),
            (DAY, 24, 60 * MINUTE),
            (60 * MINUTE, 8, MINUTE),
            (MINUTE, 8, SECOND),
        ] {
            let windows = split((START, START + length), count);
            assert_eq!(windows.len(), count);
            let borders: Vec<i64> = windows.iter().rev().skip(1).map(|one| one.first).collect();
            assert!(borders.iter().all(|border| border % unit == 0), "{length}: {borders:?}");
        }
        // Ten seconds have at most ten windows; less than a second has one.
        assert_eq!(split((START, START + 10 * SECOND), 64).len(), 10);
        assert_eq!(split((START, START + SECOND / 2), 64).len(), 1);
    }
}
