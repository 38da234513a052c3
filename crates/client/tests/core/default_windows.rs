//! Windows that nobody asked for, and windows of a number: every record that did not change comes once, with hardly more
//! requests than one cursor needs, and nothing fails that one cursor can read. Time is simulated: a request takes a round
//! trip, and nothing else takes time.

use std::{
    collections::{HashMap, HashSet},
    future::Future,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use boardlot_client::extension::{
    api::{Argument, endpoint},
    decode::Page,
    error::{ApiFailure, Error, ErrorKind, FailureClass, Result},
    pages::{Listing, ListingOfKeys, PagedCall, Pages, Permitted, Source, Windows},
};
use tokio::time::Instant;

use super::{
    reading::Reader,
    scripted::{ORIGIN, Query, ids_of, read},
};

const DAY: i64 = 86_400_000_000;
const HOUR: i64 = DAY / 24;
const SECOND: i64 = 1_000_000;
/// A Tuesday, some time after noon.
const END: i64 = 1_790_000_000_123_456;
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

    fn one_of<T: Copy>(&mut self, among: &[T]) -> T {
        among[usize::try_from(self.below(among.len() as i64)).expect("an index")]
    }
}

/// A fill, created and updated at these times.
#[derive(Debug, Clone, Copy)]
struct Fill {
    id: i64,
    created: i64,
    updated: i64,
    /// True if the service does not say when it was updated.
    is_undated: bool,
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Order {
    Update,
    Creation,
    Ascending,
    Unsorted,
}

/// What the service does with several requests at a time, though it reads one cursor well.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Bears {
    Everything,
    /// It rejects what exceeds this many at a time.
    AtOnce(usize),
    /// It rejects what exceeds this many in a second.
    PerSecond(usize),
    /// It responds to one after another; a client waits for two and a half round trips.
    OneAfterAnother,
    /// A new list ends the cursor of the one before.
    OneCursor,
}

/// A service with these fills. What the service document does not say is a field.
#[derive(Debug)]
struct Service {
    fills: Mutex<Vec<Fill>>,
    order: Order,
    includes: (bool, bool),
    /// Bounds of a range are cut to this unit.
    unit: i64,
    ignores_ranges: bool,
    page_size: usize,
    /// The cursor is the last row, or the number of rows.
    by_last_row: bool,
    bears: Bears,
    retries: u32,
    permitted: Permitted,
    /// The time of each response.
    responded: Mutex<Vec<Instant>>,
    in_flight: AtomicUsize,
    most_in_flight: AtomicUsize,
    turn: tokio::sync::Mutex<()>,
    newest_list: Mutex<String>,
    /// Fills that come, or are updated, after so many responses, now.
    arriving: Mutex<Vec<(usize, Fill)>>,
}

impl Service {
    fn of(times: impl IntoIterator<Item = i64>) -> Self {
        let fill = |(id, time)| Fill { id, created: time, updated: time, is_undated: false };
        Service {
            fills: Mutex::new((0..).zip(times).map(fill).collect()),
            order: Order::Update,
            includes: (true, true),
            unit: 1,
            ignores_ranges: false,
            page_size: 50,
            by_last_row: false,
            bears: Bears::Everything,
            retries: 2,
            permitted: Permitted { at_once: 64, has_rate_limit: false },
            responded: Mutex::default(),
            in_flight: AtomicUsize::default(),
            most_in_flight: AtomicUsize::default(),
            turn: tokio::sync::Mutex::default(),
            newest_list: Mutex::default(),
            arriving: Mutex::default(),
        }
    }

    fn listed(&self, start: i64, end: i64) -> Vec<Fill> {
        let (has_start, has_end) = self.includes;
        let cut = |bound: i64| bound.div_euclid(self.unit) * self.unit;
        let (start, end) = (cut(start), cut(end));
        let is_asked = |fill: &Fill| {
            let time = fill.updated;
            self.ignores_ranges
                || ((time > start || (has_start && time == start))
                    && (time < end || (has_end && time == end)))
        };
        self.fills.lock().expect("a lock").iter().filter(|fill| is_asked(fill)).copied().collect()
    }

    /// Puts the fills into the order in which it lists them.
    fn sort(&self) {
        self.fills.lock().expect("a lock").sort_by_cached_key(|fill| self.key(fill));
    }

