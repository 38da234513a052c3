//! A model of an iteration: whatever is waited for, given up, collected, refused or resumed, and in whatever order,
//! each record comes once and in order, and no page is requested twice.

use std::{
    collections::HashMap,
    future::{Future, poll_fn},
    pin::pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    task::Poll,
};

use boardlot_client::extension::{
    api::{Argument, endpoint},
    error::{Error, ErrorKind, Result},
    pages::{Limits, Listing, ListingOfKeys, PagedCall, Pages},
};
use proptest::prelude::*;

use crate::{
    reading::Reader,
    scripted::{Query, Script, fills, ids_of as times, pages_of},
};

pub const DAY: i64 = 86_400_000_000;
pub const NOW_MS: i64 = 1_790_000_000_000;
pub const PAGE: usize = 3;

/// A service with fills at these times, latest first; while `failing` is set, the next request fails.
#[derive(Debug)]
pub struct Service {
    times: Mutex<Vec<i64>>,
    failing: AtomicBool,
    /// How often each page was requested.
    requested: Mutex<HashMap<String, usize>>,
}

impl Service {
    pub fn holding(mut times: Vec<i64>) -> Arc<Self> {
        times.sort_unstable_by(|one, other| other.cmp(one));
        let (times, requested) = (Mutex::new(times), Mutex::default());
        Arc::new(Service { times, failing: AtomicBool::default(), requested })
    }

    fn fails(&self) -> bool {
        self.failing.swap(false, Ordering::Relaxed)
    }

    fn most_requested(&self) -> usize {
        self.requested.lock().expect("a lock").values().copied().max().unwrap_or_default()
    }
}

