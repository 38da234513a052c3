//! The state of a limit, and how a request changes it: the generic cell rate algorithm, with a time
//! until which nothing is sent, and a lower rate that the service has enforced.

use std::time::Duration;

use super::slowdown::Slowdown;

/// The share of the rate that is used. Requests arrive at the service a little less evenly than
/// they are sent: the unused share keeps every second below the rate.
const USED_SHARE: f64 = 0.97;
const SECOND: u64 = 1_000_000_000;
/// Nothing is held back or reserved for longer. A stored time that is later does not come from this
/// clock: it is from before the machine was started again, or the file was damaged.
const AHEAD_MAX: u64 = 24 * 3600 * SECOND;
/// Maximum time by which the clock of a database's server may be set back without a new state. Up
/// to then, requests wait.
const SET_BACK_MAX: u64 = SECOND;
/// A second has fewer requests than this.
const COUNT_MAX: u64 = 1 << 32;
/// Marks the format: its first version.
const FORMAT: u64 = u64::from_le_bytes(*b"blrate01");
const FIELDS: usize = 12;
/// Time after its last request for which the lowest rate among those who share the limit applies to
/// all of them.
const LOWEST_FOR: u64 = 10 * SECOND;
/// Length of an encoded state.
pub const LENGTH: usize = FIELDS * 8;

/// The requests that are granted.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Allowance {
    /// Requests per second. If infinite, only rejections limit them, to less than the rate that was
    /// sent.
    pub rate: f64,
    /// The number that may be sent at once after a pause.
    pub burst: u32,
}

impl Allowance {
    /// Returns the number of seconds by which a request may precede its evenly spaced time. Does
    /// not apply to a lowered rate: a slow-down would then grant a second burst at once.
    #[doc(hidden)]
    pub fn tolerance(self) -> f64 {
        f64::from(self.burst.saturating_sub(1)) / own_rate(self)
    }
}

/// The state of a limit. All times are nanoseconds of one clock that all who share the limit read.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct State {
    /// Time of the last change.
    pub updated: u64,
    /// Theoretical arrival time: when the allowance is unused again, if nothing more is sent.
    pub arrival: u64,
    /// No request is sent before this time.
    pub held_until: u64,
    /// The lower rate that rejections have enforced.
    pub slowdown: Option<Slowdown>,
    /// The second of the last reserved time. `in_window` counts the reserved times in that second,
    /// and `in_previous` those in the second before.
    pub window: u64,
    /// See `window`.
    pub in_window: u64,
    /// See `window`.
    pub in_previous: u64,
    /// The lowest rate of any recent request; 0 before the first one.
    pub lowest: f64,
    /// The time of the last request with that rate.
    pub lowest_at: u64,
}

/// A change of the state.
#[derive(Debug, Clone, Copy)]
pub enum Change {
    /// Reserves the time of a request.
    Reserve,
    /// The service wants no requests for this long.
    Hold(Duration),
    /// The service has rejected too many requests, the last of which was sent this long ago.
    SlowDown(Duration),
}

impl State {
    /// Makes a change, and returns the reserved time.
    pub fn apply(&mut self, change: Change, allowance: Allowance, now: u64) -> u64 {
        *self = self.unless_implausible(now);
        let now = now.max(self.updated);
        self.updated = now;
        match change {
            Change::Reserve => {
                let own = own_rate(allowance);
                if own <= self.lowest_rate(now) {
                    (self.lowest, self.lowest_at) = (own, now);
                }
                self.reserve(allowance, now)
            }
            Change::Hold(wait) => {
                let wait = nanos(wait).min(AHEAD_MAX);
                self.held_until = self.held_until.max(now.saturating_add(wait));
                now
            }
            Change::SlowDown(sent_ago) => {
                self.slow_down(allowance, now, now.saturating_sub(nanos(sent_ago)));
                now
            }
        }
    }

    /// Returns this state if these rules can have led to it by now, otherwise a new one.
    fn unless_implausible(self, now: u64) -> Self {
        let latest = now.saturating_add(AHEAD_MAX);
        let since = self.slowdown.map_or(0, |slowdown| slowdown.since);
        let is_plausible = self.updated.max(since).max(self.lowest_at)
            <= now.saturating_add(SET_BACK_MAX)
            && self.arrival.max(self.held_until) <= latest
            && self.window <= latest / SECOND
            && self.in_window.max(self.in_previous) <= COUNT_MAX;
        if is_plausible { self } else { State::default() }
    }

