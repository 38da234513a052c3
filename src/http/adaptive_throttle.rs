//! The adaptive throttle: rates that are learned from the service's rejections.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use crate::shared_limit::Slowdown;

/// A few rejections are accidents. There is a limit if they are more than this share of the last
/// requests: a moving average in which the latest request has this weight.
const REJECTED_SHARE_MAX: f64 = 0.25;
const LATEST_WEIGHT: f64 = 0.1;
/// Rates are measured over at least this time.
const WINDOW: Duration = Duration::from_millis(500);
/// More paths than a service has; custom requests may have any number of them.
const PATHS_MAX: usize = 1024;

/// The rate of each path: unlimited until the service rejects too many requests, then half of what it
/// was, and rising again while requests are accepted.
#[derive(Debug, Default)]
pub struct AdaptiveThrottle(Mutex<HashMap<Box<str>, Path>>);

#[derive(Debug)]
struct Path {
    measured: Measured,
    /// The share of rejections among the last requests.
    rejected_share: f64,
    limit: Option<Limit>,
}

#[derive(Debug)]
struct Limit {
    slowdown: Slowdown<Instant>,
    next: Instant,
}

/// The rate at which requests are sent.
#[derive(Debug)]
struct Measured {
    window_start: Instant,
    count: u32,
    previous_rate: f64,
}

impl AdaptiveThrottle {
    /// When the next request of this path may be sent.
    pub fn send_at(&self, path: &str, now: Instant) -> Instant {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = paths.get_mut(path) else {
            if paths.len() >= PATHS_MAX {
                paths.clear();
            }
            paths.insert(path.into(), Path::new(now));
            return now;
        };
        let send_at = known.send_at(now);
        known.measured.count(send_at);
        send_at
    }

    /// A request was accepted.
    pub fn accepted(&self, path: &str) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = paths.get_mut(path) {
            known.rejected_share *= 1.0 - LATEST_WEIGHT;
        }
    }

    /// A request that was sent at this time was rejected for its frequency. Returns the new rate if it
    /// is lowered.
    pub fn rejected(&self, path: &str, sent_at: Instant, now: Instant) -> Option<f64> {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let known = paths.get_mut(path)?;
        // Requests that were sent before the rate was lowered say nothing about the lowered rate.
        if known.limit.as_ref().is_some_and(|limit| sent_at < limit.slowdown.since) {
            return None;
        }
        known.rejected_share += LATEST_WEIGHT * (1.0 - known.rejected_share);
        if known.rejected_share < REJECTED_SHARE_MAX {
            return None;
        }
        known.rejected_share = 0.0;
        let measured = known.measured.per_second(now);
        let rejected = known
            .limit
            .as_ref()
            .and_then(|limit| limit.rate(now))
            .map_or(measured, |rate| rate.min(measured));
        let slowdown = Slowdown::below(rejected, now);
        let next = now + Duration::from_secs_f64(1.0 / slowdown.low);
        known.limit = Some(Limit { slowdown, next });
        Some(slowdown.low)
    }
}

impl Path {
    fn new(now: Instant) -> Self {
        let measured = Measured { window_start: now, count: 1, previous_rate: 0.0 };
        Path { measured, rejected_share: 0.0, limit: None }
    }

    fn send_at(&mut self, now: Instant) -> Instant {
        let Some(limit) = &mut self.limit else { return now };
        let Some(rate) = limit.rate(now) else {
            self.limit = None;
            return now;
        };
        let send_at = limit.next.max(now);
        limit.next = send_at + Duration::from_secs_f64(1.0 / rate);
        send_at
    }
}

impl Limit {
    /// The rate at that time; none once it is removed.
    fn rate(&self, now: Instant) -> Option<f64> {
        self.slowdown.rate(now.saturating_duration_since(self.slowdown.since))
    }
}

impl Measured {
    fn count(&mut self, send_at: Instant) {
        let passed = send_at.saturating_duration_since(self.window_start);
        if passed >= WINDOW {
            self.previous_rate = f64::from(self.count) / passed.as_secs_f64();
            (self.window_start, self.count) = (send_at, 0);
        }
        self.count += 1;
    }

