//! Learned limits: where the service says that requests come too often, they come less often.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// How far a rate is lowered by a refusal.
const LOWERING: f64 = 0.5;
/// The lowest rate: what is refused even then is not a matter of frequency.
const LOWEST_PER_SECOND: f64 = 0.5;
/// A lowered rate takes so long to come back to this share of the refused one, which was above the
/// limit.
const RECOVERY: Duration = Duration::from_secs(5);
const RECOVERED: f64 = 0.7;
/// Beyond that it doubles in this time, and at so many times the recovered rate it is let go.
const DOUBLING: Duration = Duration::from_secs(10);
const LET_GO: f64 = 4.0;
/// A few refusals are accidents; a limit shows when they are more than this share of the last
/// requests, each of which counts with this weight beside those before it.
const TOO_MANY: f64 = 0.25;
const MEMORY: f64 = 0.1;
/// Rates are measured over at least this time.
const WINDOW: Duration = Duration::from_millis(500);
/// More paths than a service has; callers of their own paths may have any number.
const PATHS_MAX: usize = 1024;

/// The pace of each path: free until the service refuses too many, then half as fast as it was, and
/// faster again as time goes by without that.
#[derive(Debug, Default)]
pub struct AdaptiveThrottle(Mutex<HashMap<Box<str>, Path>>);

#[derive(Debug)]
struct Path {
    measured: Measured,
    /// The share of refusals among the last requests.
    refused: f64,
    pace: Option<Pace>,
}

#[derive(Debug)]
struct Pace {
    since: Instant,
    /// What the rate was lowered to, and what it comes back to soon.
    low: f64,
    recovered: f64,
    next: Instant,
}

/// How many requests a second depart.
#[derive(Debug)]
struct Measured {
    window_start: Instant,
    count: u32,
    before: f64,
}

impl AdaptiveThrottle {
    /// When the next request of this path may depart.
    pub fn departure(&self, path: &str, now: Instant) -> Instant {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = paths.get_mut(path) else {
            if paths.len() >= PATHS_MAX {
                paths.clear();
            }
            paths.insert(path.into(), Path::new(now));
            return now;
        };
        let departure = known.departure(now);
        known.measured.count(departure);
        departure
    }

    pub fn accepted(&self, path: &str) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = paths.get_mut(path) {
            known.refused *= 1.0 - MEMORY;
        }
    }

    /// A request that departed then was refused for frequency. Gives the new rate where it is
    /// lowered.
    pub fn refused(&self, path: &str, departed: Instant, now: Instant) -> Option<f64> {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = paths.get_mut(path)?;
        // Those that were already on their way say nothing about the lowered rate.
        if known.pace.as_ref().is_some_and(|pace| departed < pace.since) {
            return None;
        }
        known.refused += MEMORY * (1.0 - known.refused);
        if known.refused < TOO_MANY {
            return None;
        }
        known.refused = 0.0;
        let measured = known.measured.per_second(now);
        let refused = known
            .pace
            .as_ref()
            .and_then(|pace| pace.rate(now))
            .map_or(measured, |r| r.min(measured));
        let low = (refused * LOWERING).max(LOWEST_PER_SECOND);
        let next = now + Duration::from_secs_f64(1.0 / low);
        let recovered = (refused * RECOVERED).max(low);
        known.pace = Some(Pace { since: now, low, recovered, next });
        Some(low)
    }
}

impl Path {
    fn new(now: Instant) -> Self {
        let measured = Measured { window_start: now, count: 1, before: 0.0 };
        Path { measured, refused: 0.0, pace: None }
    }

    fn departure(&mut self, now: Instant) -> Instant {
        let Some(pace) = &mut self.pace else { return now };
        let Some(rate) = pace.rate(now) else {
            self.pace = None;
            return now;
        };
        let departure = pace.next.max(now);
        pace.next = departure + Duration::from_secs_f64(1.0 / rate);
        departure
    }
}

impl Pace {
    /// The rate at that time; nothing once it is let go.
    fn rate(&self, now: Instant) -> Option<f64> {
        let passed = now.saturating_duration_since(self.since);
        if passed <= RECOVERY {
            let share = passed.as_secs_f64() / RECOVERY.as_secs_f64();
            return Some(self.low + (self.recovered - self.low) * share);
        }
        let doublings = (passed - RECOVERY).as_secs_f64() / DOUBLING.as_secs_f64();
        let times = doublings.exp2();
        (times < LET_GO).then_some(self.recovered * times)
    }
}