impl Script for Service {
    fn respond(&self, query: &Query) -> Result<String> {
        if self.fails() {
            return Err(ErrorKind::Timeout("made to fail".into()).into());
        }
        *self.requested.lock().expect("a lock").entry(query.text()).or_default() += 1;
        let bound = |name| query.get(name).expect("a bound").parse::<i64>().expect("a time");
        let asked = bound("start")..=bound("end");
        // Of several codes, each has the fills whose times have its remainder.
        let code = query.get("code").and_then(|code| code.split('.').nth(1)?.parse::<i64>().ok());
        let is_of_code = |time: &i64| code.is_none_or(|code| time % (code % 100) == code / 100);
        let times = self.times.lock().expect("a lock");
        let found = times.iter().copied().filter(|time| asked.contains(time));
        let found: Vec<i64> = found.filter(is_of_code).collect();
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
    let (start, end) = range.bounds();
    pages_of(service, fills(start, end, windows), resume).expect("pages")
}

/// The fills of so many codes, some of which are read side by side.
fn pages_of_codes(service: &Arc<Service>, range: Range, keys: i64, resume: Option<&str>) -> Pages {
    let (start, end) = range.bounds();
    let endpoint = endpoint("fills_history").expect("an endpoint");
    let call = |key| {
        let code = format!("HK.{:05}", key * 100 + keys);
        let mut arguments = vec![
            ("acc_id", Argument::text("281756")),
            ("trd_market", Argument::text("HK")),
            ("code", Argument::text(&code)),
        ];
        for (name, bound) in [("start", start), ("end", end)] {
            arguments.extend(bound.map(|bound| (name, Argument::Integer(bound.into()))));
        }
        (code.into(), PagedCall::new(endpoint, &arguments, None))
    };
    let of_keys = ListingOfKeys { key_name: "code".into(), concurrency: 2, collects_errors: false };
    let calls = (0..keys).map(call).collect();
    let listing = Listing::of_keys(of_keys, calls, "fills_history", Arc::default());
    pages_of(service, listing, resume).expect("pages")
}

#[derive(Debug, Clone, Copy)]
pub enum Range {
    Open,
    FromStart,
    ToEnd,
    Closed,
}

impl Range {
    fn bounds(self) -> (Option<i64>, Option<i64>) {
        let now = NOW_MS * 1_000;
        let start = matches!(self, Range::Closed | Range::FromStart).then_some(now - 90 * DAY);
        let end = matches!(self, Range::Closed | Range::ToEnd).then_some(now);
        (start, end)
    }
}

/// The parts that a list is read in.
#[derive(Debug, Clone, Copy)]
enum Parts {
    Windows(i64),
    Keys(i64),
}

impl Parts {
    fn reader(self, service: &Arc<Service>, range: Range, resume: Option<&str>) -> Reader {
        match self {
            Parts::Windows(windows) => pages(service, range, windows, resume).into(),
            Parts::Keys(keys) => pages_of_codes(service, range, keys, resume).into(),
        }
    }
}

/// An action of a caller. A wait is polled `polls` times at most, and dropped then.
#[derive(Debug, Clone, Copy)]
enum Step {
    Row {
        polls: usize,
    },
    Page {
        polls: usize,
    },
    All {
        items: Option<usize>,
        pages: Option<usize>,
        polls: usize,
    },
    /// What was collected is not used.
    Discarded {
        items: Option<usize>,
    },
    Checkpoint,
    Fail,
    Resume,
    /// A fill that comes to be after the iteration has begun.
    NewFill,
}

impl Step {
    /// Returns true if what is fetched by it may have to be fetched again.
    fn may_repeat(self) -> bool {
        matches!(
            self,
            Step::All { .. } | Step::Discarded { .. } | Step::Fail | Step::Resume | Step::NewFill
        )
    }
}

fn step() -> impl Strategy<Value = Step> {
    let limits = (proptest::option::of(0_usize..9), proptest::option::of(0_usize..4));
    prop_oneof![
        5 => (0_usize..12).prop_map(|polls| Step::Row { polls }),
        4 => (0_usize..12).prop_map(|polls| Step::Page { polls }),
        3 => (limits, 0_usize..40)
            .prop_map(|((items, pages), polls)| Step::All { items, pages, polls }),
        1 => proptest::option::of(0_usize..9).prop_map(|items| Step::Discarded { items }),
        1 => Just(Step::Checkpoint),
        1 => Just(Step::Fail),
        1 => Just(Step::Resume),
        1 => Just(Step::NewFill),
    ]
}

/// Polls a wait so many times at most, and drops it then.
async fn within<T>(polls: usize, wait: impl Future<Output = T>) -> Option<T> {
    let mut wait = pin!(wait);
    for _ in 0..polls {
        let polled = poll_fn(|context| Poll::Ready(wait.as_mut().poll(context))).await;
        if let Poll::Ready(value) = polled {
            return Some(value);
        }
        tokio::task::yield_now().await;
    }
    None
}

/// Plays the steps, then reads what is left; the times received, in order.
async fn play(service: &Arc<Service>, range: Range, parts: Parts, steps: &[Step]) -> Vec<i64> {
    let mut reader = parts.reader(service, range, None);
    let mut received = Vec::new();
    for step in steps {
        let before = reader.checkpoint();
        match *step {
            Step::Row { polls } => {
                if let Some(Ok(Some(row))) = within(polls, reader.next_row()).await {
                    received.extend(times(&[row]));
                }
            }
            Step::Page { polls } => {
                if let Some(Ok(Some(page))) = within(polls, reader.next_page()).await {
                    received.extend(times(&[page]));
                }
            }
            Step::All { items, pages, polls } => {
                match within(polls, reader.all(items, pages)).await {
                    Some(Ok(slices)) => {
                        let found = times(&slices);
                        assert!(found.len() <= items.unwrap_or(usize::MAX));
                        received.extend(found);
                    }
                    Some(Err(error)) => {
                        assert_eq!(error.checkpoint, Some(before.clone()), "it changes nothing");
                        assert_eq!(reader.checkpoint(), before);
                    }
                    None => assert_eq!(reader.checkpoint(), before),
                }
            }
            Step::Discarded { items } => {
                let limits = Limits { items, pages: None };
                let count = Arc::default();
                drop(reader.pages.collect(&reader.place, limits, &count, Vec::new).await);
                assert_eq!(reader.checkpoint(), before, "it changes nothing");
            }
            Step::Checkpoint => assert_eq!(reader.checkpoint(), before),
            Step::Fail => service.failing.store(true, Ordering::Relaxed),
            Step::Resume => reader = parts.reader(service, range, Some(&before)),
            Step::NewFill if !received.is_empty() => {
                // Later than the range, as far as that is open: it belongs to the next call.
                service.times.lock().expect("a lock").insert(0, NOW_MS * 1_000 + 1);
            }
            Step::NewFill => {}
        }
    }
    service.failing.store(false, Ordering::Relaxed);
    // A prefetched page may still fail.
    let mut failures = 0;
    loop {
        match reader.next_row().await {
            Ok(Some(row)) => received.extend(times(&[row])),
            Ok(None) => break,
            Err(_) => failures += 1,
        }
        assert!(failures < 9, "it fails again and again");
    }
    let resumed = parts.reader(service, range, Some(&reader.checkpoint())).next_row().await;
    assert!(resumed.expect("a page").is_none(), "the checkpoint is the end");
    received
}

fn runtime() -> tokio::runtime::Runtime {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime")
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 2_000,
        failure_persistence: None,
        ..ProptestConfig::default()
    })]

    #[test]
    fn each_record_comes_once_and_in_order_whatever_the_caller_does(
        ages in proptest::collection::hash_set(0_i64..90 * DAY, 0..25),
        range in prop_oneof![
            Just(Range::Open), Just(Range::FromStart), Just(Range::ToEnd), Just(Range::Closed)
        ],
        parts in prop_oneof![
            (1_i64..6).prop_map(Parts::Windows), (1_i64..6).prop_map(Parts::Keys)
        ],
        steps in proptest::collection::vec(step(), 0..25),
    ) {
        let mut expected: Vec<i64> = ages.into_iter().map(|age| NOW_MS * 1_000 - age).collect();
        expected.sort_unstable_by(|one, other| other.cmp(one));
        let service = Service::holding(expected.clone());
        let received = runtime().block_on(play(&service, range, parts, &steps));
        if let Parts::Keys(keys) = parts {
            expected.sort_by_key(|time| time % keys);
        }
        prop_assert_eq!(received, expected);
        // A list that is collected and given up is fetched again, and nothing else is.
        if !steps.iter().any(|step| step.may_repeat()) {
            prop_assert!(service.most_requested() <= 1);
        }
    }

    #[test]
    fn what_was_fetched_ahead_is_collected_and_not_requested_again(
        ages in proptest::collection::hash_set(0_i64..90 * DAY, 0..40),
        parts in prop_oneof![
            (1_i64..6).prop_map(Parts::Windows), (1_i64..6).prop_map(Parts::Keys)
        ],
        rows in 0_usize..20,
        waits in proptest::collection::vec(0_usize..5, 0..4),
        items in proptest::option::of(0_usize..9),
    ) {
        let times_of_all: Vec<i64> = ages.iter().map(|age| NOW_MS * 1_000 - age).collect();
        let service = Service::holding(times_of_all);
        runtime().block_on(async {
            let mut reader = parts.reader(&service, Range::Open, None);
            let mut count = 0;
            for _ in 0..rows {
                count += usize::from(reader.next_row().await.expect("a page").is_some());
            }
            for polls in waits {
                // It is not used, but the page that was asked for is there.
                drop(within(polls, reader.pages.after(reader.place.page.as_deref())).await);
            }
            count += times(&reader.all(items, None).await.expect("rows")).len();
            count += times(&reader.all(None, None).await.expect("rows")).len();
            assert_eq!(count, ages.len());
        });
        prop_assert!(service.most_requested() <= 1);
    }
}

