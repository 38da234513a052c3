//! The service's clock as this client knows it: an offset for signatures, and the last reading of
//! the service's time, from which open time ranges get their end.

use std::{
    future::Future,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicI64, AtomicU64, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwapOption;
use tokio::{sync::Mutex, time::timeout};

use super::{Draft, EventKind, HttpResponse, Sender, cassette::Cassette};
use crate::{api::SERVER_TIME, error::Result, process::PerProcess};

/// A reading that is older is not used any more.
const READING_AGE_MAX: Duration = Duration::from_secs(600);
/// If the two local clocks have drifted apart by more than this since the reading, one of them was
/// set or stood still (a suspended machine), and neither tells the reading's age.
const STEP_MAX: Duration = Duration::from_secs(1);
/// How much faster the service's clock may run than this machine's: one part in 5,000 (200 ppm).
const DRIFT_PARTS: u32 = 5_000;

/// The local clock, how far the service's is ahead of it, and the last reading of the service's.
#[derive(Debug, Default)]
pub struct Clock {
    offset_ms: AtomicI64,
    /// Counts the requests for the service's time that ended, so that of many callers one asks.
    asked: AtomicU64,
    reading: ArcSwapOption<Reading>,
    /// How the last such request went: the callers that waited for it share its failure too.
    asking: PerProcess<Mutex<Result<()>>>,
}

/// One instant by both local clocks: one is set now and then, the other stops in a suspended machine.
#[derive(Debug, Clone, Copy)]
pub struct Moment {
    wall_ms: i64,
    monotonic: Instant,
}

/// What the service's clock showed, and when the request for it left and the response was complete.
#[derive(Debug, Clone, Copy)]
pub struct Reading {
    service_ms: i64,
    sent: Moment,
    received: Moment,
}

impl Moment {
    pub fn now() -> Self {
        Moment { wall_ms: local_ms(), monotonic: Instant::now() }
    }
}

impl Reading {
    /// How far the service's clock is ahead of the local one; its time was most likely read halfway
    /// between the two moments.
    fn offset_ms(&self) -> i64 {
        let (sent, received) = (self.sent.wall_ms, self.received.wall_ms);
        self.service_ms.saturating_sub(sent + (received - sent) / 2)
    }

    /// Whether the local clocks still tell the reading's age at `now`.
    fn is_current(&self, now: Moment) -> bool {
        let (monotonic, wall_ms) = self.age(now);
        let step_ms = wall_ms.abs_diff(i64::try_from(monotonic.as_millis()).unwrap_or(i64::MAX));
        monotonic <= READING_AGE_MAX && u128::from(step_ms) <= STEP_MAX.as_millis()
    }

    /// The latest time that the service's clock can show at `now`. The service read its clock after
    /// the request had left, so the age that is added is no less than what has passed there.
    fn latest_ms(&self, now: Moment) -> i64 {
        let (monotonic, wall_ms) = self.age(now);
        let wall = Duration::from_millis(u64::try_from(wall_ms).unwrap_or_default());
        let passed = monotonic.max(wall);
        let passed = passed + passed / DRIFT_PARTS;
        // The service's stamp and the passed time are both cut to whole milliseconds.
        let passed_ms = i64::try_from(passed.as_millis()).unwrap_or(i64::MAX);
        self.service_ms.saturating_add(passed_ms).saturating_add(2)
    }

    fn age(&self, now: Moment) -> (Duration, i64) {
        let monotonic = now.monotonic.saturating_duration_since(self.sent.monotonic);
        (monotonic, now.wall_ms.saturating_sub(self.sent.wall_ms))
    }
}

impl Clock {
    /// Milliseconds since 1970 by the service's clock.
    pub fn now_ms(&self) -> i64 {
        local_ms().saturating_add(self.offset_ms.load(Ordering::Relaxed))
    }

    pub fn offset_ms(&self) -> i64 {
        self.offset_ms.load(Ordering::Relaxed)
    }

    /// How many requests for the service's time have ended, however they went.
    pub fn asked(&self) -> u64 {
        self.asked.load(Ordering::Acquire)
    }

    /// Remembers what the service's clock showed.
    pub fn learn(&self, reading: Reading) {
        self.reading.store(Some(Arc::new(reading)));
    }

    fn reading(&self) -> Option<Arc<Reading>> {
        self.reading.load_full()
    }

    /// Lets signatures follow the last reading; false if they did already.
    fn correct(&self) -> bool {
        let offset_ms = self.reading().map_or(0, |reading| reading.offset_ms());
        self.offset_ms.swap(offset_ms, Ordering::Relaxed) != offset_ms
    }
}

impl Sender {
    /// The latest time in milliseconds that the service's clock can show at this moment: whatever
    /// existed at the service when this was called is not later. The service is asked if no recent
    /// reading is known, by one of all concurrent callers; a failure reaches them all. `call`
    /// identifies the call on a tape: a replay uses the recorded time and asks nobody.
    pub async fn service_now(&self, call: impl FnOnce() -> String) -> Result<i64> {
        let cassette = self.options().cassette.as_deref();
        let now_ms = if matches!(cassette, Some(Cassette::Replay(_))) {
            // Not used, unless the tape lacks the call, whose requests it then lacks as well.
            local_ms()
        } else {
            let clock = self.clock();
            let asked = clock.asked();
            let known = clock.reading().filter(|reading| reading.is_current(Moment::now()));
            let reading = match known {
                Some(reading) => Some(reading),
                None => {
                    self.read_clock(asked).await?;
                    clock.reading()
                }
            };
            reading.map_or_else(|| clock.now_ms(), |reading| reading.latest_ms(Moment::now()))
        };
        Ok(match cassette {
            Some(cassette) => cassette.now_ms(self.base().as_str(), &call(), now_ms),
            None => now_ms,
        })
    }

    /// Takes the offset of signatures from the service's clock, once for all calls that were
    /// rejected at the same time. `asked` is what the clock said before the rejected attempt.
    pub(super) async fn correct_clock(&self, asked: u64) -> Result<()> {
        self.read_clock(asked).await?;
        let url = self.base().join(SERVER_TIME.path)?;
        if self.clock().correct()
            && let Some(span) = self.path_span(SERVER_TIME.method.as_str(), url.path())
        {
            span.tell(EventKind::ClockCorrected { offset_ms: self.clock().offset_ms() }).await;
        }
        Ok(())
    }

    /// Reads the service's clock, unless somebody has done so since `asked` was noted.
    async fn read_clock(&self, asked: u64) -> Result<()> {
        let clock = self.clock();
        let asking = clock.asking.get_or_make(|| Ok(Mutex::new(Ok(()))))?;
        let Ok(mut last) = timeout(self.options().timeout, asking.lock()).await else {
            // Whoever asks stands still, such as a call that a signal handler interrupted.
            return self.ask_service_clock().await;
        };
        if clock.asked() == asked {
            *last = self.ask_service_clock().await;
            clock.asked.fetch_add(1, Ordering::Release);
        }
        last.clone()
    }

    /// Asks without credentials, as a signature by the wrong clock would be rejected as well. The
    /// reading is taken where responses arrive.
    fn ask_service_clock(&self) -> Pin<Box<dyn Future<Output = Result<()>> + Send + '_>> {
        Box::pin(async move {
            let draft = Draft::of(&SERVER_TIME, &[])?;
            let mut prepared = draft.prepare(self.base(), &self.options().headers)?;
            // A replay asks nobody, so this must not stand among the caller's own on a tape.
            prepared.unrecorded = true;
            let anonymous = self.without_credentials();
            anonymous.send(&prepared, anonymous.readers().clock).await.map(drop)
        })
    }

    /// Takes a reading from a response of the server-time endpoint, whoever asked for it.
    pub(super) fn learn_time(&self, response: &HttpResponse, sent: Moment) {
        if let Ok(service_ms) = (self.readers().clock)(response) {
            self.clock().learn(Reading { service_ms, sent, received: Moment::now() });
        }
    }
}

/// Milliseconds since 1970 by the local clock.
fn local_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn moment(start: Instant, wall_ms: i64, after_ms: u64) -> Moment {
        Moment { wall_ms, monotonic: start + Duration::from_millis(after_ms) }
    }

    fn reading(service_ms: i64, sent: Moment, received: Moment) -> Reading {
        Reading { service_ms, sent, received }
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
