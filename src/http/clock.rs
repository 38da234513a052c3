//! The service's clock as this client knows it: an offset for signatures, and the last reading of
//! the service's time, from which open time ranges get their end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use tokio::{sync::Mutex, time::timeout};

use crate::{
    error::Result,
    process::{PerProcess, origin},
    simulated,
};

/// How much faster or slower the service's clock may run than this machine's: one part in 5,000
/// (200 ppm).
const DRIFT_PARTS: i64 = 5_000;
/// How much longer than the request for a new reading a call may wait on account of an old one.
const EXTRA_WAIT_MAX: Duration = Duration::from_millis(100);

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
    /// Microseconds since 1970.
    wall: i64,
    monotonic: Instant,
}

/// What the service's clock showed, and when the request for it left and the response was complete.
///
/// The time that the service's clock shows at a later moment is between two bounds. They move apart as
/// the reading becomes older, and if the two local clocks disagree about its age.
#[derive(Debug, Clone, Copy)]
pub struct ClockReading {
    service_ms: i64,
    sent: LocalInstant,
    received: LocalInstant,
}

impl LocalInstant {
    /// At this moment.
    pub fn now() -> Self {
        LocalInstant { wall: micros(simulated::since_1970()), monotonic: simulated::instant() }
    }

    /// By what the two clocks show: microseconds since 1970, and the one that is never set.
    pub const fn new(wall: i64, monotonic: Instant) -> Self {
        LocalInstant { wall, monotonic }
    }

    /// The microseconds since an earlier instant by either clock, the smaller number first.
    fn since(self, earlier: Self) -> (i64, i64) {
        let monotonic = micros(self.monotonic.saturating_duration_since(earlier.monotonic));
        let wall = self.wall.saturating_sub(earlier.wall).max(0);
        (monotonic.min(wall), monotonic.max(wall))
    }
}

impl ClockReading {
    /// A reading from a response that has just been received.
    pub fn new(service_ms: i64, sent: LocalInstant) -> Self {
        Self::between(service_ms, sent, LocalInstant::now())
    }

    /// A reading from a response that was received at this instant.
    pub const fn between(service_ms: i64, sent: LocalInstant, received: LocalInstant) -> Self {
        ClockReading { service_ms, sent, received }
    }

    /// How far the service's clock is ahead of the local one; its time was most likely read halfway
    /// between sending and receiving.
    fn offset_ms(&self) -> i64 {
        let (sent, received) = (self.sent.wall, self.received.wall);
        self.service_ms.saturating_sub((sent + (received - sent) / 2) / 1_000)
    }

    /// A time in milliseconds that the service's clock had not passed at `now`: whatever existed at the
    /// service then is not later. The service read its clock after the request had left, and cut what
    /// it showed to whole milliseconds.
    pub fn latest_ms(&self, now: LocalInstant) -> i64 {
        // Of a request that left later, whatever the local clock was set to since.
        let age = if self.sent.monotonic >= now.monotonic { 0 } else { now.since(self.sent).1 };
        let passed = age.saturating_add(age / DRIFT_PARTS).saturating_add(999);
        self.service_ms.saturating_add(passed / 1_000 + i64::from(passed % 1_000 > 0))
    }

    /// How long after `now` the service's clock has certainly passed this time: whatever the service
    /// adds then is later. The service read its clock before the response was received.
    fn wait_until_past(&self, service_ms: i64, now: LocalInstant) -> Duration {
        let (age, _) = now.since(self.received);
        let ahead = service_ms.saturating_sub(self.service_ms).saturating_mul(1_000);
        let missing = ahead.saturating_sub(age - age / DRIFT_PARTS).saturating_add(1).max(0);
        let wait = missing.saturating_add(missing / (DRIFT_PARTS - 1) + 1);
        if missing == 0 { Duration::ZERO } else { Duration::from_micros(wait.unsigned_abs()) }
    }

    /// The longest that a call waits on account of this reading.
    fn wait_max(&self) -> Duration {
        let round_trip = self.received.monotonic.saturating_duration_since(self.sent.monotonic);
        round_trip + EXTRA_WAIT_MAX
    }

    /// Whether a call at `now` should use this reading, and not make a new one.
    pub fn is_precise(&self, now: LocalInstant) -> bool {
        self.wait_until_past(self.latest_ms(now), now) <= self.wait_max()
    }

