//! The service's clock as this client knows it: an offset for signatures, and the last reading of
//! the service's time, which ends open time ranges.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use tokio::{sync::Mutex, time::timeout};

use crate::{error::Result, os::origin::origin, os::simulated};

/// Maximum drift of the service's clock from this machine's: one part in 5,000 (200 ppm).
const DRIFT_PARTS: i64 = 5_000;
/// The service truncates the time of its clock to whole milliseconds, so a call waits this long
/// even after a new reading.
const UNIT: i64 = 1_000;
/// The extra time that a call may wait because a reading is old: as long as another request would
/// wait for its turn, between these two. The first one is the drift in a quarter of a second, so
/// that calls in close succession share a reading.
const EXTRA_WAIT: (Duration, Duration) = (Duration::from_micros(100), Duration::from_millis(100));

/// The local clock, the lead of the service's clock over it, and the last reading of the service's
/// clock.
#[derive(Debug, Default)]
pub struct Clock {
    offset_ms: AtomicI64,
    /// Number of requests for the service's time that have ended, so that concurrent callers share
    /// one.
    requests: AtomicU64,
    reading: ArcSwapOption<ClockReading>,
}

/// Outcome of the last request for the service's time. The callers that waited for it share its
/// failure, too.
#[derive(Debug)]
pub struct LastRequest(Mutex<Result<()>>);

impl Default for LastRequest {
    fn default() -> Self {
        LastRequest(Mutex::new(Ok(())))
    }
}

/// One instant by both local clocks. One clock is set now and then; the other stops while the
/// machine is suspended.
#[derive(Debug, Clone, Copy)]
pub struct LocalInstant {
    /// Microseconds since 1970.
    wall: i64,
    monotonic: Instant,
}

/// A reading of the service's clock, with the instants when its request left and its response was
/// complete.
///
/// The time of the service's clock at a later moment is between two bounds. They move apart as the
/// reading becomes older, and if the two local clocks disagree about its age.
#[derive(Debug, Clone, Copy)]
pub struct ClockReading {
    service_ms: i64,
    sent: LocalInstant,
    received: LocalInstant,
}

impl LocalInstant {
    /// Returns the current instant.
    pub fn now() -> Self {
        LocalInstant { wall: micros(simulated::since_1970()), monotonic: simulated::instant() }
    }

    /// Returns the instant of the two clocks: microseconds since 1970, and the clock that is never
    /// set.
    pub const fn new(wall: i64, monotonic: Instant) -> Self {
        LocalInstant { wall, monotonic }
    }

    /// Returns the microseconds since an earlier instant by either clock, the smaller number first.
    fn since(self, earlier: Self) -> (i64, i64) {
        let monotonic = micros(self.monotonic.saturating_duration_since(earlier.monotonic));
        let wall = self.wall.saturating_sub(earlier.wall).max(0);
        (monotonic.min(wall), monotonic.max(wall))
    }
}

impl ClockReading {
    /// Creates a reading from a response that has just been received.
    pub fn new(service_ms: i64, sent: LocalInstant) -> Self {
        Self::between(service_ms, sent, LocalInstant::now())
    }

    /// Creates a reading from a response that was received at this instant.
    pub const fn between(service_ms: i64, sent: LocalInstant, received: LocalInstant) -> Self {
        ClockReading { service_ms, sent, received }
    }

    /// Returns the offset of the service's clock from the local one. The service most likely read
    /// its clock halfway between sending and receiving.
    fn offset_ms(&self) -> i64 {
        let (sent, received) = (self.sent.wall, self.received.wall);
        self.service_ms.saturating_sub((sent + (received - sent) / 2) / 1_000)
    }

    /// Returns a time in microseconds that the service's clock had not passed at `now`: everything
    /// that existed at the service then is at or before that time. The service read its clock after
    /// the request had left.
    pub fn latest(&self, now: LocalInstant) -> i64 {
        let passed = if self.sent.monotonic >= now.monotonic {
            // The request of this reading left later, whatever the local clock was set to since.
            0
        } else {
            let age = now.since(self.sent).1;
            // The local clocks are read in whole microseconds.
            age.saturating_add(age / (DRIFT_PARTS - 1)).saturating_add(2)
        };
        self.service_micros().saturating_add(UNIT).saturating_add(passed)
    }

    fn service_micros(&self) -> i64 {
        self.service_ms.saturating_mul(1_000)
    }

    /// Returns the time from `now` until the service's clock has certainly passed this time:
    /// everything that the service adds then is later. The service read its clock before the
    /// response was received.
    fn wait_until_past(&self, service_micros: i64, now: LocalInstant) -> Duration {
        let (age, _) = now.since(self.received);
        let ahead = service_micros.saturating_sub(self.service_micros());
        let missing = ahead.saturating_sub(age - age / DRIFT_PARTS).saturating_add(1).max(0);
        let wait = missing.saturating_add(missing / (DRIFT_PARTS - 1) + 1);
        if missing == 0 { Duration::ZERO } else { Duration::from_micros(wait.unsigned_abs()) }
    }

