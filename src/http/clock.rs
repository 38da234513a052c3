//! The service's clock as this client knows it: an offset for signatures, and the last reading of
//! the service's time, from which open time ranges get their end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwapOption;
use tokio::{sync::Mutex, time::timeout};

use crate::{
    error::Result,
    process::{PerProcess, origin},
};

/// A reading that is older is not used any more.
const READING_AGE_MAX: Duration = Duration::from_secs(600);
/// If the two local clocks have drifted apart by more than this since the reading, one of them was
/// set or stopped (a suspended machine), and the reading's age is unknown.
const STEP_MAX: Duration = Duration::from_secs(1);
/// How much faster the service's clock may run than this machine's: one part in 5,000 (200 ppm).
const DRIFT_PARTS: u32 = 5_000;

/// The local clock, how far the service's is ahead of it, and the last reading of the service's.
#[derive(Debug, Default)]
pub struct Clock {
    offset_ms: AtomicI64,
    /// Counts the requests for the service's time that ended, so that concurrent callers share one.
    requests: AtomicU64,
    reading: ArcSwapOption<ClockReading>,
    /// How the last such request ended: the callers that waited for it share its failure too.
    last_request: PerProcess<Mutex<Result<()>>>,
}

/// One instant by both local clocks: one is set now and then, the other stops while the machine is
/// suspended.
#[derive(Debug, Clone, Copy)]
pub struct LocalInstant {
    wall_ms: i64,
    monotonic: Instant,
}

/// What the service's clock showed, and when the request for it left and the response was complete.
#[derive(Debug, Clone, Copy)]
pub struct ClockReading {
    service_ms: i64,
    sent: LocalInstant,
    received: LocalInstant,
}

impl LocalInstant {
    pub fn now() -> Self {
        LocalInstant { wall_ms: local_ms(), monotonic: Instant::now() }
    }
}

impl ClockReading {
    /// A reading from a response that has just been received.
    pub fn new(service_ms: i64, sent: LocalInstant) -> Self {
        ClockReading { service_ms, sent, received: LocalInstant::now() }
    }

    /// How far the service's clock is ahead of the local one; its time was most likely read halfway
    /// between sending and receiving.
    fn offset_ms(&self) -> i64 {
        let (sent, received) = (self.sent.wall_ms, self.received.wall_ms);
        self.service_ms.saturating_sub(sent + (received - sent) / 2)
    }

    /// Whether the reading's age at `now` is known from the local clocks.
    fn is_current(&self, now: LocalInstant) -> bool {
        let (monotonic, wall_ms) = self.age(now);
        let step_ms = wall_ms.abs_diff(i64::try_from(monotonic.as_millis()).unwrap_or(i64::MAX));
        monotonic <= READING_AGE_MAX && u128::from(step_ms) <= STEP_MAX.as_millis()
    }

    /// The latest time that the service's clock can show at `now`. The service read its clock after
    /// the request had left, so the age that is added is no less than what has passed there.
    fn latest_ms(&self, now: LocalInstant) -> i64 {
        let (monotonic, wall_ms) = self.age(now);
        let wall = Duration::from_millis(u64::try_from(wall_ms).unwrap_or_default());
        let passed = monotonic.max(wall);
        let passed = passed + passed / DRIFT_PARTS;
        // The service's stamp and the passed time are both cut to whole milliseconds.
        let passed_ms = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
        self.service_ms.saturating_add(passed_ms).saturating_add(2)
    }

    fn age(&self, now: LocalInstant) -> (Duration, i64) {
        let monotonic = now.monotonic.saturating_duration_since(self.sent.monotonic);
        (monotonic, now.wall_ms.saturating_sub(self.sent.wall_ms))
    }
}

impl Clock {
    /// Milliseconds since 1970 by the service's clock.
    pub fn now_ms(&self) -> i64 {
        local_ms().saturating_add(self.offset_ms.load(Ordering::Relaxed))
    }

    /// How far the service's clock is ahead of the local one, for signatures.
    pub fn offset_ms(&self) -> i64 {
        self.offset_ms.load(Ordering::Relaxed)
    }

    /// How many requests for the service's time have ended, successfully or not.
    pub fn requests(&self) -> u64 {
        self.requests.load(Ordering::Acquire)
    }

    /// Sends a request for the service's time, unless one has ended since `requests` was noted:
    /// concurrent callers share its outcome.
    pub async fn request_once<F: Future<Output = Result<()>>>(
        &self,
        requests: u64,
        max_wait: Duration,
        send: impl FnOnce() -> F,
    ) -> Result<()> {
        let last = self.last_request.get_or_make(|| Ok(Mutex::new(Ok(()))))?;
        let max_wait = if origin().is_nested { Duration::ZERO } else { max_wait };
        let Ok(mut last) = timeout(max_wait, last.lock()).await else {
            // The caller that holds the lock may not be polled: for example, a signal handler has
            // interrupted it, and this is a call of that handler.
            return send().await;
        };
        if self.requests() == requests {
            *last = send().await;
            self.requests.fetch_add(1, Ordering::Release);
        }
        last.clone()
    }

    /// Remembers what the service's clock showed.
    pub fn learn(&self, reading: ClockReading) {
        self.reading.store(Some(Arc::new(reading)));
    }

    /// The latest time in milliseconds that the service's clock can show now, if the last reading is
    /// recent.
    pub fn latest_known_ms(&self) -> Option<i64> {
        let (reading, now) = (self.reading.load_full()?, LocalInstant::now());
        reading.is_current(now).then(|| reading.latest_ms(now))
    }

    /// The latest time in milliseconds that the service's clock can show now, by the last reading.
    pub fn latest_ms(&self) -> i64 {
        let reading = self.reading.load_full();
        reading.map_or_else(|| self.now_ms(), |reading| reading.latest_ms(LocalInstant::now()))
    }

    /// Makes signatures follow the last reading; false if they did already.
    pub fn correct(&self) -> bool {
        let offset_ms = self.reading.load_full().map_or(0, |reading| reading.offset_ms());
        self.offset_ms.swap(offset_ms, Ordering::Relaxed) != offset_ms
    }
}

/// Milliseconds since 1970 by the local clock.
pub fn local_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(start: Instant, wall_ms: i64, after_ms: u64) -> LocalInstant {
        LocalInstant { wall_ms, monotonic: start + Duration::from_millis(after_ms) }
    }

    fn reading(service_ms: i64, sent: LocalInstant, received: LocalInstant) -> ClockReading {
        ClockReading { service_ms, sent, received }
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
        let latest = |wall_ms, after_ms| reading.latest_ms(moment(start, wall_ms, after_ms));
        assert_eq!(latest(3_000, 2_000), 10_002_002);
        assert_eq!(latest(501_000, 500_000), 10_500_102);
        assert_eq!(latest(63_000, 2_000), 10_062_014, "the machine slept during the request");
    }

    #[test]
    fn a_reading_is_dropped_by_age_and_when_a_local_clock_was_set() {
        let start = Instant::now();
        let reading = reading(10_000, moment(start, 1_000, 0), moment(start, 1_000, 0));
        let current = |wall_ms, after_ms| reading.is_current(moment(start, wall_ms, after_ms));
        assert!(current(601_000, 600_000));
        assert!(!current(602_001, 601_001), "older than ten minutes");
        assert!(!current(7_100, 5_000), "set forward, or the machine slept");
        assert!(!current(4_900, 5_000), "set back");
        assert!(current(5_100, 5_000));
    }
}
