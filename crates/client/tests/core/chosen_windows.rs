//! Windows that are chosen as pages come: rows, order and checkpoints of one cursor, in fewer round trips, with at
//! most a tenth more requests. Time is simulated: a request takes a round trip, and nothing else takes time.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use boardlot_client::{
    api::{Argument, endpoint},
    decode::Page,
    error::{ApiFailure, Error, ErrorKind, FailureClass, Result},
    pages::{Listing, ListingOfKeys, PagedCall, Pages, Source, Windows},
};
use tokio::time::Instant;

use super::{
    reading::Reader,
    scripted::{ORIGIN, Query, ids_of, read},
};

const DAY: i64 = 86_400_000_000;
const START: i64 = 1_780_000_000_000_000;
const END: i64 = START + 90 * DAY;
const ROUND_TRIP: Duration = Duration::from_millis(50);

/// SplitMix64.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn below(&mut self, end: i64) -> i64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ (mixed >> 31)) % end.unsigned_abs().max(1)).cast_signed()
    }
}

/// A fill, created and updated at these times.
#[derive(Debug, Clone, Copy)]
struct Fill {
    id: i64,
    created: i64,
    updated: i64,
}

/// A service with these fills. What the service document does not say is a field.
#[derive(Debug)]
struct Service {
    fills: Mutex<Vec<Fill>>,
    sorted_by_creation: bool,
    includes: (bool, bool),
    ignores_ranges: bool,
    at_once: usize,
    /// The records that the client asks for.
    page_size: i128,
    /// The cursor is the last row, or the number of rows.
    by_last_row: bool,
    fails_once: AtomicBool,
    /// It rejects what exceeds so many requests in a second.
    per_second: Option<usize>,
    answered: Mutex<Vec<Instant>>,
    rejected: AtomicUsize,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    /// Fills that arrive after so many pages, now.
    arriving: Mutex<Vec<(usize, Fill)>>,
}

impl Service {
    /// Fills that were updated at these times, the latest first, when they were created; their ids count up.
    fn of(times: impl IntoIterator<Item = i64>) -> Self {
        let fill = |(id, time)| Fill { id, created: time, updated: time };
        Service {
            fills: Mutex::new((0..).zip(times).map(fill).collect()),
            sorted_by_creation: false,
            includes: (true, true),
            ignores_ranges: false,
            at_once: 64,
            page_size: 50,
            by_last_row: false,
            fails_once: AtomicBool::default(),
            per_second: None,
            answered: Mutex::default(),
            rejected: AtomicUsize::default(),
            in_flight: AtomicUsize::default(),
            most_in_flight: AtomicUsize::default(),
            arriving: Mutex::default(),
        }
    }

    fn respond(&self, query: &Query) -> String {
        let mut fills = self.fills.lock().expect("a lock");
        let bound = |name| query.get(name).expect("a bound").parse::<i64>().expect("a number");
        let (start, end) = (bound("start"), bound("end"));
        let (has_start, has_end) = self.includes;
        let is_asked = |fill: &Fill| {
            let time = fill.updated;
            (time > start || (has_start && time == start))
                && (time < end || (has_end && time == end))
        };
        let mut found: Vec<Fill> = fills.clone();
        found.retain(|fill| self.ignores_ranges || is_asked(fill));
        let time = |fill: &Fill| if self.sorted_by_creation { fill.created } else { fill.updated };
        found.sort_by_key(|fill| (-time(fill), fill.id));
        let size = query.get("page_size").map_or(50, |size| size.parse().expect("a number"));
        let first: usize = match query.get("page_flag") {
            None | Some("") => 0,
            Some(flag) if self.by_last_row => {
                let (at, id) = flag.split_once('_').expect("a time and an id");
                let last = (-at.parse::<i64>().expect("a time"), id.parse::<i64>().expect("an id"));
                found.partition_point(|fill| (-time(fill), fill.id) <= last)
            }
            Some(flag) => flag.parse().expect("a number"),
        };
        let rows: Vec<String> = found
            .iter()
            .skip(first)
            .take(size)
            .map(|fill| {
                let Fill { id, created, updated } = fill;
                format!("{{\"deal_id\":{id},\"create_time\":{created},\"updated_time\":{updated}}}")
            })
            .collect();
        let pages = self.answered.lock().expect("a lock").len();
        let mut arriving = self.arriving.lock().expect("a lock");
        while let Some((_, fill)) = arriving.pop_if(|(after, _)| *after <= pages) {
            fills.push(fill);
        }
        let next = first + rows.len();
        let flag = match found.get(next.wrapping_sub(1)) {
            Some(last) if self.by_last_row => format!("{}_{}", time(last), last.id),
            _ => next.to_string(),
        };
        format!(
            "{{\"s\":\"ok\",\"d\":{{\"order_fills\":[{}],\"page_flag\":\"{flag}\",\"completed\":{}}}}}",
            rows.join(","),
            next >= found.len()
        )
    }