    /// How long a call waits at `now` until this time is past. The local clock may have been set since
    /// this reading was found to be precise, and must not keep the call waiting.
    pub fn pause(&self, service_ms: i64, now: LocalInstant) -> Duration {
        self.wait_until_past(service_ms, now).min(self.wait_max())
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

    /// What the service's clock showed last.
    pub fn reading(&self) -> Option<Arc<ClockReading>> {
        self.reading.load_full()
    }

    /// Makes signatures follow the last reading; false if they did already.
    pub fn correct(&self) -> bool {
        let offset_ms = self.reading.load_full().map_or(0, |reading| reading.offset_ms());
        self.offset_ms.swap(offset_ms, Ordering::Relaxed) != offset_ms
    }
}

/// Milliseconds since 1970 by the local clock.
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
        let latest = |wall_ms, after_ms| reading.latest_ms(moment(start, wall_ms, after_ms));
        assert_eq!(latest(900, 0), 10_000_001, "called before the request left");
        assert_eq!(latest(3_000, 2_000), 10_002_002);
        assert_eq!(latest(501_000, 500_000), 10_500_101);
        assert_eq!(latest(63_000, 2_000), 10_062_014, "the machine slept during the request");
    }

    #[test]
    fn a_time_is_past_when_the_slowest_clock_since_the_response_has_passed_it() {
        let start = Instant::now();
        let reading = reading(10_000_000, moment(start, 1_000, 0), moment(start, 3_000, 2_000));
        let wait = |service_ms, wall_ms, after_ms| {
            reading.wait_until_past(service_ms, moment(start, wall_ms, after_ms)).as_micros()
        };
        assert_eq!(wait(10_000_000, 3_000, 2_000), 2, "it may have been that time just then");
        assert_eq!(wait(10_000_001, 3_000, 2_000), 1_002);
        assert_eq!(wait(10_000_001, 3_002, 2_002), 0);
        // In 100 s the service's clock may lose 20 ms.
        assert_eq!(wait(10_100_000, 103_000, 102_000), 20_001 + 4 + 1);
        assert_eq!(wait(10_100_000, 102_950, 102_000), 69_991 + 14 + 1, "set back by 50 ms");
    }

    #[test]
    fn the_local_clock_may_be_set_at_any_moment_of_a_call_without_a_longer_wait() {
        let start = Instant::now();
        for set_ms in [-36_000_000, -5_000, 0, 5_000, 36_000_000] {
            let wall = |after: i64| 100_000_000 + set_ms + after;
            let called = moment(start, 100_000_000, 0);
            let after = reading(10_000, moment(start, wall(10), 10), moment(start, wall(30), 30));
            assert!(after.is_precise(called), "sent after the call: {set_ms}");
            assert_eq!(after.latest_ms(called), 10_001, "{set_ms}");

            let before =
                reading(10_000, moment(start, 99_800_000, 0), moment(start, 99_800_020, 20));
            let called = moment(start, 100_000_000, 200_000);
            assert!(before.is_precise(called));
            let end_ms = before.latest_ms(called);
            let now = moment(start, wall(1), 200_001);
            assert!(before.pause(end_ms, now) <= Duration::from_millis(120), "{set_ms}");
        }
    }

    #[test]
    fn a_reading_is_replaced_if_its_age_would_keep_a_call_waiting() {
        let start = Instant::now();
        for round_trip in [0, 10, 2_000] {
            let sent = moment(start, 1_000, 0);
            let received = moment(start, 1_000 + round_trip as i64, round_trip);
            let reading = reading(10_000, sent, received);
            let precise = |wall_ms: i64, after_ms: u64| {
                reading.is_precise(moment(
                    start,
                    wall_ms + round_trip as i64,
                    after_ms + round_trip,
                ))
            };
            assert!(precise(1_000, 0) && precise(201_000, 200_000));
            assert!(!precise(261_000, 260_000), "older than four minutes");
            assert!(!precise(6_200, 5_000), "set forward, or the machine slept");
            assert!(!precise(5_800, 5_000), "set back");
            assert!(precise(6_050, 5_000) && precise(5_950, 5_000));
        }
    }
}