    fn reserve(&mut self, allowance: Allowance, now: u64) -> u64 {
        let interval = 1.0 / self.rate(allowance, now);
        let tolerance = allowance.tolerance();
        let earliest = now.max(self.held_until);
        let send_at = earliest.max(self.arrival.saturating_sub(seconds(tolerance)));
        // There is no burst after a time in which nothing could be sent.
        let base = if self.held_until > now { send_at } else { now };
        self.arrival = self.arrival.max(base).saturating_add(seconds(interval));
        self.count(send_at);
        send_at
    }

    fn slow_down(&mut self, allowance: Allowance, now: u64, sent_at: u64) {
        // Requests that were sent before the rate was lowered say nothing about the lowered rate.
        if self.slowdown.is_none_or(|slowdown| slowdown.since <= sent_at) {
            let mut rejected = self.rate(allowance, now);
            if allowance.rate.is_infinite() {
                rejected = rejected.min(self.used(now));
            }
            self.slowdown = Some(Slowdown::below(rejected, now));
        }
    }

    /// Returns the requests per second at that time.
    pub fn rate(&self, allowance: Allowance, now: u64) -> f64 {
        let own = own_rate(allowance).min(self.lowest_rate(now));
        self.slowed_to(now).map_or(own, |slowed| slowed.min(own))
    }

    /// Returns the lowest rate of those who share the limit and have recently made a request.
    fn lowest_rate(&self, now: u64) -> f64 {
        let is_recent = now.saturating_sub(self.lowest_at) < LOWEST_FOR;
        if is_recent && self.lowest > 0.0 { self.lowest } else { f64::INFINITY }
    }

    /// Returns the rate that rejections have enforced, while it applies.
    pub fn slowed_to(&self, now: u64) -> Option<f64> {
        let slowdown = self.slowdown?;
        slowdown.rate(Duration::from_nanos(now.saturating_sub(slowdown.since)))
    }

    fn count(&mut self, send_at: u64) {
        let window = send_at / SECOND;
        if window > self.window {
            self.in_previous = if window == self.window + 1 { self.in_window } else { 0 };
            (self.window, self.in_window) = (window, 0);
        }
        self.in_window += 1;
    }

    /// Returns the approximate number of requests that were or will be sent in the second that ends
    /// at the last reserved time; none if that is long ago.
    pub fn used(&self, now: u64) -> f64 {
        let at = now.max(self.arrival.min(now.saturating_add(SECOND)));
        let (window, passed) = (at / SECOND, (at % SECOND) as f64 / SECOND as f64);
        match window.checked_sub(self.window) {
            Some(0) => self.in_window as f64 + self.in_previous as f64 * (1.0 - passed),
            Some(1) => self.in_window as f64 * (1.0 - passed),
            Some(_) => 0.0,
            None => self.in_window as f64 + self.in_previous as f64,
        }
    }

    /// Returns how long a request made now would wait.
    pub fn wait(&self, allowance: Allowance, now: u64) -> Duration {
        let send_at = { *self }.apply(Change::Reserve, allowance, now);
        Duration::from_nanos(send_at.saturating_sub(now))
    }

    /// Encodes the content of the file or row.
    pub fn encode(&self) -> [u8; LENGTH] {
        let slowdown = self.slowdown.unwrap_or(Slowdown { since: 0, low: 0.0, recovered: 0.0 });
        let fields: [u64; FIELDS] = [
            FORMAT,
            self.updated,
            self.arrival,
            self.held_until,
            slowdown.since,
            slowdown.low.to_bits(),
            slowdown.recovered.to_bits(),
            self.window,
            self.in_window,
            self.in_previous,
            self.lowest.to_bits(),
            self.lowest_at,
        ];
        let mut bytes = [0; LENGTH];
        for (place, field) in bytes.chunks_exact_mut(8).zip(fields) {
            place.copy_from_slice(&field.to_le_bytes());
        }
        bytes
    }

