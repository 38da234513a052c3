//! The windows of a time range that nobody chose: how many, and where they begin.
//!
//! Every window is a list with cursors of its own, so its last page is half empty on average, and the page
//! that tells the density of a range is read again as part of its first window. These are the requests
//! that windows cost; 10 % of what one cursor needs is the most that they may. So the first page of a range
//! is read alone, and:
//!
//! - If the range would have few pages at the density of this page, it is not split.
//! - If it would have no more than is credible after one page, it is split as a whole.
//! - Otherwise the second page is read as well, and the rest of the range beyond the time that the next pages
//!   should have, as few lists have more. If there is anything, the time of the next pages is split, by the
//!   density seen, and the rest is one window, whose first page decides in the same way on four times as many
//!   pages: fills may come in bursts, or on one day.
//! - If nothing was where the rest begins, the density of the page means little. What has been read from the
//!   end of the range on decides instead: large bursts are split one by one, small ones are not told apart.
//!
//! Everything here is a function of pages and options, never of time, so that the same list is always read
//! by the same requests. A list that is read by one cursor is the test of it.

use crate::decode::Page;

/// Below this number of pages, windows cost too much for what they save.
const PAGES_MIN: f64 = 16.0;
/// The pages that are split off a range that would have more than is credible; four times as many next time.
const NEAR: f64 = 12.0;
const GROWTH: f64 = 4.0;
/// So many times as many are credible.
const CREDIT: f64 = 5.0;
/// A range of so many pages is read in a few windows of equal length, whatever is in it.
const FEW: f64 = 150.0;
const FEW_WINDOWS: (f64, f64) = (3.0, 10.0);
/// The pages of one of them.
const FEW_PAGES: f64 = 5.0;
/// So many times as many as were read are credible after a gap.
const GAP_CREDIT: f64 = 32.0;
/// The most pages that are split at a time.
const NEAR_MAX: f64 = 4_000.0;
/// The least and the most pages of a window, if there are pages enough for all connections.
const WINDOW_PAGES: (f64, f64) = (10.0, 64.0);
/// The last part of such a range has windows of this part of their size, so that all end at about the same time.
const LAST_PART: f64 = 0.25;
const LAST_SIZE: f64 = 0.4;
/// The windows of a burst are followed by one of this part of its pages, as it may be longer.
const BURST_TAIL: f64 = 0.5;
/// A burst of so many pages is a range of its own.
const BURST: f64 = 32.0;
/// The gaps between fills are regular if they deviate from their mean by at most this part of it.
const REGULAR: f64 = 0.1;
/// Fewer records than these have no density.
const RECORDS_MIN: usize = 8;
/// Windows that were expected to have some pages are split if they have so many times more.
const SURPRISE: f64 = 8.0;

/// The times of the records of a page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Sample {
    /// The number of records.
    pub records: usize,
    /// The time of the first one, which is the latest.
    pub newest: i64,
    /// The time of the last one.
    pub oldest: i64,
    /// True if they are equally far from each other.
    pub is_regular: bool,
}

/// A window to read: its times are `first..=last`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PlannedWindow {
    pub first: i64,
    pub last: i64,
    pub kind: Kind,
}

/// What the first page of a window decides.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// The window is split if its first page is a surprise, as it was expected to have so many pages. If it has more
    /// than is credible, `near` are split off.
    Part { expected: f64, near: f64 },
    /// The same, of all that is left of a range; what precedes it begins at this time. The pages of a burst are known
    /// if there was one before.
    Rest { near: f64, begin: i64, burst: Option<f64> },
    /// The window is not split.
    Final,
}

/// What is to be done with a window, once its first page is known.
#[derive(Debug, PartialEq)]
pub enum Decision {
    /// It is read by its cursors.
    Keep,
    /// These windows take its place, the latest first.
    Split(Vec<PlannedWindow>),
    /// All windows before it are read first: `decide_by_all` decides.
    Wait,
}

/// What has been read from the end of a range until the beginning of a window.
#[derive(Debug, Clone, Copy)]
pub struct Above {
    /// The number of records.
    pub records: usize,
    /// The time of the latest one.
    pub newest: i64,
    /// The number of times that nothing was where more had been expected.
    pub gaps: usize,
}