    fn per_second(&self, now: Instant) -> f64 {
        let passed = now.saturating_duration_since(self.window_start).max(WINDOW);
        self.previous_rate.max(f64::from(self.count) / passed.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A service that accepts so many requests per second on a path, and a caller who wants more: how
    /// many were accepted and rejected.
    fn simulate(
        throttle: &AdaptiveThrottle,
        start: Instant,
        seconds: f64,
        allowed: f64,
        wanted: f64,
    ) -> (u32, u32) {
        let (mut now, mut tokens, mut accepted, mut rejected) = (start, allowed, 0, 0);
        while now < start + Duration::from_secs_f64(seconds) {
            let send_at = throttle.send_at("path", now);
            tokens = (tokens + (send_at - now).as_secs_f64() * allowed).min(allowed);
            now = send_at + Duration::from_secs_f64(1.0 / wanted);
            if tokens >= 1.0 {
                tokens -= 1.0;
                accepted += 1;
                throttle.accepted("path");
            } else {
                rejected += 1;
                throttle.rejected("path", send_at, now);
            }
            tokens = (tokens + allowed / wanted).min(allowed);
        }
        (accepted, rejected)
    }

    #[test]
    fn a_throttled_path_settles_near_the_limit_of_the_service() {
        let (throttle, start) = (AdaptiveThrottle::default(), Instant::now());
        simulate(&throttle, start, 10.0, 20.0, 500.0);
        let later = start + Duration::from_secs(11);
        let (accepted, rejected) = simulate(&throttle, later, 60.0, 20.0, 500.0);
        assert!(accepted > 700, "of 1,200 that it would accept: {accepted}");
        assert!(rejected < accepted / 5, "{rejected} rejected, {accepted} accepted");
    }

    #[test]
    fn a_limit_is_removed_when_the_service_accepts_everything() {
        let (throttle, start) = (AdaptiveThrottle::default(), Instant::now());
        simulate(&throttle, start, 10.0, 20.0, 500.0);
        let later = start + Duration::from_secs(11);
        simulate(&throttle, later, 40.0, 1e6, 500.0);
        let later = later + Duration::from_secs(41);
        let (accepted, rejected) = simulate(&throttle, later, 2.0, 1e6, 500.0);
        assert!((999..=1_001).contains(&accepted), "{accepted} accepted");
        assert_eq!(rejected, 0);
    }

    #[test]
    fn other_paths_are_not_throttled() {
        let (throttle, now) = (AdaptiveThrottle::default(), Instant::now());
        simulate(&throttle, now, 10.0, 1.0, 500.0);
        let later = now + Duration::from_secs(10);
        assert!(throttle.send_at("path", later) > later);
        assert_eq!(throttle.send_at("another", later), later);
    }

    #[test]
    fn occasional_rejections_change_nothing() {
        let (throttle, now) = (AdaptiveThrottle::default(), Instant::now());
        for _ in 0..100 {
            throttle.send_at("path", now);
            assert_eq!(throttle.rejected("path", now, now), None);
            for _ in 0..6 {
                throttle.send_at("path", now);
                throttle.accepted("path");
            }
        }
        assert_eq!(throttle.send_at("path", now), now);
    }

    #[test]
    fn concurrent_rejections_lower_the_rate_once() {
        let (throttle, now) = (AdaptiveThrottle::default(), Instant::now());
        (0..64).for_each(|_| _ = throttle.send_at("path", now));
        let after = now + Duration::from_millis(30);
        let lowered: Vec<_> =
            (0..64).filter_map(|_| throttle.rejected("path", now, after)).collect();
        assert_eq!(lowered, [64.0], "half of 64 in half a second");
    }

    #[test]
    fn the_number_of_paths_is_limited() {
        let (throttle, now) = (AdaptiveThrottle::default(), Instant::now());
        for number in 0..10_000 {
            throttle.send_at(&number.to_string(), now);
        }
        assert!(throttle.0.lock().expect("no poison").len() <= PATHS_MAX);
    }
}
