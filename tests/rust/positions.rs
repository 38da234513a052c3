//! A model of an iteration: whatever is looked at, received, given up, refused or resumed, and in
//! whatever order, each record is received once and in order.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use boardlot::{
    api::{Argument, endpoint},
    decode::{Page, PageSlice, Value},
    error::{Error, ErrorKind, Result},
    pages::{Listing, PageRow, Pages, Source},
};
use proptest::prelude::*;

pub const ORIGIN: &str = "https://api.example.com";
pub const DAY: i64 = 86_400_000_000;
pub const NOW_MS: i64 = 1_790_000_000_000;
const PAGE: usize = 3;

/// A service with fills at these times, latest first; each can fail once when it is told to.
#[derive(Debug)]
pub struct Service {
    times: Mutex<Vec<i64>>,
    failing: Mutex<bool>,
}

impl Service {
    pub fn holding(mut times: Vec<i64>) -> Arc<Self> {
        times.sort_unstable_by(|one, other| other.cmp(one));
        Arc::new(Service { times: Mutex::new(times), failing: Mutex::new(false) })
    }

    fn answer(&self, cursor: Option<&str>, (start, end): (i64, i64)) -> String {
        let times = self.times.lock().expect("a lock");
        let found: Vec<i64> =
            times.iter().copied().filter(|time| (start..=end).contains(time)).collect();
        let place = cursor.map_or(0, |cursor| cursor["at ".len()..].parse().expect("at"));
        // Every second page is empty, and ends nothing.
        let rows: Vec<String> = match place % 2 {
            0 => {
                let rows = found.iter().skip(place / 2 * PAGE).take(PAGE);
                rows.map(|time| format!("{{\"updated_time\":{time}}}")).collect()
            }
            _ => Vec::new(),
        };
        let completed = place / 2 * PAGE + PAGE >= found.len() && place % 2 == 1;
        format!(
            "{{\"s\":\"ok\",\"d\":{{\"order_fills\":[{}],\"page_flag\":\"at {}\",\
             \"completed\":{completed}}}}}",
            rows.join(","),
            place + 1
        )
    }
}

#[derive(Debug)]
struct Shared(Arc<Service>);

impl Source for Shared {
    fn page<'a>(
        &'a self,
        listing: &'a Listing,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        Box::pin(async move {
            tokio::task::yield_now().await;
            if std::mem::take(&mut *self.0.failing.lock().expect("a lock")) {
                return Err(ErrorKind::Timeout("told to fail".into()).into());
            }
            // Without a range of its own, a page has that of the call.
            let given = || listing.plan.request.time_range().and_then(|range| range.known());
            let range = range.or_else(given).expect("a range");
            let body = self.0.answer(cursor, range);
            listing.plan.parse(&::http::Response::new(body.into()))
        })
    }

    fn origin(&self) -> &str {
        ORIGIN
    }

    fn now_ms<'a>(
        &'a self,
        _listing: &'a Listing,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>> {
        Box::pin(async {
            match std::mem::take(&mut *self.0.failing.lock().expect("a lock")) {
                true => Err(Error::config("no time")),
                false => Ok(NOW_MS),
            }
        })
    }
}

pub fn pages(service: &Arc<Service>, range: Range, windows: i64, resume: Option<&str>) -> Pages {
    let fills = endpoint("fills_history").expect("an endpoint");
    let text = |text: &str| Argument::Text(text.to_owned());
    let mut arguments = vec![("acc_id", text("281756")), ("trd_market", text("HK"))];
    if let Range::Closed | Range::FromStart = range {
        arguments.push(("start", Argument::Integer((NOW_MS * 1_000 - 90 * DAY).into())));
    }
    if let Range::Closed | Range::ToEnd = range {
        arguments.push(("end", Argument::Integer((NOW_MS * 1_000).into())));
    }
    let listing = Listing::new(fills, &arguments, Some(windows)).expect("a listing");
    Pages::new(Arc::new(Shared(service.clone())), listing, resume).expect("pages")
}

pub fn times(slices: &[PageSlice]) -> Vec<i64> {
    let mut times = Vec::new();
    for slice in slices {
        for index in slice.range.clone() {
            let members = slice.page.row(index).expect("a row");
            let value = Value::parse(members[0].1.get()).expect("JSON");
            times.push(value.as_integer().expect("a time"));
        }
    }
    times
}

fn row_of(page: &Page, index: usize) -> PageRow {
    PageRow { page: page.id(), index, page_length: page.len() }
}

#[derive(Debug, Clone, Copy)]
pub enum Range {
    Open,
    FromStart,
    ToEnd,
    Closed,
}