    /// Returns the longest time that a call waits because of this reading: as long as a new reading
    /// would take, whose request would wait for its turn.
    fn wait_max(&self, turn: Duration) -> Duration {
        let round_trip = self.received.monotonic.saturating_duration_since(self.sent.monotonic);
        let (least, most) = EXTRA_WAIT;
        round_trip + Duration::from_micros(UNIT.unsigned_abs()) + turn.clamp(least, most)
    }

    /// Returns true if a call at `now` should use this reading rather than make a new one.
    pub fn is_precise(&self, now: LocalInstant, turn: Duration) -> bool {
        self.wait_until_past(self.latest(now), now) <= self.wait_max(turn)
    }

    /// Returns how long a call at `now` waits until this time is past. The local clock may have
    /// been set since this reading was found to be precise, and must not keep the call waiting.
    pub fn pause(&self, service_micros: i64, now: LocalInstant, turn: Duration) -> Duration {
        self.wait_until_past(service_micros, now).min(self.wait_max(turn))
    }
}

impl Clock {
    /// Returns the milliseconds since 1970 by the service's clock.
    pub fn now_ms(&self) -> i64 {
        local_ms().saturating_add(self.offset_ms.load(Ordering::Relaxed))
    }

    /// Returns the offset of the service's clock from the local one, for signatures.
    pub fn offset_ms(&self) -> i64 {
        self.offset_ms.load(Ordering::Relaxed)
    }

    /// Returns the number of requests for the service's time that have ended, successfully or not.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Acquire)
    }

    /// Sends a request for the service's time, unless one has ended since `requests` was noted.
    /// Concurrent callers share its outcome.
    pub async fn request_once<F: Future<Output = Result<()>>>(
        &self,
        last: &LastRequest,
        requests: u64,
        max_wait: Duration,
        send: impl FnOnce() -> F,
    ) -> Result<()> {
        let max_wait = if origin().is_nested { Duration::ZERO } else { max_wait };
        let Ok(mut last) = timeout(max_wait, last.0.lock()).await else {
            // The caller that holds the lock may not be polled: for example, a signal handler has
            // interrupted it, and this call is made by that handler.
            return send().await;
        };
        if self.requests() == requests {
            *last = send().await;
            self.requests.fetch_add(1, Ordering::Release);
        }
        last.clone()
    }

    /// Stores a reading of the service's clock.
    pub fn learn(&self, reading: ClockReading) {
        self.reading.store(Some(Arc::new(reading)));
    }

    /// Returns the last reading of the service's clock.
    pub fn reading(&self) -> Option<Arc<ClockReading>> {
        self.reading.load_full()
    }

    /// Makes signatures follow the last reading. Returns false if they already did.
    pub fn correct(&self) -> bool {
        let offset_ms = self.reading.load_full().map_or(0, |reading| reading.offset_ms());
        self.offset_ms.swap(offset_ms, Ordering::Relaxed) != offset_ms
    }
}

/// Returns the milliseconds since 1970 by the local clock.
pub fn local_ms() -> i64 {
    LocalInstant::now().wall / 1_000
}

