//! A service whose fills arrive while it is read, while the client knows the service's time from readings of
//! every age. Time is simulated, so that many lists are read in a second.
//!
//! Promised is: a fill that existed when the list was begun comes exactly once.

use std::{
    collections::HashSet,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use boardlot_client::extension::{
    error::Result,
    http::{ClockReading, LocalInstant},
};

use super::{
    reading::Reader,
    scripted::{Query, Script, fills, ids_of, pages_of},
};

const DAY: i64 = 86_400_000_000;
const EPOCH: i64 = 1_790_000_000_000_000;
const PAGE: usize = 10;

/// The number of lists, from `BOARDLOT_TEST_LISTS`.
fn lists() -> u64 {
    let lists = std::env::var("BOARDLOT_TEST_LISTS").ok();
    lists.map_or(3_000, |lists| lists.parse().expect("a number"))
}

/// SplitMix64.
#[derive(Debug)]
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    fn below(&mut self, end: i64) -> i64 {
        (self.next() % end.unsigned_abs().max(1)).cast_signed()
    }

    fn one_in(&mut self, number: i64) -> bool {
        self.below(number) == 0
    }
}

#[derive(Debug, Clone, Copy)]
struct Fill {
    id: i64,
    updated: i64,
}

/// The service and the machine of the client.
#[derive(Debug)]
struct World {
    seed: u64,
    random: Random,
    /// The service's clock, in microseconds.
    now: i64,
    fills: Vec<Fill>,
    next_id: i64,
    by_offset: bool,
    /// The usual time between two fills; 0 for none.
    arrival: i64,
    round_trip: i64,
    /// The time that a request waits for its turn.
    turn: Duration,
    /// The speed of the client's clock that is never set, and the amount by which the other one was
    /// set.
    drift_ppm: i64,
    set_by: i64,
    start: Instant,
    reading: Option<ClockReading>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random(seed);
        let mut world = World {
            seed,
            now: EPOCH,
            fills: Vec::new(),
            next_id: 0,
            by_offset: random.one_in(2),
            arrival: [0, 300, 2_000, 40_000][random.below(4) as usize],
            round_trip: [200, 3_000, 30_000, 250_000][random.below(4) as usize],
            turn: Duration::from_millis([0, 0, 20, 500][random.below(4) as usize]),
            drift_ppm: random.below(401) - 200,
            set_by: 0,
            start: Instant::now(),
            reading: None,
            random,
        };
        for _ in 0..world.random.below(60) {
            let age = match world.random.below(3) {
                0 => world.random.below(2_000),
                1 => world.random.below(1_000_000),
                _ => world.random.below(100 * DAY),
            };
            world.add(EPOCH - age);
        }
        // A reading of any age, or none.
        if !world.random.one_in(5) {
            world.read_clock();
            let age = [1_000, 1_000_000, 200_000_000, 700_000_000][world.random.below(4) as usize];
            world.now += world.random.below(age);
            if world.random.one_in(3) {
                world.set_by = world.random.below(4_000_000) - 2_000_000;
            }
            // The events since then that matter.
            for _ in 0..world.random.below(5) {
                let age = world.random.below(1_000);
                world.add(world.now - age);
            }
        }
        world
    }

    fn add(&mut self, updated: i64) {
        self.fills.push(Fill { id: self.next_id, updated });
        self.next_id += 1;
    }

    /// Time passes, and things happen.
    fn pass(&mut self, micros: i64) {
        let end = self.now + micros;
        loop {
            let to_arrival = self.random.below(2 * self.arrival.max(1)) + 1;
            if self.arrival == 0 || self.now + to_arrival > end || self.fills.len() > 200 {
                break;
            }
            self.now += to_arrival;
            self.add(self.now);
        }
        self.now = end;
        // The very moment of a request is the likeliest to be missed or to be counted twice.
        if self.arrival > 0 && self.random.one_in(2) {
            self.add(self.now);
        }
    }

    fn travel(&mut self) -> i64 {
        self.round_trip / 4 + self.random.below(self.round_trip / 2)
    }

    fn local(&self) -> LocalInstant {
        let passed = self.now - EPOCH + DAY;
        let passed = passed + passed * self.drift_ppm / 1_000_000;
        let monotonic = self.start + Duration::from_micros(passed.unsigned_abs());
        LocalInstant::new(passed + self.set_by, monotonic)
    }

    fn read_clock(&mut self) -> ClockReading {
        let sent = self.local();
        let there = self.travel();
        self.pass(there);
        let service_ms = self.now / 1_000;
        let back = self.travel();
        self.pass(back);
        let reading = ClockReading::between(service_ms, sent, self.local());
        self.reading = Some(reading);
        reading
    }

    /// Acts like `http::clock_sync::service_now`, whose waiting takes real time.
    fn service_now(&mut self) -> i64 {
        let called = self.local();
        let turn = self.turn;
        let reading = match self.reading.filter(|reading| reading.is_precise(called, turn)) {
            Some(reading) => reading,
            None => self.read_clock(),
        };
        let now = reading.latest(called);
        let wait = reading.pause(now, self.local(), turn);
        let most = 2 * self.round_trip + 1_100 + 100_000 * i64::from(!turn.is_zero());
        assert!(
            wait.as_micros() <= most.unsigned_abs().into(),
            "{wait:?} for a round trip of {}",
            self.round_trip
        );
        let micros = i64::try_from(wait.as_micros()).expect("short");
        // By the client's clock, which may be the faster one.
        let passed = micros - micros * self.drift_ppm / 1_000_000;
        self.pass(passed);
        now
    }

    fn respond(&mut self, query: &Query) -> String {
        let there = self.travel();
        self.pass(there);
        let bound = |name| query.get(name).map_or(0, |text| text.parse::<i64>().expect("a time"));
        let (start, end) = (bound("start"), bound("end"));
        let mut found: Vec<Fill> =
            self.fills.iter().copied().filter(|one| (start..=end).contains(&one.updated)).collect();
        found.sort_unstable_by_key(|one| (-one.updated, -one.id));
        let key = |one: &Fill| (-one.updated, -one.id);
        // "offset.n" or "updated_id.n": n makes the cursors after empty pages differ.
        let cursor = query.get("page_flag").unwrap_or_default();
        let (position, number) = cursor.split_once('.').unwrap_or(("", "0"));
        let number: u64 = number.parse().expect("a number");
        let first = match position.split_once('_') {
            _ if position.is_empty() => 0,
            None => position.parse().expect("an offset"),
            Some((updated, id)) => {
                let key_before: (i64, i64) =
                    (-updated.parse::<i64>().expect("one"), -id.parse::<i64>().expect("one"));
                found.partition_point(|one| key(one) <= key_before)
            }
        };
        // Requested again, a page is unchanged, as far as its rows are.
        let mut of_cursor = cursor.bytes().fold(Random(self.seed), |random, byte| {
            Random(Random(random.0 ^ u64::from(byte)).next())
        });
        let (is_empty, is_early) = (of_cursor.one_in(6), of_cursor.one_in(4));
        let page: &[Fill] = match is_empty {
            true => &[],
            false => found.get(first..).map_or(&[], |rest| &rest[..rest.len().min(PAGE)]),
        };
        let completed = first + page.len() >= found.len() && !is_early;
        let next = match page.last() {
            _ if self.by_offset => (first + page.len()).to_string(),
            Some(last) => format!("{}_{}", last.updated, last.id),
            None => position.to_owned(),
        };
        let rows: Vec<String> = page
            .iter()
            .map(|one| format!("{{\"deal_id\":{},\"updated_time\":{}}}", one.id, one.updated))
            .collect();
        let body = format!(
            "{{\"s\":\"ok\",\"d\":{{\"order_fills\":[{}],\"page_flag\":\"{next}.{}\",\"completed\":{}}}}}",
            rows.join(","),
            number + 1,
            completed
        );
        let back = self.travel();
        self.pass(back);
        body
    }
}

