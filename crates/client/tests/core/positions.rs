//! A model of an iteration: whatever is looked at, received, given up, refused or resumed, and in
//! whatever order, each record is received once and in order.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use boardlot_client::{
    decode::PageSlice,
    error::{Error, ErrorKind, Result},
    pages::{Pages, Unit, View},
};
use proptest::prelude::*;

use crate::{
    reading,
    scripted::{Query, Script, fills, ids_of as times, pages_of},
};

pub const DAY: i64 = 86_400_000_000;
pub const NOW_MS: i64 = 1_790_000_000_000;
pub const PAGE: usize = 3;
/// Two views of the rows.
const AHEAD: View = View(1);
const OTHER: View = View(2);

/// A service with fills at these times, latest first; while `failing` is set, the next request fails.
#[derive(Debug)]
pub struct Service {
    times: Mutex<Vec<i64>>,
    failing: AtomicBool,
}

impl Service {
    pub fn holding(mut times: Vec<i64>) -> Arc<Self> {
        times.sort_unstable_by(|one, other| other.cmp(one));
        Arc::new(Service { times: Mutex::new(times), failing: AtomicBool::default() })
    }

    fn fails(&self) -> bool {
        self.failing.swap(false, Ordering::Relaxed)
    }
}

impl Script for Service {
    fn respond(&self, query: &Query) -> Result<String> {
        if self.fails() {
            return Err(ErrorKind::Timeout("made to fail".into()).into());
        }
        let bound = |name| query.get(name).expect("a bound").parse::<i64>().expect("a time");
        let asked = bound("start")..=bound("end");
        let times = self.times.lock().expect("a lock");
        let found: Vec<i64> = times.iter().copied().filter(|time| asked.contains(time)).collect();
        let cursor = query.get("page_flag").unwrap_or_default();
        let number = cursor.strip_prefix("at ").map_or(0, |number| number.parse().expect("at"));
        // Every second page is empty, and ends nothing.
        let rows: Vec<String> = match number % 2 {
            0 => {
                let rows = found.iter().skip(number / 2 * PAGE).take(PAGE);
                rows.map(|time| format!("{{\"updated_time\":{time}}}")).collect()
            }
            _ => Vec::new(),
        };
        let completed = number / 2 * PAGE + PAGE >= found.len() && number % 2 == 1;
        Ok(format!(
            "{{\"s\":\"ok\",\"d\":{{\"order_fills\":[{}],\"page_flag\":\"at {}\",\
             \"completed\":{completed}}}}}",
            rows.join(","),
            number + 1
        ))
    }

    fn now(&self) -> Result<i64> {
        match self.fails() {
            true => Err(Error::config("no time")),
            false => Ok(NOW_MS * 1_000),
        }
    }
}

pub fn pages(service: &Arc<Service>, range: Range, windows: i64, resume: Option<&str>) -> Pages {
    let now = NOW_MS * 1_000;
    let start = matches!(range, Range::Closed | Range::FromStart).then_some(now - 90 * DAY);
    let end = matches!(range, Range::Closed | Range::ToEnd).then_some(now);
    pages_of(service, fills(start, end, windows), resume).expect("pages")
}

fn time_of(slice: &PageSlice) -> Vec<i64> {
    times(std::slice::from_ref(slice))
}

#[derive(Debug, Clone, Copy)]
pub enum Range {
    Open,
    FromStart,
    ToEnd,
    Closed,
}

/// An action of a caller; `received` says whether what was looked at reaches its code.
#[derive(Debug, Clone, Copy)]
enum Step {
    Next {
        unit: Unit,
        received: bool,
    },
    All {
        most: Option<usize>,
        pages: Option<usize>,
        received: bool,
        /// The caller takes it for the rest of the list, whether or not it is.
        is_rest: bool,
    },
    /// Converts up to `converted` records of the page in memory, and receives up to `received`.
    Ahead {
        converted: usize,
        received: usize,
    },
    /// Looks at a record and a page, and receives the record; then tries to receive them again.
    TooLate,
    /// Waits for a page and is dropped at once.
    GiveUp,
    Fail,
    Resume,
    /// A fill that comes to be after the iteration has begun.
    NewFill,
}