impl Sample {
    /// The times of these records; none if they tell no density, or are not in the order of time.
    pub fn of(times: &[i64]) -> Option<Self> {
        let (newest, oldest) = (*times.first()?, *times.last()?);
        let gaps = || times.iter().zip(times.iter().skip(1)).map(|(later, time)| later - time);
        if times.len() < RECORDS_MIN || newest <= oldest || gaps().any(|gap| gap < 0) {
            return None;
        }
        let mean = (newest - oldest) as f64 / (times.len() - 1) as f64;
        let squares: f64 = gaps().map(|gap| (gap as f64 - mean).powi(2)).sum();
        let deviation = (squares / (times.len() - 1) as f64).sqrt();
        Some(Sample {
            records: times.len(),
            newest,
            oldest,
            is_regular: deviation <= REGULAR * mean,
        })
    }

    /// The time of a page.
    fn page_time(&self) -> f64 {
        let gaps = (self.records - 1) as f64;
        (self.newest - self.oldest) as f64 / gaps * (gaps + 1.0)
    }

    /// The number of pages between a time and the latest record.
    fn pages_from(&self, first: i64) -> f64 {
        (self.newest - first).max(0) as f64 / self.page_time()
    }
}

impl PlannedWindow {
    /// The range that a list begins with.
    pub fn whole((first, last): (i64, i64)) -> Self {
        PlannedWindow { first, last, kind: Kind::Part { expected: 0.0, near: NEAR } }
    }

    /// Returns true if the first page is enough to decide.
    pub fn is_credible(&self, sample: &Sample) -> bool {
        sample.pages_from(self.first) <= CREDIT * NEAR
    }

    /// Returns true if so many pages are likely, once there are more than two.
    pub fn is_likely(&self, sample: &Sample) -> bool {
        sample.pages_from(self.first) <= FEW
    }

    /// What is to be done after the first page, with this many requests at a time.
    pub fn decide(&self, sample: &Sample, at_once: usize) -> Decision {
        let pages = sample.pages_from(self.first);
        let (near, burst) = match self.kind {
            _ if at_once < 2 || pages <= PAGES_MIN => return Decision::Keep,
            Kind::Final => return Decision::Keep,
            Kind::Part { expected, .. } if pages < SURPRISE * expected => return Decision::Keep,
            Kind::Part { near, .. } => (near, None),
            // Nothing is there for as long as what precedes it took.
            Kind::Rest { begin, burst, .. } if self.last - sample.newest > begin - self.last => {
                match burst {
                    Some(pages) => (pages, burst),
                    None => return Decision::Wait,
                }
            }
            Kind::Rest { near, burst, .. } => (near, burst),
        };
        self.split(sample, near, burst, at_once)
    }

    /// The same where the density of the page means little: by what precedes it.
    pub fn decide_by_all(&self, sample: &Sample, above: &Above, at_once: usize) -> Decision {
        let passed = (above.newest - sample.newest).max(1) as f64;
        let read = above.records as f64 / sample.records as f64;
        let pages = read * (sample.newest - self.first).max(0) as f64 / passed;
        let pages = pages.min(GAP_CREDIT * read);
        // By the gaps, of which this is one.
        let burst = read / above.gaps.max(1) as f64;
        if burst >= BURST {
            return self.split(sample, burst, Some(burst), at_once);
        }
        if pages <= PAGES_MIN {
            return Decision::Keep;
        }
        let count = (pages / window_pages(pages, at_once)).round().max(2.0);
        Decision::Split(self.cut(sample.newest, count, Kind::Final))
    }

    fn split(&self, sample: &Sample, near: f64, burst: Option<f64>, at_once: usize) -> Decision {
        let (pages, near) = (sample.pages_from(self.first), near.min(NEAR_MAX));
        let sizes = |pages: f64| match sample.is_regular {
            // A full page each, but for what the estimate may miss.
            true => (sample.records - 2) as f64 / sample.records as f64,
            false => window_pages(pages, at_once),
        };
        let begin = sample.newest;
        let until = |pages: f64| begin.saturating_sub((pages * sample.page_time()) as i64);
        let part = |near, expected| Kind::Part { expected, near };
        let is_new = matches!(self.kind, Kind::Part { expected: 0.0, .. });
        if pages <= CREDIT * near || (is_new && pages <= FEW) {
            let size = sizes(pages);
            if sample.is_regular || pages < 2.0 * size * at_once as f64 {
                let count = (pages / size).ceil().max(2.0);
                return Decision::Split(self.cut(begin, count, part(near, size)));
            }
            let (large, last) = self.parted(until(pages * (1.0 - LAST_PART)));
            let mut windows = large.cut(begin, pages * (1.0 - LAST_PART) / size, part(near, size));
            let small = LAST_SIZE * size;
            let count = pages * LAST_PART / small;
            windows
                .extend(last.iter().flat_map(|last| last.cut(last.last, count, part(near, small))));
            return Decision::Split(windows);
        }
        let is_burst = burst.is_some_and(|pages| pages == near);
        let size = match near {
            near if is_burst => window_pages(near, at_once),
            near if near <= NEAR * GROWTH => NEAR,
            near => near / 3.0,
        };
        let expected = if burst.is_some() { size } else { 0.0 };
        let (followed, mut rest) = self.parted(until(near));
        let mut windows = followed.cut(begin, (near / size).ceil(), part(near, expected));
        if is_burst && let Some(after) = rest {
            let (tail, left) = after.parted(until(near * (1.0 + BURST_TAIL)));
            windows.push(PlannedWindow { kind: part(near, near * BURST_TAIL), ..tail });
            rest = left;
        }
        let kind = Kind::Rest { near: near * GROWTH, begin, burst };
        windows.extend(rest.map(|rest| PlannedWindow { kind, ..rest }));
        Decision::Split(windows)
    }

