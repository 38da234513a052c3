//! The adaptive throttle: rates learned from the service's rejections.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use crate::shared_limit::{Allowance, Change, State};

/// A few rejections are accidents. The throttle limits a path if more than this share of its last
/// requests were rejected: a moving average in which the latest request has this weight.
const REJECTED_SHARE_MAX: f64 = 0.25;
const LATEST_WEIGHT: f64 = 0.1;
/// Maximum number of paths: more than a service has. Custom requests may have any number of them.
const PATHS_MAX: usize = 1024;
/// A path has only the rates that rejections enforce.
const UNLIMITED: Allowance = Allowance { rate: f64::INFINITY, burst: 1 };

/// The rate of each path: unlimited until the service rejects too many requests, then half of the
/// rate before, and rising again while requests are accepted. Times are read from the boot clock.
#[derive(Debug, Default)]
pub struct AdaptiveThrottle(Mutex<HashMap<Box<str>, Path>>);

#[derive(Debug, Default)]
struct Path {
    limit: State,
    /// Share of rejections among the last requests.
    rejected_share: f64,
}

impl AdaptiveThrottle {
    /// Returns the time at which the next request of this path may be sent.
    pub fn send_at(&self, path: &str, now: u64) -> u64 {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = paths.get_mut(path) {
            return known.limit.apply(Change::Reserve, UNLIMITED, now);
        }
        if paths.len() >= PATHS_MAX {
            paths.clear();
        }
        let known = paths.entry(path.into()).or_default();
        known.limit.apply(Change::Reserve, UNLIMITED, now)
    }

    /// Notes that a request was accepted.
    pub fn accepted(&self, path: &str) {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = paths.get_mut(path) {
            known.rejected_share *= 1.0 - LATEST_WEIGHT;
        }
    }

    /// Notes that a request sent at this time was rejected because requests were too frequent.
    /// Returns the new rate if the rate is lowered.
    pub fn rejected(&self, path: &str, sent_at: u64, now: u64) -> Option<f64> {
        let mut paths = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Path { limit, rejected_share } = paths.get_mut(path)?;
        // Requests that were sent before the rate was lowered say nothing about the lowered rate.
        if limit.slowdown.is_some_and(|slowdown| sent_at < slowdown.since) {
            return None;
        }
        *rejected_share += LATEST_WEIGHT * (1.0 - *rejected_share);
        if *rejected_share < REJECTED_SHARE_MAX {
            return None;
        }
        *rejected_share = 0.0;
        let sent_ago = Duration::from_nanos(now.saturating_sub(sent_at));
        limit.apply(Change::SlowDown(sent_ago), UNLIMITED, now);
        Some(limit.rate(UNLIMITED, now))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: u64 = 1_000_000_000_000;

    fn nanos(seconds: f64) -> u64 {
        (seconds * 1e9) as u64
    }

    /// Simulates a service that accepts this many requests per second on a path, and a caller who
    /// wants more. Returns how many requests were accepted and rejected.
    fn simulate(
        throttle: &AdaptiveThrottle,
        start: u64,
        seconds: f64,
        allowed: f64,
        wanted: f64,
    ) -> (u32, u32) {
        let (mut now, mut tokens, mut accepted, mut rejected) = (start, allowed, 0, 0);
        while now < start + nanos(seconds) {
            let send_at = throttle.send_at("path", now);
            tokens = (tokens + (send_at - now) as f64 / 1e9 * allowed).min(allowed);
            now = send_at + nanos(1.0 / wanted);
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
    fn security_28_a_throttled_path_settles_near_the_limit_of_the_service() {
        let (throttle, start) = (AdaptiveThrottle::default(), START);
        simulate(&throttle, start, 10.0, 20.0, 500.0);
        let later = START + nanos(11.0);
        let (accepted, rejected) = simulate(&throttle, later, 60.0, 20.0, 500.0);
        assert!(accepted > 700, "of 1,200 that it would accept: {accepted}");
        assert!(rejected < accepted / 5, "{rejected} rejected, {accepted} accepted");
    }

    #[test]
    fn a_limit_is_removed_when_the_service_accepts_everything() {
        let (throttle, start) = (AdaptiveThrottle::default(), START);
        simulate(&throttle, start, 10.0, 20.0, 500.0);
        let later = START + nanos(11.0);
        simulate(&throttle, later, 40.0, 1e6, 500.0);
        let later = later + nanos(41.0);
        let (accepted, rejected) = simulate(&throttle, later, 2.0, 1e6, 500.0);
        assert!((999..=1_001).contains(&accepted), "{accepted} accepted");
        assert_eq!(rejected, 0);
    }

    #[test]
    fn other_paths_are_not_throttled() {
        let (throttle, now) = (AdaptiveThrottle::default(), START);
        simulate(&throttle, now, 10.0, 1.0, 500.0);
        let later = now + nanos(10.0);
        assert!(throttle.send_at("path", later) > later);
        assert_eq!(throttle.send_at("another", later), later);
    }

    #[test]
    fn occasional_rejections_change_nothing() {
        let (throttle, now) = (AdaptiveThrottle::default(), START);
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
        let (throttle, now) = (AdaptiveThrottle::default(), START);
        (0..64).for_each(|_| _ = throttle.send_at("path", now));
        let after = now + nanos(0.03);
        let lowered: Vec<_> =
            (0..64).filter_map(|_| throttle.rejected("path", now, after)).collect();
        assert_eq!(lowered, [32.0], "half of 64 in a second");
    }

    #[test]
    fn the_number_of_paths_is_limited() {
        let (throttle, now) = (AdaptiveThrottle::default(), START);
        for number in 0..10_000 {
            throttle.send_at(&number.to_string(), now);
        }
        assert!(throttle.0.lock().expect("no poison").len() <= PATHS_MAX);
    }
}