    fn key(&self, fill: &Fill) -> (i64, i64) {
        let first = match self.order {
            Order::Update => -fill.updated,
            Order::Creation => -fill.created,
            Order::Ascending => fill.updated,
            Order::Unsorted => Random(fill.id.cast_unsigned()).below(1 << 40),
        };
        (first, fill.id)
    }

    fn respond(&self, query: &Query) -> Result<String> {
        let bound = |name| query.get(name).expect("a bound").parse::<i64>().expect("a number");
        let (start, end) = (bound("start"), bound("end"));
        let found = self.listed(start, end);
        let flag = query.get("page_flag").unwrap_or_default();
        let list = format!("{start} {end} {}", query.get("code").unwrap_or_default());
        let mut newest = self.newest_list.lock().expect("a lock");
        if flag.is_empty() {
            *newest = list;
        } else if self.bears == Bears::OneCursor && *newest != list {
            return Err(failure(FailureClass::Other, 200));
        }
        let first = match flag.split_once('_') {
            None if flag.is_empty() => 0,
            None => flag.parse().expect("a number"),
            Some((first, id)) => {
                let last: (i64, i64) = (first.parse().expect("a time"), id.parse().expect("an id"));
                found.partition_point(|fill| self.key(fill) <= last)
            }
        };
        let mut page = found.iter().skip(first).take(self.page_size);
        let rows: Vec<String> = page
            .clone()
            .map(|fill| {
                let Fill { id, created, updated, is_undated } = fill;
                let updated = if *is_undated { &0 } else { updated };
                format!("{{\"deal_id\":{id},\"create_time\":{created},\"updated_time\":{updated}}}")
            })
            .collect();
        let next = first + rows.len();
        let flag = match page.next_back() {
            Some(last) if self.by_last_row => {
                let (first, id) = self.key(last);
                format!("{first}_{id}")
            }
            _ => next.to_string(),
        };
        Ok(format!(
            "{{\"s\":\"ok\",\"d\":{{\"order_fills\":[{}],\"page_flag\":\"{flag}\",\"completed\":{}}}}}",
            rows.join(","),
            next >= found.len()
        ))
    }

    /// Fills come and change.
    fn pass(&self) {
        let responses = self.responded.lock().expect("a lock").len();
        let mut arriving = self.arriving.lock().expect("a lock");
        while let Some((_, fill)) = arriving.pop_if(|(after, _)| *after <= responses) {
            let mut fills = self.fills.lock().expect("a lock");
            fills.retain(|known| known.id != fill.id);
            fills.push(fill);
            drop(fills);
            self.sort();
        }
    }

    async fn attempt(
        &self,
        call: &PagedCall,
        cursor: Option<&str>,
        range: Option<(i64, i64)>,
    ) -> Result<Page> {
        let _in_flight = InFlight::of(self);
        let is_rejected = match self.bears {
            Bears::AtOnce(most) => self.in_flight.load(Ordering::Relaxed) > most,
            Bears::PerSecond(most) => {
                let responded = self.responded.lock().expect("a lock");
                let recent = responded.iter().rev();
                recent.take_while(|at| at.elapsed().as_secs_f64() < 1.0).count() >= most
            }
            _ => false,
        };
        let whole = async {
            let _turn = match self.bears {
                Bears::OneAfterAnother => Some(self.turn.lock().await),
                _ => None,
            };
            tokio::time::sleep(ROUND_TRIP).await;
        };
        let timeout = tokio::time::timeout(ROUND_TRIP * 3 / 2, whole).await;
        timeout.map_err(|_| Error::from(ErrorKind::Timeout("made to fail".into())))?;
        if is_rejected {
            return Err(failure(FailureClass::RateLimited, 429));
        }
        self.responded.lock().expect("a lock").push(Instant::now());
        let response = self.respond(&Query::of(call, cursor, range))?;
        self.pass();
        read(call, &response)
    }

    fn requests(&self) -> usize {
        self.responded.lock().expect("a lock").len()
    }
}

/// A request that the service works on.
struct InFlight<'a>(&'a Service);

impl<'a> InFlight<'a> {
    fn of(service: &'a Service) -> Self {
        let now = service.in_flight.fetch_add(1, Ordering::Relaxed) + 1;
        service.most_in_flight.fetch_max(now, Ordering::Relaxed);
        InFlight(service)
    }
}