    /// Decodes the state in a file or row. If the content is not a possible state at this time,
    /// returns a new one.
    pub fn decode(bytes: &[u8], now: u64) -> Self {
        let field = |bytes: &[u8]| bytes.iter().rev().fold(0, |n, byte| n << 8 | u64::from(*byte));
        let mut fields = [0; FIELDS];
        for (place, bytes) in fields.iter_mut().zip(bytes.chunks_exact(8)) {
            *place = field(bytes);
        }
        let [
            format,
            updated,
            arrival,
            held_until,
            since,
            low,
            recovered,
            window,
            in_window,
            in_previous,
            lowest,
            lowest_at,
        ] = fields;
        let [low, recovered, lowest] = [low, recovered, lowest].map(f64::from_bits);
        let slowdown = Some(Slowdown { since, low, recovered }).filter(Slowdown::is_plausible);
        let state = State {
            updated,
            arrival,
            held_until,
            slowdown,
            window,
            in_window,
            in_previous,
            lowest,
            lowest_at,
        };
        if format == FORMAT { state.unless_implausible(now) } else { State::default() }
    }
}

/// Returns the rate that is used while the service rejects nothing.
fn own_rate(allowance: Allowance) -> f64 {
    allowance.rate * USED_SHARE
}

fn seconds(seconds: f64) -> u64 {
    nanos(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn nanos(duration: Duration) -> u64 {
    u64::try_from(duration.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const START: u64 = 1_000 * SECOND;

    fn allowance(rate: f64, burst: u32) -> Allowance {
        Allowance { rate, burst }
    }

    fn reserved(state: &mut State, allowance: Allowance, now: u64, count: usize) -> Vec<f64> {
        let reserve = |_| state.apply(Change::Reserve, allowance, now);
        (0..count).map(reserve).map(|at| (at - now) as f64 / SECOND as f64).collect()
    }

    fn close(found: &[f64], expected: &[f64]) {
        let is_close = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-6;
        assert!(
            found.len() == expected.len() && found.iter().zip(expected).all(is_close),
            "{found:?}"
        );
    }

    #[test]
    fn requests_are_evenly_spaced_a_little_below_the_rate() {
        let mut state = State::default();
        // There is one request every 1 / (0.97 x 10) s.
        close(
            &reserved(&mut state, allowance(10.0, 1), START, 4),
            &[0.0, 0.103_092_783, 0.206_185_567, 0.309_278_350],
        );
    }

    #[test]
    fn of_different_rates_the_lowest_holds_for_all_until_it_is_unused_for_ten_seconds() {
        let (slow, fast) = (allowance(20.0, 1), allowance(50.0, 1));
        let mut state = State::default();
        state.apply(Change::Reserve, slow, START);
        assert!((state.rate(fast, START) - 19.4).abs() < 1e-9);
        let mut last = START;
        for request in 0..100 {
            last = state.apply(Change::Reserve, if request % 2 == 0 { fast } else { slow }, START);
        }
        // 101 requests at 0.97 x 20 in a second.
        assert!((((last - START) as f64) / SECOND as f64 - 100.0 / 19.4).abs() < 1e-6);
        assert!((state.rate(fast, START + 9 * SECOND) - 19.4).abs() < 1e-9);
        assert!((state.rate(fast, START + 10 * SECOND) - 48.5).abs() < 1e-9);
    }

    #[test]
    fn a_burst_is_sent_at_once_after_a_pause() {
        let mut state = State::default();
        close(&reserved(&mut state, allowance(10.0, 3), START, 4), &[0.0, 0.0, 0.0, 0.103_092_783]);
    }

    #[test]
    fn a_slow_down_grants_no_second_burst() {
        let (mut state, limit) = (State::default(), allowance(10.0, 3));
        close(&reserved(&mut state, limit, START, 3), &[0.0, 0.0, 0.0]);
        state.apply(Change::SlowDown(Duration::ZERO), limit, START);
        assert!(reserved(&mut state, limit, START, 1)[0] > 0.1);
    }

    #[test]
    fn nothing_is_sent_before_the_end_of_a_hold_and_then_evenly() {
        let (mut state, limit) = (State::default(), allowance(10.0, 3));
        state.apply(Change::Hold(Duration::from_secs(2)), limit, START);
        state.apply(Change::Hold(Duration::from_secs(1)), limit, START);
        close(&reserved(&mut state, limit, START, 1), &[2.0]);
        let later = reserved(&mut state, limit, START, 3);
        assert!(later.iter().all(|at| *at >= 2.0), "{later:?}");
    }

    #[test]
    fn a_rejection_halves_the_rate_once_and_it_recovers() {
        let (mut state, limit) = (State::default(), allowance(100.0, 1));
        let now = START;
        state.apply(Change::SlowDown(Duration::from_millis(10)), limit, now);
        assert!((state.rate(limit, now) - 48.5).abs() < 1e-9);
        state.apply(Change::SlowDown(Duration::from_millis(20)), limit, now + SECOND / 100);
        assert!((state.rate(limit, now) - 48.5).abs() < 1e-9, "sent before it was lowered");
        state.apply(Change::SlowDown(Duration::ZERO), limit, now + SECOND);
        assert!(state.rate(limit, now + SECOND) < 30.0);
        assert!((state.rate(limit, now + 60 * SECOND) - 97.0).abs() < 1e-9);
    }

    #[test]
    fn what_was_stored_before_the_machine_was_started_again_is_discarded() {
        let (mut state, limit) = (State::default(), allowance(10.0, 1));
        for _ in 0..100 {
            state.apply(Change::Reserve, limit, START);
        }
        assert_eq!(state.apply(Change::Reserve, limit, 5 * SECOND), 5 * SECOND);
        state.arrival = 5 * SECOND + 2 * AHEAD_MAX;
        assert_eq!(state.apply(Change::Reserve, limit, 6 * SECOND), 6 * SECOND);
    }

    #[test]
    fn what_is_used_is_counted_over_the_last_second() {
        let (mut state, limit) = (State::default(), allowance(10.0, 1));
        for tenth in 0..30 {
            state.apply(Change::Reserve, limit, START + tenth * SECOND * 2 / 10);
        }
        let end = START + 6 * SECOND;
        assert!((4.0..=6.0).contains(&state.used(end - SECOND / 10)), "{}", state.used(end));
        assert!(state.used(end + 2 * SECOND) < 0.01);
    }

    #[test]
    fn a_file_that_is_not_a_limit_is_not_read() {
        assert_eq!(State::decode(&[0; LENGTH], START), State::default());
        assert_eq!(State::decode(&[0xff; LENGTH], START), State::default());
    }

    fn change() -> impl Strategy<Value = Change> {
        prop_oneof![
            8 => Just(Change::Reserve),
            1 => (0_u64..3_000).prop_map(|ms| Change::Hold(Duration::from_millis(ms))),
            1 => (0_u64..3_000).prop_map(|ms| Change::SlowDown(Duration::from_millis(ms))),
        ]
    }

    proptest! {
        #[test]
        fn no_second_has_more_than_the_rate_and_the_burst(
            rate in 0.5_f64..200.0, burst in 1_u32..20,
            steps in prop::collection::vec((change(), 0_u64..200), 1..400),
        ) {
            let (mut state, limit, mut now) = (State::default(), allowance(rate, burst), START);
            let mut sent = Vec::new();
            for (change, millis) in steps {
                let at = state.apply(change, limit, now);
                prop_assert!(at >= now);
                if matches!(change, Change::Reserve) {
                    prop_assert!(at >= state.held_until || state.held_until <= now);
                    sent.push(at);
                }
                prop_assert_eq!(State::decode(&state.encode(), now), state);
                now += millis * SECOND / 1_000;
            }
            sent.sort_unstable();
            for (index, first) in sent.iter().enumerate() {
                let within = sent[index..].iter().take_while(|at| **at - first < SECOND).count();
                prop_assert!(within as f64 <= rate + f64::from(burst), "{within}");
            }
        }

        #[test]
        fn whatever_a_file_contains_no_request_waits_longer_than_a_limit_can_make_it_wait(
            fields in prop::array::uniform9(prop_oneof![
                Just(0_u64), Just(START), Just(u64::MAX), 0_u64..2 * START, any::<u64>(),
                any::<f64>().prop_map(f64::to_bits),
            ]),
        ) {
            let fields = std::iter::once(FORMAT).chain(fields).flat_map(u64::to_le_bytes);
            let mut state = State::decode(&fields.collect::<Vec<u8>>(), START);
            let used = state.used(START);
            prop_assert!((0.0..=2.0 * COUNT_MAX as f64).contains(&used), "{used}");
            for _ in 0..3 {
                let at = state.apply(Change::Reserve, allowance(10.0, 3), START);
                prop_assert!((START..=START + AHEAD_MAX + 60 * SECOND).contains(&at), "{at}");
            }
        }
    }
}