    /// The window from a time on, and what precedes that, if anything does.
    fn parted(&self, first: i64) -> (PlannedWindow, Option<PlannedWindow>) {
        let first = first.clamp(self.first, self.last);
        let rest = PlannedWindow { last: first.saturating_sub(1), ..*self };
        (PlannedWindow { first, ..*self }, (rest.first <= rest.last).then_some(rest))
    }

    /// As many windows, equally long from the time of the latest record on.
    fn cut(&self, newest: i64, count: f64, kind: Kind) -> Vec<PlannedWindow> {
        let length = (newest - self.first).max(0);
        let count = (count as i64).clamp(1, length.max(1));
        let boundary = |part: i64| {
            let times = i128::from(length) * i128::from(part) / i128::from(count);
            newest.saturating_sub(i64::try_from(times).unwrap_or(i64::MAX))
        };
        (0..count)
            .map(|part| PlannedWindow {
                first: if part + 1 == count { self.first } else { boundary(part + 1) + 1 },
                last: if part == 0 { self.last } else { boundary(part) },
                kind,
            })
            .filter(|window| window.first <= window.last)
            .collect()
    }
}

/// The pages of each window of a range that has so many.
fn window_pages(pages: f64, at_once: usize) -> f64 {
    if pages <= FEW {
        let (least, most) = FEW_WINDOWS;
        return pages / (pages / FEW_PAGES).round().clamp(least, most);
    }
    let (least, most) = WINDOW_PAGES;
    // Half a page is lost with each window, and one page with all of them: 10 %.
    let cheapest = pages / (0.18 * pages - 2.0).round().max(1.0);
    // More windows than requests at a time, so that all end at about the same time.
    let balanced = (pages / (4 * at_once) as f64).min(most);
    let least = if pages >= least * at_once as f64 { least } else { 0.0 };
    cheapest.max(balanced).max(least)
}