    fn requests(&self) -> usize {
        self.answered.lock().expect("a lock").len()
    }
}

impl Source for Service {
    fn page<'a>(
        &'a self,
        call: &'a PagedCall,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        Box::pin(async move {
            let now = self.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
            self.most_in_flight.fetch_max(now, Ordering::Relaxed);
            tokio::time::sleep(ROUND_TRIP).await;
            self.in_flight.fetch_sub(1, Ordering::Relaxed);
            if self.fails_once.swap(false, Ordering::Relaxed) {
                return Err(Error::config("a failure"));
            }
            let recent = {
                let answered = self.answered.lock().expect("a lock");
                answered.iter().rev().take_while(|at| at.elapsed().as_secs_f64() < 1.0).count()
            };
            if self.per_second.is_some_and(|most| recent >= most) {
                self.rejected.fetch_add(1, Ordering::Relaxed);
                tokio::time::sleep(Duration::from_millis(500)).await;
                return Err(rejection());
            }
            let response = self.respond(&Query::of(call, cursor, range));
            self.answered.lock().expect("a lock").push(Instant::now());
            read(call, &response)
        })
    }

    fn origin(&self) -> &str {
        ORIGIN
    }

    fn requests_at_once(&self) -> usize {
        self.at_once
    }

    fn now<'a>(
        &'a self,
        _call: &'a PagedCall,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>> {
        Box::pin(async { Ok(END) })
    }
}

fn rejection() -> Error {
    let failure = ApiFailure {
        class: FailureClass::RateLimited,
        http_status: 429,
        code: None,
        error_code: None,
        message: String::new(),
        headers: Vec::new(),
        body: String::new(),
        retry_after: None,
    };
    ErrorKind::Api(failure).into()
}

fn arguments(page_size: i128) -> Vec<(&'static str, Argument)> {
    let text = |text: &str| Argument::Text(text.to_owned());
    vec![
        ("acc_id", text("281756")),
        ("trd_market", text("HK")),
        ("start", Argument::Integer(START.into())),
        ("end", Argument::Integer(END.into())),
        ("page_size", Argument::Integer(page_size)),
    ]
}

fn pages(service: &Arc<Service>, windows: Option<Windows>, resume: Option<&str>) -> Pages {
    let fills = endpoint("fills_history").expect("an endpoint");
    let call = PagedCall::new(fills, &arguments(service.page_size), windows).expect("a call");
    Pages::new(service.clone(), call, resume).expect("pages")
}

/// The same list for three keys, which are read side by side.
fn pages_of_keys(service: &Arc<Service>, collects_errors: bool) -> Pages {
    let fills = endpoint("fills_history").expect("an endpoint");
    let call = |key: &str| (key.into(), PagedCall::new(fills, &arguments(service.page_size), None));
    let keys = ListingOfKeys { key_name: "key".into(), concurrency: 3, collects_errors };
    let calls = ["one", "two", "three"].map(call).into();
    let listing = Listing::of_keys(keys, calls, "fills_history", Arc::default());
    Pages::new(service.clone(), listing, None).expect("pages")
}

/// What was read of a list, and what it took.
#[derive(Debug, PartialEq)]
struct Seen {
    ids: Vec<i64>,
    checkpoint: String,
    requests: usize,
    round_trips: f64,
}

/// All of it as one result.
async fn all(service: &Arc<Service>, windows: Option<Windows>) -> Seen {
    all_of(service, pages(service, windows, None)).await
}