fn step() -> impl Strategy<Value = Step> {
    let limits = (proptest::option::of(0_usize..9), proptest::option::of(0_usize..4));
    let all = (limits, any::<bool>(), any::<bool>());
    prop_oneof![
        4 => any::<bool>().prop_map(|received| Step::Next { unit: Unit::Row, received }),
        3 => any::<bool>().prop_map(|received| Step::Next { unit: Unit::Page, received }),
        3 => all.prop_map(|((most, pages), received, is_rest)| {
            Step::All { most, pages, received, is_rest }
        }),
        3 => (1_usize..4, 0_usize..4)
            .prop_map(|(converted, received)| Step::Ahead { converted, received }),
        1 => Just(Step::TooLate),
        1 => Just(Step::GiveUp),
        2 => Just(Step::Fail),
        2 => Just(Step::Resume),
        1 => Just(Step::NewFill),
    ]
}

fn checkpoint(pages: &Pages) -> String {
    pages.checkpoint().expect("a checkpoint")
}

fn is_there(pages: &Pages, unit: Unit) -> bool {
    match unit {
        Unit::Row => pages.delivery.next_row(None).is_some(),
        Unit::Page => pages.delivery.next_page(None).is_some(),
    }
}

fn is_anything_there(pages: &Pages) -> bool {
    is_there(pages, Unit::Row) || is_there(pages, Unit::Page)
}