impl Measured {
    fn count(&mut self, departure: Instant) {
        let passed = departure.saturating_duration_since(self.window_start);
        if passed >= WINDOW {
            self.before = f64::from(self.count) / passed.as_secs_f64();
            (self.window_start, self.count) = (departure, 0);
        }
        self.count += 1;
    }

    fn per_second(&self, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(self.window_start).max(WINDOW);
        self.before.max(f64::from(self.count) / passed.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service that takes so many requests a second on a path, and a caller who wants more: how
    /// many it took and how many it refused.
    fn play(
        throttle: &AdaptiveThrottle,
        start: Instant,
        seconds: f64,
        allowed: f64,
        wanted: f64,
    ) -> (u32, u32) {
        let (mut now, mut tokens, mut taken, mut refused) = (start, allowed, 0, 0);
        while now < start + Duration::from_secs_f64(seconds) {
            let departure = throttle.departure("path", now);
            tokens = (tokens + (departure - now).as_secs_f64() * allowed).min(allowed);
            now = departure + Duration::from_secs_f64(1.0 / wanted);
            if tokens >= 1.0 {
                tokens -= 1.0;
                taken += 1;
                throttle.accepted("path");
            } else {
                refused += 1;
                throttle.refused("path", departure, now);
            }
            tokens = (tokens + allowed / wanted).min(allowed);
        }
        (taken, refused)
    }

    #[test]
    fn a_path_that_is_refused_settles_near_what_the_service_takes() {
        let (throttle, start) = (AdaptiveThrottle::default(), Instant::now());
        play(&throttle, start, 10.0, 20.0, 500.0);
        let (taken, refused) = play(&throttle, start + Duration::from_secs(11), 60.0, 20.0, 500.0);
        assert!(taken > 700, "of 1,200 that it would take: {taken}");
        assert!(refused < taken / 5, "{refused} refused beside {taken} taken");
    }

    #[test]
    fn a_limit_is_let_go_when_the_service_refuses_no_more() {
        let (throttle, start) = (AdaptiveThrottle::default(), Instant::now());
        play(&throttle, start, 10.0, 20.0, 500.0);
        let later = start + Duration::from_secs(11);
        play(&throttle, later, 40.0, 1e6, 500.0);
        let later = later + Duration::from_secs(41);
        let (taken, refused) = play(&throttle, later, 2.0, 1e6, 500.0);
        assert!((999..=1_001).contains(&taken) && refused == 0, "{taken} taken, {refused} refused");
    }

    #[test]
    fn other_paths_keep_their_pace() {
        let (throttle, now) = (AdaptiveThrottle::default(), Instant::now());
        play(&throttle, now, 10.0, 1.0, 500.0);
        let later = now + Duration::from_secs(10);
        assert!(throttle.departure("path", later) > later);
        assert_eq!(throttle.departure("another", later), later);
    }

    #[test]
    fn a_refusal_now_and_then_changes_nothing() {
        let (throttle, now) = (AdaptiveThrottle::default(), Instant::now());
        for _ in 0..100 {
            throttle.departure("path", now);
            assert_eq!(throttle.refused("path", now, now), None);
            for _ in 0..6 {
                throttle.departure("path", now);
                throttle.accepted("path");
            }
        }
        assert_eq!(throttle.departure("path", now), now);
    }

    #[test]
    fn those_that_were_refused_together_lower_the_rate_once() {
        let (throttle, now) = (AdaptiveThrottle::default(), Instant::now());
        (0..64).for_each(|_| _ = throttle.departure("path", now));
        let after = now + Duration::from_millis(30);
        let lowered: Vec<_> =
            (0..64).filter_map(|_| throttle.refused("path", now, after)).collect();
        assert_eq!(lowered, [64.0], "half of 64 in half a second");
    }

    #[test]
    fn paths_of_the_callers_own_take_no_memory_without_end() {
        let (throttle, now) = (AdaptiveThrottle::default(), Instant::now());
        for number in 0..10_000 {
            throttle.departure(&number.to_string(), now);
        }
        assert!(throttle.0.lock().expect("no poison").len() <= PATHS_MAX);
    }
}