async fn all_of(service: &Arc<Service>, pages: Pages) -> Seen {
    let (before, started) = (service.requests(), Instant::now());
    let mut reader = Reader::from(pages);
    let ids = ids_of(&reader.all(None, None).await.expect("rows"));
    let requests = service.requests() - before;
    let round_trips = started.elapsed().as_secs_f64() / ROUND_TRIP.as_secs_f64();
    Seen { ids, checkpoint: reader.checkpoint(), requests, round_trips }
}

const ONE: Option<Windows> = Some(Windows::Number(1));
const AUTO: Option<Windows> = Some(Windows::Auto);

/// Times of so many fills, the latest first.
fn spread(kind: &str, count: i64) -> Vec<i64> {
    let mut random = Random(count.cast_unsigned());
    let mut times: Vec<i64> = (0..count)
        .map(|index| match kind {
            "evenly" => START + (90 * DAY) / count * index + 1,
            // Two thirds of the range precede the account.
            "of a month" => END - 1 - random.below(30 * DAY),
            // On weekdays, within some hours.
            "on weekdays" => {
                let day = random.below(64);
                END - (day / 5 * 7 + day % 5) * DAY - random.below(DAY / 4) - 1
            }
            "at random" => START + random.below(90 * DAY),
            "in bursts" => START + (index % 10 * 9 + 4) * DAY + random.below(DAY / 24),
            // In one day.
            _ => START + 45 * DAY + random.below(DAY),
        })
        .collect();
    times.sort_unstable_by(|one, other| other.cmp(one));
    times
}

/// The requests that one cursor needs.
fn pages_of(count: i64) -> usize {
    usize::try_from(count).expect("a number").div_ceil(50)
}

#[tokio::test(start_paused = true)]
async fn a_list_takes_few_round_trips_and_hardly_more_requests_than_one_cursor() {
    // Of one cursor: 2, 40 and 400 requests, one after another.
    for (count, spread_as, most_requests, most_trips) in [
        (100, "evenly", 2, 2),
        (100, "at random", 2, 2),
        (100, "in bursts", 2, 2),
        (100, "in one day", 2, 2),
        (2_000, "evenly", 44, 2),
        (2_000, "at random", 44, 6),
        (2_000, "in bursts", 44, 15),
        // The first two pages, and two to learn where the day ends.
        (2_000, "in one day", 47, 17),
        (400, "in one day", 9, 9),
        (2_000, "of a month", 51, 15),
        (2_000, "on weekdays", 48, 7),
        (3_000, "on weekdays", 67, 9),
        (20_000, "evenly", 440, 17),
        (20_000, "at random", 440, 18),
        (20_000, "in bursts", 460, 36),
        (20_000, "in one day", 460, 18),
    ] {
        let service = Arc::new(Service::of(spread(spread_as, count)));
        let seen = all(&service, None).await;
        assert_eq!(seen.ids, (0..count).collect::<Vec<_>>(), "{count} {spread_as}");
        assert!(
            seen.requests <= most_requests && seen.round_trips <= f64::from(most_trips) + 0.5,
            "{count} {spread_as}: {} requests for {} pages in {} round trips",
            seen.requests,
            pages_of(count),
            seen.round_trips
        );
        assert!(service.most_in_flight.load(Ordering::Relaxed) <= 64);
    }
}

#[tokio::test(start_paused = true)]
async fn each_of_many_keys_is_read_in_windows_unless_it_is_to_be_known_where_one_failed() {
    let service = Arc::new(Service::of(spread("at random", 2_000)));
    let expected: Vec<i64> = (0..3).flat_map(|_| 0..2_000).collect();
    let one_cursor = all_of(&service, pages_of_keys(&service, true)).await;
    assert_eq!((one_cursor.requests, one_cursor.ids == expected), (120, true));
    assert!(one_cursor.round_trips >= 40.0);
    let windows = all_of(&service, pages_of_keys(&service, false)).await;
    assert!(windows.ids == expected && windows.requests <= 3 * 44, "{}", windows.requests);
    assert!(windows.round_trips <= 10.5, "{}", windows.round_trips);
    assert_eq!(windows.checkpoint, one_cursor.checkpoint);
}