/// What a caller does; `received` tells whether what was looked at reaches its code.
#[derive(Debug, Clone, Copy)]
enum Step {
    Row {
        received: bool,
    },
    Page {
        received: bool,
    },
    All {
        most: Option<usize>,
        pages: Option<usize>,
        received: bool,
        /// The caller takes it for the rest of the list, whether or not it is.
        is_rest: bool,
    },
    /// Receives up to this many records of the page in memory without the iteration.
    Lend(usize),
    /// Waits for a page and gives up at once.
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
        4 => any::<bool>().prop_map(|received| Step::Row { received }),
        3 => any::<bool>().prop_map(|received| Step::Page { received }),
        3 => all.prop_map(|((most, pages), received, is_rest)| {
            Step::All { most, pages, received, is_rest }
        }),
        3 => (0_usize..4).prop_map(Step::Lend),
        1 => Just(Step::GiveUp),
        2 => Just(Step::Fail),
        2 => Just(Step::Resume),
        1 => Just(Step::NewFill),
    ]
}

/// Plays the steps, then reads what is left; the times received, in order.
async fn play(service: &Arc<Service>, range: Range, windows: i64, steps: &[Step]) -> Vec<i64> {
    let mut pages_now = pages(service, range, windows, None);
    let (mut received_times, count) = (Vec::new(), AtomicU64::new(0));
    let mut ended = false;
    for step in steps {
        let (before, rows_before) = (pages_now.checkpoint(), received_times.len());
        let ended_before = ended;
        match *step {
            Step::Row { received } => {
                let filled = pages_now.fill().await;
                if let Ok(more) = filled {
                    assert_eq!(pages_now.next_row().is_some(), more, "it is in memory, or none is");
                    ended |= !more;
                }
                if let Ok(true) = filled
                    && let Some((page, index)) = pages_now.next_row()
                    && received
                {
                    let slice =
                        PageSlice { page: page.clone(), range: index..index + 1, key: None };
                    received_times.extend(times(&[slice]));
                    pages_now.received_row();
                    assert_ne!(pages_now.checkpoint(), before, "it moves with each record");
                    let fixed = pages_now.position().get().range.is_some();
                    assert_eq!(fixed, pages_now.listing().time_range.is_some(), "it is fixed now");
                } else {
                    assert_eq!(pages_now.checkpoint(), before, "nothing was received");
                }
            }
            Step::Page { received } => {
                let filled = pages_now.fill_page().await;
                if let Ok(more) = filled {
                    assert_eq!(
                        pages_now.next_page().is_some(),
                        more,
                        "it is in memory, or none is"
                    );
                    ended |= !more;
                }
                if let Ok(true) = filled
                    && let Some(slice) = pages_now.next_page()
                    && received
                {
                    received_times.extend(times(&[slice]));
                    pages_now.received_page();
                    assert!(pages_now.next_row().is_none() && pages_now.next_page().is_none());
                } else {
                    assert_eq!(pages_now.checkpoint(), before, "nothing was received");
                }
            }
            Step::All { most, pages, received, is_rest } => {
                let count_before = count.load(Ordering::Relaxed);
                let outcome = pages_now.gather(most, pages, &count, Vec::new).await;
                let exhausted = pages_now.position().is_exhausted();
                match outcome {
                    Ok(slices) if received => {
                        let found = times(&slices.concat());
                        let counted = count.load(Ordering::Relaxed) - count_before;
                        assert_eq!(counted, found.len() as u64, "progress is told");
                        assert!(found.len() <= most.unwrap_or(usize::MAX));
                        assert!(found.len() <= pages.unwrap_or(usize::MAX).saturating_mul(PAGE));
                        received_times.extend(found);
                        pages_now.received_all(is_rest || (most.is_none() && pages.is_none()));
                    }
                    Ok(_) => assert_eq!(pages_now.checkpoint(), before, "nothing was received"),
                    Err(error) => {
                        assert_eq!(error.checkpoint.as_deref(), Some(before.as_str()));
                        assert_eq!(error.to_string().contains("exhausted"), exhausted);
                    }
                }
            }
            Step::Lend(most) => {
                let next = pages_now.next_row().map(|(page, index)| (page.clone(), index));
                pages_now.lend();
                let position = pages_now.position().clone();
                if let Some((page, first)) = &next {
                    for index in *first..first + most {
                        let row = row_of(page, index);
                        let later = PageRow { index: index + 1, ..row };
                        assert!(!position.receive_lent(later), "not the next one");
                        let other = PageRow { page: row.page + 1, ..row };
                        assert!(!position.receive_lent(other), "of another page");
                        if !position.receive_lent(row) {
                            break;
                        }
                        assert!(index + 1 < page.len(), "the iteration goes on to the next page");
                        let range = index..index + 1;
                        received_times.extend(times(&[PageSlice {
                            page: page.clone(),
                            range,
                            key: None,
                        }]));
                        assert_ne!(pages_now.checkpoint(), before, "it moves with each record");
                    }
                }
                pages_now.take_back();
                if let Some((page, first)) = next {
                    let receive = |index| position.receive_lent(row_of(&page, index));
                    let any = (first..page.len()).any(receive);
                    assert!(!any, "it is not lent any more");
                }
            }
            Step::GiveUp => {
                let waiting = tokio::time::timeout(std::time::Duration::ZERO, pages_now.fill());
                drop(waiting.await);
                assert_eq!(pages_now.checkpoint(), before, "nothing was received");
            }
            Step::Fail => *service.failing.lock().expect("a lock") = true,
            Step::Resume => pages_now = pages(service, range, windows, Some(&before)),
            Step::NewFill if !received_times.is_empty() => {
                // Later than the range, as far as that is open: it belongs to the next call.
                service.times.lock().expect("a lock").insert(0, NOW_MS * 1_000 + 1);
            }
            Step::NewFill => {}
        }
        assert!(!ended_before || received_times.len() == rows_before, "it said that none is left");
    }
    *service.failing.lock().expect("a lock") = false;
    // A page that was asked for ahead may still bring its failure.
    let mut failures = 0;
    loop {
        match pages_now.fill().await {
            Ok(true) => {
                let (page, index) = pages_now.next_row().expect("a row");
                let slice = PageSlice { page: page.clone(), range: index..index + 1, key: None };
                received_times.extend(times(&[slice]));
                pages_now.received_row();
            }
            Ok(false) => break,
            Err(_) => failures += 1,
        }
        assert!(failures < 9, "it goes on failing");
    }
    pages_now.received_end();
    assert!(pages_now.position().is_exhausted() && pages_now.position().get().done);
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

#[tokio::main(flavor = "current_thread")]
async fn open_range_of_checkpoint(received: usize) -> Option<(i64, i64)> {
    let service = Service::holding((0..5).map(|age| NOW_MS * 1_000 - age).collect());
    let mut pages = pages(&service, Range::Open, 1, None);
    assert!(pages.fill().await.expect("a page"));
    (0..received).for_each(|_| pages.received_row());
    pages.position().get().range
}

#[test]
fn an_open_range_is_fixed_by_the_first_record_and_not_before() {
    assert_eq!(open_range_of_checkpoint(0), None);
    let fixed = Some((NOW_MS * 1_000 - 90 * DAY, NOW_MS * 1_000));
    assert_eq!(open_range_of_checkpoint(1), fixed);
}

#[tokio::test]
async fn requests_and_position_can_be_read_beside_the_iteration() {
    let service = Service::holding((0..7).map(|age| NOW_MS * 1_000 - age).collect());
    let mut pages = pages(&service, Range::Open, 1, None);
    let (requests, position) = (pages.requests().clone(), pages.position().clone());
    assert_eq!((requests.load(Ordering::Relaxed), position.get().row), (0, 0));
    assert!(pages.fill().await.expect("a page"));
    pages.received_row();
    // The page in memory, and one ahead.
    assert_eq!((requests.load(Ordering::Relaxed), position.get().row), (2, 1));
}

#[tokio::test]
async fn an_empty_page_is_a_page() {
    let service = Service::holding((0..7).map(|age| NOW_MS * 1_000 - age).collect());
    let mut pages = pages(&service, Range::Open, 1, None);
    let mut sizes = Vec::new();
    while pages.fill_page().await.expect("pages") {
        sizes.push(pages.next_page().expect("a page").range.len());
        pages.received_page();
    }
    assert_eq!(sizes, [3, 0, 3, 0, 1, 0]);
}

#[tokio::test]
async fn a_lent_page_is_received_up_to_its_last_record() {
    let service = Service::holding((0..7).map(|age| NOW_MS * 1_000 - age).collect());
    let mut pages = pages(&service, Range::Open, 1, None);
    let position = pages.position().clone();
    assert!(pages.fill().await.expect("a page"));
    let page = pages.next_row().expect("a row").0.clone();
    // Until a record of it was received, the position is not in this page.
    pages.lend();
    assert!(!position.receive_lent(row_of(&page, 0)));
    pages.take_back();
    pages.received_row();
    pages.lend();
    assert!(position.receive_lent(row_of(&page, 1)));
    assert!(!position.receive_lent(row_of(&page, 2)), "the last one");
    assert_eq!(position.get().row, 2);
    pages.take_back();
    assert_eq!(pages.next_row().expect("a row").1, 2);
}