fn micros(duration: Duration) -> i64 {
    i64::try_from(duration.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(start: Instant, wall_ms: i64, after_ms: u64) -> LocalInstant {
        LocalInstant::new(wall_ms * 1_000, start + Duration::from_millis(after_ms))
    }

    fn reading(service_ms: i64, sent: LocalInstant, received: LocalInstant) -> ClockReading {
        ClockReading::between(service_ms, sent, received)
    }

    #[test]
    fn the_offset_is_taken_at_the_midpoint_of_the_round_trip() {
        let (clock, start) = (Clock::default(), Instant::now());
        clock.learn(reading(10_000, moment(start, 1_000, 0), moment(start, 3_000, 2_000)));
        assert_eq!(clock.offset_ms(), 0, "a reading alone does not change how requests are signed");
        assert!(clock.correct());
        assert_eq!(clock.offset_ms(), 8_000);
        assert!(!clock.correct(), "once for all calls that were rejected together");
    }

    #[test]
    fn the_latest_time_counts_from_before_the_request_left_and_allows_for_drift() {
        let start = Instant::now();
        let reading = reading(10_000_000, moment(start, 1_000, 0), moment(start, 3_000, 2_000));
        let latest = |wall_ms, after_ms| reading.latest(moment(start, wall_ms, after_ms));
        assert_eq!(latest(900, 0), 10_000_001_000, "called before the request left");
        assert_eq!(latest(3_000, 2_000), 10_002_001_402);
        assert_eq!(latest(501_000, 500_000), 10_500_101_022);
        assert_eq!(latest(63_000, 2_000), 10_062_013_404, "the machine slept during the request");
    }

    #[test]
    fn a_time_is_past_when_the_slowest_clock_since_the_response_has_passed_it() {
        let start = Instant::now();
        let reading = reading(10_000_000, moment(start, 1_000, 0), moment(start, 3_000, 2_000));
        let wait = |service_micros, wall_ms, after_ms| {
            reading.wait_until_past(service_micros, moment(start, wall_ms, after_ms)).as_micros()
        };
        assert_eq!(wait(10_000_000_000, 3_000, 2_000), 2, "it may have been that time just then");
        assert_eq!(wait(10_000_001_000, 3_000, 2_000), 1_002);
        assert_eq!(wait(10_000_001_000, 3_002, 2_002), 0);
        // In 100 s the service's clock may lose 20 ms.
        assert_eq!(wait(10_100_000_000, 103_000, 102_000), 20_001 + 4 + 1);
        assert_eq!(wait(10_100_000_000, 102_950, 102_000), 69_991 + 14 + 1, "set back by 50 ms");
    }

    /// Minimum intervals between requests.
    const TURNS_MS: [u64; 4] = [0, 1, 100, 60_000];
    const ROUND_TRIPS_MS: [u64; 4] = [0, 1, 20, 2_000];

    #[test]
    fn an_open_range_waits_at_most_as_long_as_for_a_new_reading_whatever_the_age_of_the_last() {
        let start = Instant::now();
        for round_trip in ROUND_TRIPS_MS {
            let read_at = |ms: u64| {
                let (sent, received) = (ms, ms + round_trip);
                let at = |ms: u64| moment(start, 1_000_000 + ms.cast_signed(), ms);
                (reading(10_000_000 + ms.cast_signed(), at(sent), at(received)), at(received))
            };
            let (old, _) = read_at(0);
            for age in (0..400_000).step_by(50) {
                let now =
                    moment(start, 1_000_000 + (age + round_trip).cast_signed(), age + round_trip);
                for turn in TURNS_MS.map(Duration::from_millis) {
                    // Until the first page is requested, with the last reading or a new one.
                    let (asking, (used, at)) = match old.is_precise(now, turn) {
                        true => (0, (old, now)),
                        false => (round_trip, read_at(age + round_trip)),
                    };
                    let wait = used.pause(used.latest(now), at, turn);
                    let whole = Duration::from_millis(asking) + wait;
                    let of_a_new_one = Duration::from_micros(1_000 * round_trip + 1_100);
                    let turn = turn.min(Duration::from_millis(100));
                    assert!(whole <= of_a_new_one + turn, "{whole:?} at {age}, {round_trip}");
                }
            }
        }
    }

    #[test]
    fn calls_that_follow_each_other_closely_share_a_reading() {
        let start = Instant::now();
        for round_trip in ROUND_TRIPS_MS {
            let at = |ms: u64| moment(start, 1_000_000 + ms.cast_signed(), ms);
            let reading = reading(10_000_000, at(0), at(round_trip));
            let precise =
                |age, turn| reading.is_precise(at(round_trip + age), Duration::from_millis(turn));
            if round_trip <= 20 {
                assert!(precise(0, 0) && precise(200, 0), "{round_trip}");
            }
            assert!(!precise(260, 0) && !precise(30_000, 0) && !precise(90_000, 0));
            // An older reading is precise enough if another request would wait for its turn.
            assert!(precise(30_000, 20) && precise(200_000, 100) && !precise(60_000, 20));
            assert!(!precise(260_000, 60_000), "older than four minutes");
        }
    }

    #[test]
    fn the_local_clock_may_be_set_at_any_moment_of_a_call_without_a_longer_wait() {
        let (start, turn) = (Instant::now(), Duration::from_millis(100));
        for set_ms in [-36_000_000, -5_000, 0, 5_000, 36_000_000] {
            let wall = |after: i64| 100_000_000 + set_ms + after;
            let called = moment(start, 100_000_000, 0);
            let after = reading(10_000, moment(start, wall(10), 10), moment(start, wall(30), 30));
            assert!(after.is_precise(called, Duration::ZERO), "sent after the call: {set_ms}");
            assert_eq!(after.latest(called), 10_001_000, "{set_ms}");

            let before =
                reading(10_000, moment(start, 99_800_000, 0), moment(start, 99_800_020, 20));
            let called = moment(start, 100_000_000, 200_000);
            assert!(before.is_precise(called, turn));
            let end = before.latest(called);
            let now = moment(start, wall(1), 200_001);
            assert!(before.pause(end, now, turn) <= Duration::from_millis(121), "{set_ms}");
        }
    }

    #[test]
    fn a_reading_is_replaced_if_a_local_clock_was_set_since() {
        let (start, turn) = (Instant::now(), Duration::from_millis(100));
        for round_trip in ROUND_TRIPS_MS {
            let at = |wall_ms: i64, after_ms: u64| {
                moment(start, wall_ms + round_trip.cast_signed(), after_ms + round_trip)
            };
            let reading = reading(10_000, moment(start, 1_000, 0), at(1_000, 0));
            let precise = |wall_ms, after_ms| reading.is_precise(at(wall_ms, after_ms), turn);
            assert!(precise(6_000, 5_000));
            assert!(!precise(6_200, 5_000), "set forward, or the machine slept");
            assert!(!precise(5_800, 5_000), "set back");
            assert!(precise(6_050, 5_000) && precise(5_950, 5_000));
        }
    }
}