#[tokio::test(start_paused = true)]
async fn no_more_requests_are_sent_at_a_time_than_are_worth_it() {
    for at_once in [1, 2, 7] {
        let service = Service { at_once, ..Service::of(spread("at random", 4_000)) };
        let service = Arc::new(service);
        let seen = all(&service, None).await;
        assert_eq!(seen.ids, (0..4_000).collect::<Vec<_>>());
        assert_eq!(service.most_in_flight.load(Ordering::Relaxed), at_once);
        // One request at a time needs no windows.
        assert!(at_once > 1 || seen.requests == 80, "{}", seen.requests);
    }
}

#[tokio::test(start_paused = true)]
async fn a_service_that_throttles_makes_it_slower_and_nothing_else() {
    let service = Service { per_second: Some(10), ..Service::of(spread("at random", 4_000)) };
    let service = Arc::new(service);
    let seen = all(&service, None).await;
    assert_eq!(seen.ids, (0..4_000).collect::<Vec<_>>());
    // Fewer at a time after each rejection: all that were sent together at first, and some later.
    let rejected = service.rejected.load(Ordering::Relaxed);
    assert!(rejected <= 64 + seen.requests / 2, "{rejected} of {}", seen.requests);
}

#[tokio::test(start_paused = true)]
async fn an_iteration_that_is_not_read_on_fetches_a_bounded_number_of_pages() {
    let service = Arc::new(Service::of(spread("at random", 100_000)));
    let mut reader = Reader::from(pages(&service, AUTO, None));
    assert!(reader.advance().await.expect("a page"));
    tokio::time::sleep(Duration::from_secs(3_600)).await;
    // 1,000 pages ahead, those that decided, and the one that is read.
    let requests = service.requests();
    assert!((100..=1_050).contains(&requests), "{requests}");
    let ids = ids_of(&reader.all(None, None).await.expect("rows"));
    assert_eq!(ids, (0..100_000).collect::<Vec<_>>());
}

#[tokio::test(start_paused = true)]
async fn a_failure_in_a_window_is_told_and_the_next_call_goes_on() {
    let service = Arc::new(Service::of(spread("at random", 4_000)));
    let mut reader = Reader::from(pages(&service, AUTO, None));
    let (mut ids, mut failures) = (Vec::new(), 0);
    loop {
        service.fails_once.store(ids.len() % 400 < 50 && failures < 5, Ordering::Relaxed);
        match reader.next_page().await {
            Ok(Some(page)) => ids.extend(ids_of(&[page])),
            Ok(None) => break,
            Err(_) => failures += 1,
        }
    }
    assert_eq!(ids, (0..4_000).collect::<Vec<_>>());
    assert!(failures > 0);
}

/// A service of every kind, with its fills in the order in which it lists them.
fn any_service(random: &mut Random) -> (Service, Vec<i64>) {
    let kinds = ["evenly", "at random", "in bursts", "in one day"];
    let kind = kinds[usize::try_from(random.below(4)).expect("an index")];
    let count = [0, 1, 90, 400, 1_500][usize::try_from(random.below(5)).expect("an index")];
    let mut times = spread(kind, count);
    if random.below(3) == 0 {
        // Many at the same microsecond, as those of one order.
        times.iter_mut().for_each(|time| *time -= (*time - START) % (DAY / 4));
    }
    let mut service = Service::of(times);
    service.sorted_by_creation = random.below(2) == 0;
    service.includes = (random.below(2) == 0, random.below(2) == 0);
    service.ignores_ranges = random.below(8) == 0;
    service.by_last_row = random.below(2) == 0;
    service.page_size = 10;
    service.at_once = [1, 2, 5, 64][usize::try_from(random.below(4)).expect("an index")];
    let mut fills = service.fills.lock().expect("a lock").clone();
    let amended = [0, 0, 1, 30][usize::try_from(random.below(4)).expect("an index")];
    for fill in &mut fills {
        // A fill was created before it was updated.
        if random.below(100) < amended {
            fill.created = (fill.updated - random.below(20 * DAY)).max(START - DAY);
        }
    }
    // What a range excludes is no row of the list.
    let (has_start, has_end) = service.includes;
    let ignores = service.ignores_ranges;
    fills.retain(|fill| {
        let time = fill.updated;
        ignores || ((has_start || time != START) && (has_end || time != END))
    });
    let time = |fill: &Fill| if service.sorted_by_creation { fill.created } else { fill.updated };
    fills.sort_by_key(|fill| (-time(fill), fill.id));
    let expected = fills.iter().map(|fill| fill.id).collect();
    // Later than the range, while it is read.
    let arriving = |at: i64| {
        let fill = Fill { id: 1_000_000 + at, created: END + at, updated: END + at };
        (usize::try_from(at).expect("a number"), fill)
    };
    if !ignores {
        *service.arriving.lock().expect("a lock") = (1..20).rev().map(arriving).collect();
    }
    *service.fills.lock().expect("a lock") = fills;
    (service, expected)
}