/// Plays the steps, then reads what is left; the times received, in order.
async fn play(service: &Arc<Service>, range: Range, windows: i64, steps: &[Step]) -> Vec<i64> {
    let mut pages_now = pages(service, range, windows, None);
    let (mut received_times, count) = (Vec::new(), Arc::<AtomicU64>::default());
    let mut ended = false;
    for step in steps {
        let (before, rows_before) = (checkpoint(&pages_now), received_times.len());
        let ended_before = ended;
        match *step {
            Step::Next { unit, received } => {
                let filled = reading::fill(&pages_now, unit).await;
                if let Ok(more) = filled {
                    assert_eq!(is_there(&pages_now, unit), more, "it is in memory, or none is");
                    ended |= !more;
                }
                if let Ok(true) = filled
                    && received
                {
                    let item = reading::receive(&pages_now, unit).expect("an item");
                    received_times.extend(time_of(&item));
                    if unit == Unit::Page {
                        assert!(!is_anything_there(&pages_now));
                    } else {
                        assert_ne!(checkpoint(&pages_now), before, "it moves with each record");
                        let fixed = pages_now.delivery.position().range.is_some();
                        assert_eq!(fixed, pages_now.call.time_range.is_some(), "it is fixed now");
                    }
                } else {
                    assert_eq!(checkpoint(&pages_now), before, "nothing was received");
                }
            }
            Step::All { most, pages, received, is_rest } => {
                let count_before = count.load(Ordering::Relaxed);
                let outcome = reading::gather(&pages_now, most, pages, &count).await;
                let exhausted = pages_now.delivery.is_exhausted();
                match outcome {
                    Ok((mut gathering, slices)) if received => {
                        let found = times(&slices);
                        let counted = count.load(Ordering::Relaxed) - count_before;
                        assert_eq!(counted, found.len() as u64, "progress is reported");
                        assert!(found.len() <= most.unwrap_or(usize::MAX));
                        assert!(found.len() <= pages.unwrap_or(usize::MAX).saturating_mul(PAGE));
                        received_times.extend(found);
                        let is_all = most.is_none() && pages.is_none();
                        assert!(gathering.receive(is_rest || is_all));
                    }
                    Ok((gathering, _)) => {
                        assert!(!is_anything_there(&pages_now), "nobody else looks");
                        drop(gathering);
                        assert_eq!(checkpoint(&pages_now), before, "nothing was received");
                    }
                    Err(error) => {
                        assert_eq!(error.checkpoint.as_deref(), Some(before.as_str()));
                        assert_eq!(error.to_string().contains("exhausted"), exhausted);
                    }
                }
            }
            Step::Ahead { converted, received } => {
                let delivery = &pages_now.delivery;
                if let Some((ticket, page, index)) = delivery.next_row(None) {
                    let end = page.len().min(index + converted);
                    let objects = vec![(); end - index].into_iter();
                    let first = delivery.receive_converted(ticket, AHEAD, objects);
                    assert!(first.is_some(), "nobody else receives");
                    assert!(
                        delivery.receive_ready(OTHER, None).is_none(),
                        "another view has its own"
                    );
                    let more =
                        (1..received).take_while(|_| delivery.receive_ready(AHEAD, None).is_some());
                    let end = index + 1 + more.count();
                    assert_eq!(
                        end,
                        (index + received.max(1)).min(index + converted).min(page.len())
                    );
                    let range = index..end;
                    received_times.extend(times(&[PageSlice { page, range, key: None }]));
                    assert_ne!(checkpoint(&pages_now), before, "it moves with each record");
                }
            }
            Step::TooLate => {
                let delivery = &pages_now.delivery;
                let (row, page) = (delivery.next_row(None), delivery.next_page(None));
                let row_received = reading::receive(&pages_now, Unit::Row);
                received_times.extend(row_received.iter().flat_map(time_of));
                let after = checkpoint(&pages_now);
                if let (Some((of_row, ..)), Some((of_page, _))) = (row, page) {
                    let again = delivery.receive_converted(of_row, AHEAD, vec![()].into_iter());
                    assert!(again.is_none(), "it was received before");
                    assert!(
                        !delivery.receive(of_page, Unit::Page),
                        "a part of it was received before"
                    );
                    assert_ne!(after, before);
                }
                assert_eq!(checkpoint(&pages_now), after);
            }
            Step::GiveUp => {
                let filled = reading::fill(&pages_now, Unit::Row);
                drop(tokio::time::timeout(std::time::Duration::ZERO, filled).await);
                assert_eq!(checkpoint(&pages_now), before, "nothing was received");
            }
            Step::Fail => service.failing.store(true, Ordering::Relaxed),
            Step::Resume => pages_now = pages(service, range, windows, Some(&before)),
            Step::NewFill if !received_times.is_empty() => {
                // Later than the range, as far as that is open: it belongs to the next call.
                service.times.lock().expect("a lock").insert(0, NOW_MS * 1_000 + 1);
            }
            Step::NewFill => {}
        }
        assert!(!ended_before || received_times.len() == rows_before, "it said that none is left");
    }
    service.failing.store(false, Ordering::Relaxed);
    // A prefetched page may still fail.
    let mut failures = 0;
    loop {
        match pages_now.next_row().await {
            Ok(Some(row)) => received_times.extend(times(&[row])),
            Ok(None) => break,
            Err(_) => failures += 1,
        }
        assert!(failures < 9, "it fails again and again");
    }
    let delivery = &pages_now.delivery;
    delivery.receive_end();
    assert!(delivery.is_exhausted() && delivery.position().done);
    received_times
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn each_record_is_received_once_and_in_order_whatever_the_caller_does(
        ages in proptest::collection::hash_set(0_i64..90 * DAY, 0..25),
        range in prop_oneof![
            Just(Range::Open), Just(Range::FromStart), Just(Range::ToEnd), Just(Range::Closed)
        ],
        windows in 1_i64..6,
        steps in proptest::collection::vec(step(), 0..25),
    ) {
        let mut expected: Vec<i64> = ages.into_iter().map(|age| NOW_MS * 1_000 - age).collect();
        expected.sort_unstable_by(|one, other| other.cmp(one));
        let service = Service::holding(expected.clone());
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let received = runtime.expect("a runtime").block_on(play(&service, range, windows, &steps));
        prop_assert_eq!(received, expected);
    }
}