impl Drop for InFlight<'_> {
    fn drop(&mut self) {
        self.0.in_flight.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Source for Service {
    fn page<'a>(
        &'a self,
        call: &'a PagedCall,
        cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
        failed_attempts: &'a AtomicU64,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        Box::pin(async move {
            let mut retries = 0;
            loop {
                let error = match self.attempt(call, cursor, range).await {
                    Ok(page) => return Ok(page),
                    Err(error) => error,
                };
                failed_attempts.fetch_add(1, Ordering::Relaxed);
                if retries == self.retries || !error.retryable() {
                    return Err(error);
                }
                retries += 1;
                tokio::time::sleep(Duration::from_millis(500)).await;
            }
        })
    }

    fn origin(&self) -> &str {
        ORIGIN
    }

    fn permitted(&self) -> Permitted {
        self.permitted
    }

    fn time(&self) -> i64 {
        END + 1
    }

    fn now<'a>(
        &'a self,
        _call: &'a PagedCall,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>> {
        Box::pin(async { Ok(END) })
    }
}

fn failure(class: FailureClass, http_status: u16) -> Error {
    ErrorKind::Api(ApiFailure::new(class, http_status)).into()
}

fn call(service: &Service, days: i64, code: Option<&str>, windows: Option<Windows>) -> PagedCall {
    let mut arguments = vec![
        ("acc_id", Argument::text("281756")),
        ("trd_market", Argument::text("HK")),
        ("start", Argument::Integer((END - days * DAY).into())),
        ("end", Argument::Integer(END.into())),
        ("page_size", Argument::Integer(service.page_size as i128)),
    ];
    arguments.extend(code.map(|code| ("code", Argument::text(code))));
    let fills = endpoint("fills_history").expect("an endpoint");
    PagedCall::new(fills, &arguments, windows).expect("a call")
}

fn pages(
    service: &Arc<Service>,
    days: i64,
    windows: Option<Windows>,
    resume: Option<&str>,
) -> Reader {
    let call = call(service, days, None, windows);
    Pages::new(service.clone(), call, resume).expect("pages").into()
}