fn services() -> u64 {
    let services = std::env::var("BOARDLOT_TEST_LISTS").ok();
    services.map_or(100, |services| services.parse().expect("a number"))
}

#[tokio::test(start_paused = true)]
async fn rows_order_and_checkpoint_are_those_of_one_cursor_whatever_the_service() {
    for seed in 0..services() {
        let (service, expected) = any_service(&mut Random(seed));
        let service = Arc::new(service);
        let (one, chosen) = (all(&service, ONE).await, all(&service, None).await);
        assert_eq!(one.ids, expected, "{seed}");
        assert_eq!(chosen.ids, expected, "{seed}: {service:?}");
        assert_eq!(chosen.checkpoint, one.checkpoint, "{seed}");
        let mut reader = Reader::from(pages(&service, AUTO, None));
        let mut ids = Vec::new();
        while let Some(page) = reader.next_page().await.expect("a page") {
            ids.extend(ids_of(&[page]));
        }
        assert_eq!(ids, expected, "{seed}");
        assert_eq!(reader.checkpoint(), one.checkpoint, "{seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn an_iteration_that_is_resumed_anywhere_returns_each_row_once() {
    for seed in 0..services() {
        let mut random = Random(!seed);
        let (service, expected) = any_service(&mut random);
        let service = Arc::new(service);
        let mut reader = Reader::from(pages(&service, AUTO, None));
        let mut ids = Vec::new();
        loop {
            for _ in 0..random.below(200) {
                let Some(row) = reader.next_row().await.expect("a row") else { break };
                ids.extend(ids_of(&[row]));
            }
            if random.below(10) == 0 {
                ids.extend(ids_of(&reader.all(None, None).await.expect("rows")));
                break;
            }
            // By windows, by one cursor, or by what collects.
            let windows = [AUTO, ONE, None][usize::try_from(random.below(3)).expect("an index")];
            reader = pages(&service, windows, Some(&reader.checkpoint())).into();
        }
        // Where a fill is listed at the time of its creation, the rest of a window that was resumed is in the
        // order of its update.
        let is_in_order = !service.sorted_by_creation;
        let (mut sorted, mut all) = (ids.clone(), expected.clone());
        sorted.sort_unstable();
        all.sort_unstable();
        assert_eq!(sorted, all, "{seed}");
        assert!(!is_in_order || ids == expected, "{seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_number_of_windows_is_no_part_of_a_checkpoint() {
    let service = Arc::new(Service::of(spread("at random", 3_000)));
    let mut reader = Reader::from(pages(&service, AUTO, None));
    for _ in 0..1_000 {
        reader.next_row().await.expect("a row");
    }
    let checkpoint = reader.checkpoint();
    let by_number = PagedCall::new(
        endpoint("fills_history").expect("an endpoint"),
        &arguments(50),
        Some(Windows::Number(4)),
    );
    let refused = Pages::new(service.clone(), by_number.expect("a call"), Some(&checkpoint));
    assert!(refused.expect_err("another call").to_string().contains("another call"));
    for windows in [ONE, AUTO, None] {
        let mut rest = Reader::from(pages(&service, windows, Some(&checkpoint)));
        let ids = ids_of(&rest.all(None, None).await.expect("rows"));
        assert_eq!(ids, (1_000..3_000).collect::<Vec<_>>());
    }
}