/// The times of the records of a page, and those of a second field; none if a record has no time.
pub fn times_of(page: &Page, time_field: &str, other: &str) -> Option<Vec<(i64, Option<i64>)>> {
    let time = |index| {
        let time = page.integer(index, time_field).ok().flatten()?;
        Some((time, page.integer(index, other).ok().flatten()))
    };
    (0..page.len()).map(time).collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// 50 records, so many microseconds apart.
    fn page(newest: i64, apart: i64) -> Sample {
        let times: Vec<i64> = (0..50).map(|number| newest - number * apart).collect();
        Sample::of(&times).expect("a sample")
    }

    fn windows(decision: Decision) -> Vec<(i64, i64)> {
        let Decision::Split(windows) = decision else { panic!("{decision:?}") };
        windows.iter().map(|window| (window.first, window.last)).collect()
    }

    #[test]
    fn a_page_without_density_tells_nothing() {
        assert_eq!(Sample::of(&[]), None);
        assert_eq!(Sample::of(&[5; 50]), None);
        assert_eq!(Sample::of(&[9, 8, 7, 6, 5, 4, 3]), None);
        // Not in the order of time.
        assert_eq!(Sample::of(&[9, 8, 7, 6, 5, 4, 3, 3, 4, 2]), None);
        assert!(!Sample::of(&[90, 89, 70, 60, 50, 49, 30, 20, 10]).expect("a sample").is_regular);
    }

    #[test]
    fn a_range_with_few_pages_is_not_split() {
        // A page takes 500 microseconds, and 8,000 are 16 of them.
        let whole = PlannedWindow::whole((2_000, 10_000));
        assert_eq!(whole.decide(&page(10_000, 10), 64), Decision::Keep);
        let whole = PlannedWindow::whole((1_499, 10_000));
        assert_eq!(windows(whole.decide(&page(10_000, 10), 64)).len(), 18);
        assert_eq!(whole.decide(&page(10_000, 10), 1), Decision::Keep);
    }

    #[test]
    fn regular_records_are_split_into_windows_of_not_quite_a_page() {
        // 20 pages, in windows of 48 records at most.
        let whole = PlannedWindow::whole((0, 10_000));
        let split = windows(whole.decide(&page(10_000, 10), 64));
        assert_eq!(split.len(), 21);
        assert_eq!((split[0], split[20]), ((9_525, 10_000), (0, 477)));
    }

    #[test]
    fn of_a_range_with_more_pages_than_are_credible_the_next_twelve_are_split_off() {
        // 2,000 pages, and nothing since 1,100,000.
        let whole = PlannedWindow::whole((0, 1_100_000));
        assert!(!whole.is_credible(&page(1_000_000, 10)));
        let Decision::Split(split) = whole.decide(&page(1_000_000, 10), 64) else { panic!() };
        let near = Kind::Part { expected: 0.0, near: 12.0 };
        let rest = Kind::Rest { near: 48.0, begin: 1_000_000, burst: None };
        assert_eq!(
            split,
            [
                PlannedWindow { first: 994_000, last: 1_100_000, kind: near },
                PlannedWindow { first: 0, last: 993_999, kind: rest },
            ]
        );
        // It goes on in the same way: four times as many, in windows of 12 pages.
        let next = windows(split[1].decide(&page(993_990, 10), 64));
        assert_eq!(next.len(), 5);
        assert_eq!((next[0].1, next[4]), (993_999, (0, 969_989)));
    }

    #[test]
    fn where_nothing_was_expected_to_be_all_that_was_read_decides() {
        let kind = Kind::Rest { near: 48.0, begin: 1_000_000, burst: None };
        let rest = PlannedWindow { first: 0, last: 993_999, kind };
        let sample = page(900_000, 10);
        assert_eq!(rest.decide(&sample, 64), Decision::Wait);
        // 4 pages in a ninth of the time that is left: 36 pages, in 7 windows of any length.
        let above = Above { records: 200, newest: 1_000_000, gaps: 1 };
        let small = windows(rest.decide_by_all(&sample, &above, 64));
        assert_eq!(
            small,
            [
                (771_430, 993_999),
                (642_859, 771_429),
                (514_287, 642_858),
                (385_716, 514_286),
                (257_144, 385_715),
                (128_573, 257_143),
                (0, 128_572),
            ]
        );
        // A burst of 100 pages: the next one is split like it, and known from then on.
        let above = Above { records: 5_000, newest: 1_000_000, gaps: 1 };
        let Decision::Split(split) = rest.decide_by_all(&sample, &above, 64) else { panic!() };
        let last = split.last().expect("a window");
        assert_eq!((last.first, last.last), (0, 824_999));
        assert_eq!(last.kind, Kind::Rest { near: 400.0, begin: 900_000, burst: Some(100.0) });
        assert!(matches!(last.decide(&page(300_000, 10), 64), Decision::Split(_)));
    }

    proptest! {
        #[test]
        fn the_windows_that_take_the_place_of_one_have_its_times_each_once(
            first in 0_i64..1_000_000,
            length in 1_i64..10_000_000,
            since in 0_i64..1_000,
            apart in 1_i64..5_000,
            kind in 0..3,
            at_once in 1_usize..70,
            records in 0_usize..100_000,
        ) {
            let (last, newest) = (first + length, first + (length - since).max(0));
            let kind = match kind {
                0 => Kind::Part { expected: 0.0, near: 12.0 },
                1 => Kind::Rest { near: 48.0, begin: last + length, burst: Some(40.0) },
                _ => Kind::Rest { near: 12.0, begin: last + 1, burst: None },
            };
            let (window, sample) = (PlannedWindow { first, last, kind }, page(newest, apart));
            let above = Above { records, newest: last + length, gaps: 1 };
            for decision in [
                window.decide(&sample, at_once),
                window.decide_by_all(&sample, &above, at_once),
            ] {
                let Decision::Split(windows) = decision else { continue };
                prop_assert_eq!((windows[0].last, windows[windows.len() - 1].first), (last, first));
                prop_assert!(windows.iter().all(|window| window.first <= window.last));
                prop_assert!(windows.windows(2).all(|pair| pair[0].first == pair[1].last + 1));
            }
        }
    }
}