impl Script for Mutex<World> {
    fn respond(&self, query: &Query) -> Result<String> {
        Ok(self.lock().expect("a lock").respond(query))
    }

    fn now(&self) -> Result<i64> {
        Ok(self.lock().expect("a lock").service_now())
    }
}

/// A pager of a list, which is the same each time for a seed.
fn pager(source: &Arc<Mutex<World>>, seed: u64, resume: Option<&str>) -> Reader {
    let mut random = Random(!seed);
    let start = random.one_in(3).then(|| EPOCH - random.below(120 * DAY) - 1_000);
    let end = random.one_in(4).then(|| EPOCH - random.below(1_000));
    let windows = (random.below(6) - 2).max(0);
    pages_of(source, fills(start, end, windows), resume).expect("pages").into()
}

/// Reads a list in one of the ways in which a caller can.
async fn read(source: &Arc<Mutex<World>>, seed: u64, received: &mut Vec<i64>) -> Result<Reader> {
    let mut random = Random(seed ^ 0x5555);
    let mut pages = pager(source, seed, None);
    loop {
        match random.below(6) {
            0 => {
                let slices = pages.all(None, None).await?;
                received.extend(ids_of(&slices));
                return Ok(pages);
            }
            1 => {
                let limits = [None, Some(0), Some(1), Some(7)];
                let items = limits[random.below(4) as usize];
                let most = [Some(0), Some(1), Some(2)][random.below(3) as usize];
                received.extend(ids_of(&pages.all(items, most).await?));
            }
            2 => {
                pages = pager(source, seed, Some(&pages.checkpoint()));
            }
            3 => {
                let Some(page) = pages.next_page().await? else { break };
                received.extend(ids_of(&[page]));
            }
            _ => {
                for _ in 0..random.below(15) {
                    let Some(row) = pages.next_row().await? else { return Ok(pages) };
                    received.extend(ids_of(&[row]));
                }
            }
        }
    }
    Ok(pages)
}

async fn check(seed: u64) {
    let source = Arc::new(Mutex::new(World::new(seed)));
    let before = source.lock().expect("a lock").fills.clone();
    let mut received = Vec::new();
    let mut pages = read(&source, seed, &mut received).await.expect("rows");
    assert!(pages.next_row().await.expect("a page").is_none(), "{seed}");
    let world = source.lock().expect("a lock");
    let (start, end) = pages.pages.range().expect("a range");
    assert!(end < world.now, "{seed}: {end} is in the future at {}", world.now);
    assert!(start < end && end > EPOCH - DAY, "{seed}: {start} to {end}");
    let distinct: HashSet<i64> = received.iter().copied().collect();
    assert_eq!(distinct.len(), received.len(), "{seed}: a fill came twice");
    for fill in before.iter().filter(|one| (start..=end).contains(&one.updated)) {
        assert!(distinct.contains(&fill.id), "{seed}: by offset {}: {fill:?}", world.by_offset);
    }
}

#[tokio::test]
async fn fills_come_exactly_once_whatever_happens_around_them() {
    for seed in 0..lists() {
        check(seed).await;
    }
}