/// The same list for keys, which are read side by side.
fn pages_of_keys(
    service: &Arc<Service>,
    days: i64,
    windows: Option<Windows>,
    resume: Option<&str>,
) -> Reader {
    let keys = ListingOfKeys { key_name: "code".into(), concurrency: 3, collects_errors: false };
    let codes = ["HK.00001", "HK.00002"];
    let calls = codes.map(|code| (code.into(), Ok(call(service, days, Some(code), windows))));
    let listing = Listing::of_keys(keys, calls.into(), "fills_history", Arc::default());
    Pages::new(service.clone(), listing, resume).expect("pages").into()
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
async fn all(service: &Arc<Service>, mut reader: Reader) -> Result<Seen> {
    let (before, started) = (service.requests(), Instant::now());
    let ids = ids_of(&reader.all(None, None).await?);
    let requests = service.requests() - before;
    let round_trips = started.elapsed().as_secs_f64() / ROUND_TRIP.as_secs_f64();
    Ok(Seen { ids, checkpoint: reader.checkpoint(), requests, round_trips })
}

const ONE: Option<Windows> = Some(Windows::Number(1));

/// Times of so many fills in some days, the latest first.
fn spread(kind: &str, count: i64, days: i64) -> Vec<i64> {
    let mut random = Random(count.cast_unsigned());
    // At the exchange, whose days begin at 16:00 UTC, on weekdays that are no holidays, with lunch.
    let session = |random: &mut Random, day: i64| {
        let hour = random.one_of(&[HOUR * 3 / 2, HOUR * 5]);
        (END - END % DAY) - day * DAY + hour + random.below(HOUR * 5 / 2)
    };
    let open_day = |random: &mut Random| loop {
        let day = 1 + random.below(days - 1);
        if day % 7 > 1 && day % 31 != 3 {
            return day;
        }
    };
    let mut order = 0;
    let mut time = |index: i64| match kind {
        "evenly" => END - days * DAY / count * index - 1,
        "at random" => END - random.below(days * DAY) - 1,
        "in sessions" => {
            let day = open_day(&mut random);
            session(&mut random, day)
        }
        "orders" => {
            if index % 20 == 0 {
                let day = open_day(&mut random);
                order = session(&mut random, day);
            }
            order + random.below(3 * SECOND)
        }
        "ten days" => {
            let day = 1 + random.below(10) * (days - 1) / 10;
            session(&mut random, day)
        }
        "one day" => session(&mut random, days / 2),
        "latest" => END - 1 - (random.below(DAY) * random.below(days) / 9).min(days * DAY - 2),
        "oldest" => END - days * DAY + 1 + random.below(DAY) * random.below(days) / 9,
        // Of one microsecond at midnight, where a border is.
        _ => END - END % DAY - days / 8 * DAY,
    };
    let mut times: Vec<i64> = (0..count).map(&mut time).collect();
    times.retain(|time| (END - days * DAY..END).contains(time));
    times.sort_unstable_by(|one, other| other.cmp(one));
    times
}

const SPREADS: [&str; 9] = [
    "evenly",
    "at random",
    "in sessions",
    "orders",
    "ten days",
    "one day",
    "latest",
    "oldest",
    "one microsecond",
];

/// The most requests by default, of a list that one cursor reads with so many.
fn most(one_cursor: usize) -> usize {
    one_cursor + (one_cursor * 12 / 100).max(12)
}

#[tokio::test(start_paused = true)]
async fn security_60_a_list_takes_few_round_trips_and_hardly_more_requests_than_one_cursor() {
    for (count, kind, most_trips) in [
        (100, "in sessions", 1.0),
        (2_000, "evenly", 0.30),
        (2_000, "in sessions", 0.35),
        (8_000, "at random", 0.22),
        (8_000, "in sessions", 0.22),
        (40_000, "in sessions", 0.17),
        (40_000, "orders", 0.17),
        // As slow as one cursor, but for the two pages that decide.
        (2_000, "one day", 1.1),
    ] {
        let service = Arc::new(Service::of(spread(kind, count, 90)));
        let one = all(&service, pages(&service, 90, ONE, None)).await.expect("rows");
        let seen = all(&service, pages(&service, 90, None, None)).await.expect("rows");
        assert_eq!(seen.ids, one.ids, "{count} {kind}");
        assert_eq!(seen.checkpoint, one.checkpoint, "{count} {kind}");
        assert!(
            seen.requests <= most(one.requests),
            "{count} {kind}: {} for {}",
            seen.requests,
            one.requests
        );
        let trips = seen.round_trips / one.round_trips;
        assert!(trips <= most_trips + 0.01, "{count} {kind}: {trips}");
        assert!(service.most_in_flight.load(Ordering::Relaxed) <= 8);
    }
}

#[tokio::test(start_paused = true)]
async fn under_a_rate_limit_only_a_long_list_is_read_in_windows() {
    for (count, kind, has_windows) in [(2_000, "in sessions", false), (8_000, "at random", true)] {
        let permitted = Permitted { at_once: 64, has_rate_limit: true };
        let service = Service { permitted, ..Service::of(spread(kind, count, 90)) };
        let service = Arc::new(service);
        let one = all(&service, pages(&service, 90, ONE, None)).await.expect("rows");
        let seen = all(&service, pages(&service, 90, None, None)).await.expect("rows");
        assert_eq!(seen.round_trips < one.round_trips / 2.0, has_windows);
        assert!(seen.requests <= one.requests + one.requests / 10, "{}", seen.requests);
    }
}

/// A service of every kind.
fn any_service(seed: u64) -> (Service, i64) {
    let mut random = Random(seed);
    let days = random.one_of(&[1, 7, 90, 700]);
    let count = random.one_of(&[0, 1, 90, 400, 1_500]);
    // A day may be a holiday.
    let kind = if days == 1 { "at random" } else { random.one_of(&SPREADS) };
    let mut service = Service::of(spread(kind, count, days));
    service.page_size = 10;
    service.order = random.one_of(&[
        Order::Update,
        Order::Update,
        Order::Creation,
        Order::Ascending,
        Order::Unsorted,
    ]);
    service.includes = (random.below(2) == 0, random.below(2) == 0);
    service.unit = random.one_of(&[1, 1, 1_000, SECOND, 60 * SECOND]);
    service.ignores_ranges = random.below(10) == 0;
    service.by_last_row = random.below(2) == 0;
    service.retries = random.one_of(&[0, 2]);
    service.permitted.at_once = random.one_of(&[1, 3, 64, 64]);
    service.bears = match random.below(8) {
        0 => Bears::AtOnce(random.one_of(&[1, 2, 4])),
        // One cursor makes twenty.
        1 => Bears::PerSecond(21),
        2 => Bears::OneAfterAnother,
        3 => Bears::OneCursor,
        _ => Bears::Everything,
    };
    let undated = random.one_of(&[0, 0, 0, 1, 30]);
    let amended = if service.order == Order::Creation { 20 } else { 0 };
    let fills = service.fills.get_mut().expect("a lock");
    for fill in fills.iter_mut() {
        fill.is_undated = random.below(1_000) < undated;
        if random.below(1_000) < amended {
            fill.created = fill.updated - random.below(20 * DAY);
        }
    }
    // At a cursor that counts, one cursor is not exact either.
    if service.by_last_row && random.below(3) == 0 {
        let known: Vec<Fill> = fills.iter().copied().filter(|_| random.below(50) == 0).collect();
        let new = (0..9).map(|id| Fill {
            id: 1_000_000 + id,
            created: END,
            updated: END,
            is_undated: false,
        });
        let mut after = 0;
        let arriving = known.into_iter().take(9).chain(new).map(|fill| {
            after += 1 + usize::try_from(random.below(9)).expect("a number");
            (after, Fill { updated: END + after as i64, ..fill })
        });
        let mut arriving: Vec<_> = arriving.collect();
        arriving.reverse();
        service.arriving = Mutex::new(arriving);
    }
    service.sort();
    (service, days)
}

fn services() -> u64 {
    let services = std::env::var("BOARDLOT_TEST_LISTS").ok();
    services.map_or(60, |services| services.parse().expect("a number"))
}

/// The fills that the service lists for one cursor and that did not change.
async fn expected(service: &Arc<Service>, days: i64) -> HashSet<i64> {
    let arriving = service.arriving.lock().expect("a lock");
    let changing: HashSet<i64> = arriving.iter().map(|(_, fill)| fill.id).collect();
    let listed = service.listed(END - days * DAY, END).into_iter().map(|fill| fill.id);
    listed.filter(|id| !changing.contains(id)).collect()
}

/// Each of these came once, and others that did not change did not come.
fn assert_came(ids: &[i64], expected: &HashSet<i64>, service: &Service, what: &str) {
    let mut times: HashMap<i64, usize> = HashMap::new();
    ids.iter().for_each(|id| *times.entry(*id).or_default() += 1);
    let once = |id: &i64| times.get(id) == Some(&1);
    assert!(
        expected.iter().all(once),
        "{what}: {} of {}: {service:?}",
        times.len(),
        expected.len()
    );
    if service.arriving.lock().expect("a lock").is_empty() && service.permitted.at_once == 64 {
        assert!(ids.len() >= expected.len(), "{what}");
    }
}

#[tokio::test(start_paused = true)]
async fn security_60_whatever_the_service_every_row_that_did_not_change_comes_once_and_nothing_fails()
 {
    for seed in 0..services() {
        let (service, days) = any_service(seed);
        let service = Arc::new(service);
        let expected = expected(&service, days).await;
        let changes = !service.arriving.lock().expect("a lock").is_empty();
        let seen = all(&service, pages(&service, days, None, None)).await;
        let seen = seen.unwrap_or_else(|error| panic!("{seed}: {error}: {service:?}"));
        assert_came(&seen.ids, &expected, &service, &format!("{seed}"));
        if service.bears == Bears::PerSecond(21) {
            tokio::time::sleep(Duration::from_secs(2)).await;
        }
        let one = all(&service, pages(&service, days, ONE, None)).await;
        let one = one.unwrap_or_else(|error| panic!("{seed}: {error}"));
        // A row that fits no window is trouble, too.
        let has_times = service.fills.lock().expect("a lock").iter().all(|fill| !fill.is_undated);
        let is_untroubled = service.bears == Bears::Everything && !changes && has_times;
        let times = if is_untroubled { 1 } else { 2 };
        assert!(
            seen.requests <= times * most(one.requests),
            "{seed}: {} for {}: {service:?}",
            seen.requests,
            one.requests
        );
        // Two pages are dropped, and there are few others.
        assert!(!is_untroubled || seen.round_trips <= 1.2 * one.round_trips + 4.0, "{seed}");
    }
}

#[tokio::test(start_paused = true)]
async fn security_60_windows_of_a_number_return_each_row_once_or_name_one_cursor() {
    for seed in 0..services() {
        let (service, days) = any_service(seed);
        let service = Arc::new(Service { bears: Bears::Everything, ..service });
        let expected = expected(&service, days).await;
        let number = Random(!seed).one_of(&[2, 3, 8, 64]);
        let windows = Some(Windows::Number(number));
        let mut reader = pages(&service, days, windows, None);
        let mut ids = Vec::new();
        let failed = loop {
            match reader.next_page().await {
                Ok(Some(page)) => ids.extend(ids_of(&[page])),
                Ok(None) => break None,
                Err(error) => break Some(error),
            }
        };
        match failed {
            None => assert_came(&ids, &expected, &service, &format!("{seed} {number}")),
            Some(error) => {
                let fills = service.fills.lock().expect("a lock");
                let fits = fills.iter().all(|fill| !fill.is_undated) && !service.ignores_ranges;
                let changes = fills.iter().any(|fill| fill.updated > END);
                assert!(!fits || changes, "{seed} {number}: {error}");
                assert!(error.hint().contains("Windows::Number(1)"), "{error}");
            }
        }
    }
}

/// A way to read a list, of which any other way can resume every checkpoint.
#[derive(Debug, Clone, Copy)]
enum Way {
    Default,
    Windows(i64),
}

const WAYS: [Way; 4] = [Way::Default, Way::Windows(1), Way::Windows(3), Way::Windows(8)];

impl Way {
    fn reader(
        self,
        service: &Arc<Service>,
        days: i64,
        of_keys: bool,
        resume: Option<&str>,
    ) -> Reader {
        let windows = match self {
            Way::Default => None,
            Way::Windows(number) => Some(Windows::Number(number)),
        };
        match of_keys {
            true => pages_of_keys(service, days, windows, resume),
            false => pages(service, days, windows, resume),
        }
    }
}

#[tokio::test(start_paused = true)]
async fn security_60_every_checkpoint_is_resumed_by_every_other_way() {
    for seed in 0..services() {
        let mut random = Random(!seed);
        let (mut service, days) = any_service(seed);
        service.bears = Bears::Everything;
        // Windows of a number have to say that these do not fit.
        service.ignores_ranges = false;
        service
            .fills
            .get_mut()
            .expect("a lock")
            .iter_mut()
            .for_each(|fill| fill.is_undated = false);
        service.arriving = Mutex::default();
        let service = Arc::new(service);
        let expected = expected(&service, days).await;
        let of_keys = seed % 3 == 0;
        let mut reader = random.one_of(&WAYS).reader(&service, days, of_keys, None);
        let mut ids = Vec::new();
        loop {
            for _ in 0..random.below(200) {
                let Some(row) = reader.next_row().await.expect("a row") else { break };
                ids.extend(ids_of(&[row]));
            }
            let next = random.below(10);
            if next == 0 {
                ids.extend(ids_of(&reader.all(None, None).await.expect("rows")));
                break;
            } else if next < 3 {
                // The page is not received, and is asked for again.
                let _requested = reader.pages.after(reader.place.page.as_deref()).await;
            }
            let resume = reader.checkpoint();
            reader = random.one_of(&WAYS).reader(&service, days, of_keys, Some(&resume));
        }
        ids.sort_unstable();
        let mut sorted: Vec<i64> = expected.iter().copied().collect();
        if of_keys {
            sorted.extend(expected);
        }
        sorted.sort_unstable();
        assert_eq!(ids, sorted, "{seed}: {service:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn the_windows_of_a_list_that_is_resumed_begin_with_what_is_unread() {
    let service = Arc::new(Service::of(spread("at random", 3_000, 90)));
    for first in WAYS {
        let mut reader = first.reader(&service, 90, false, None);
        for _ in 0..1_000 {
            reader.next_row().await.expect("a row");
        }
        for then in WAYS {
            let mut rest = then.reader(&service, 90, false, Some(&reader.checkpoint()));
            let ids = ids_of(&rest.all(None, None).await.expect("rows"));
            assert_eq!(ids, (1_000..3_000).collect::<Vec<_>>(), "{first:?} {then:?}");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn pages_whose_rows_are_all_of_another_window_are_not_pages_without_rows() {
    // 10,100 fills of the microsecond at which a window begins: the window before it drops 1,010 pages.
    let service = Service { page_size: 10, ..Service::of(spread("one microsecond", 10_100, 90)) };
    let service = Arc::new(service);
    let seen = all(&service, pages(&service, 90, Some(Windows::Number(8)), None)).await;
    assert_eq!(seen.expect("rows").ids.len(), 10_100);
}