#[tokio::test]
async fn an_open_range_is_fixed_by_the_first_page_and_not_before() {
    let service = Service::holding((0..5).map(|age| NOW_MS * 1_000 - age).collect());
    let mut reader = Reader::from(pages(&service, Range::Open, 1, None));
    assert!(!reader.checkpoint().contains("range"));
    assert!(reader.next_row().await.expect("a page").is_some());
    let range = (NOW_MS * 1_000 - 90 * DAY, NOW_MS * 1_000);
    assert_eq!(reader.pages.range(), Some(range));
    assert!(reader.checkpoint().contains(&format!("\"range\":[{},{}]", range.0, range.1)));
}

/// A wait that ends before the service has told the time is no loss: the next wait goes on with it.
#[tokio::test]
async fn the_clock_of_an_open_range_is_read_once_however_many_waits_are_given_up() {
    struct Slow(Mutex<usize>, Arc<Service>);
    impl Script for Slow {
        fn respond(&self, query: &Query) -> Result<String> {
            self.1.respond(query)
        }
        fn now(&self) -> Result<i64> {
            *self.0.lock().expect("a lock") += 1;
            self.1.now()
        }
    }
    let service = Service::holding((0..5).map(|age| NOW_MS * 1_000 - age).collect());
    let slow = Arc::new(Slow(Mutex::default(), service));
    let mut reader = Reader::from(pages_of(&slow, fills(None, None, 1), None).expect("pages"));
    while within(1, reader.next_row()).await.is_none() {}
    assert_eq!(*slow.0.lock().expect("a lock"), 1);
}

#[tokio::test]
async fn requests_can_be_read_during_the_iteration() {
    let service = Service::holding((0..7).map(|age| NOW_MS * 1_000 - age).collect());
    let mut reader = Reader::from(pages(&service, Range::Open, 1, None));
    assert_eq!(reader.pages.requests(), 0);
    assert!(reader.next_row().await.expect("a page").is_some());
    // The page in memory, and a prefetched one.
    tokio::task::yield_now().await;
    assert_eq!(reader.pages.requests(), 2);
}

#[tokio::test]
async fn an_empty_page_is_a_page() {
    let service = Service::holding((0..7).map(|age| NOW_MS * 1_000 - age).collect());
    let mut reader = Reader::from(pages(&service, Range::Open, 1, None));
    let mut sizes = Vec::new();
    while let Some(page) = reader.next_page().await.expect("pages") {
        sizes.push(page.range.len());
    }
    assert_eq!(sizes, [3, 0, 3, 0, 1, 0]);
}

#[tokio::test]
async fn pages_that_were_read_are_freed() {
    let service = Service::holding((0..30).map(|age| NOW_MS * 1_000 - age).collect());
    for parts in [Parts::Windows(1), Parts::Windows(3), Parts::Keys(4), Parts::Keys(50)] {
        let mut reader = parts.reader(&service, Range::Open, None);
        let mut read = Vec::new();
        while let Some(page) = reader.next_page().await.expect("pages") {
            read.push(Arc::downgrade(&page.page));
            drop(page);
            let alive = read.iter().filter(|page| page.strong_count() > 0).count();
            assert_eq!(alive, 1, "the one at which the reader is");
        }
    }
}
