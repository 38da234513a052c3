//! A rate that the service's rejections have lowered, and that recovers.

use std::time::Duration;

/// The factor by which a rejection lowers the rate.
const DECREASE: f64 = 0.5;
/// The lowest rate: requests that are rejected even then are not rejected for their frequency.
const LOWEST_PER_SECOND: f64 = 0.5;
/// The time in which a lowered rate recovers to this share of the rejected one, which was above the
/// limit.
const RECOVERY: Duration = Duration::from_secs(5);
const RECOVERED: f64 = 0.7;
/// The time in which it doubles after that, until it is this many times the recovered rate and is
/// removed.
const DOUBLING: Duration = Duration::from_secs(10);
const REMOVED_AT: f64 = 4.0;

/// A rate that rejections have lowered, and that recovers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slowdown {
    /// The time when it was lowered, by the clock of the limit.
    pub since: u64,
    /// The rate that it was lowered to.
    pub low: f64,
    /// The rate that it recovers to.
    pub recovered: f64,
}

impl Slowdown {
    /// Below a rate that was rejected.
    pub fn below(rejected: f64, since: u64) -> Self {
        let low = (rejected * DECREASE).max(LOWEST_PER_SECOND);
        Slowdown { since, low, recovered: (rejected * RECOVERED).max(low) }
    }

    /// Returns true if these are rates that a rejection leads to.
    pub fn is_plausible(&self) -> bool {
        self.low >= LOWEST_PER_SECOND && self.recovered >= self.low && self.recovered.is_finite()
    }

    /// The rate after this time; none once it is no longer lowered.
    pub fn rate(&self, passed: Duration) -> Option<f64> {
        if passed <= RECOVERY {
            let share = passed.as_secs_f64() / RECOVERY.as_secs_f64();
            return Some(self.low + (self.recovered - self.low) * share);
        }
        let doublings = (passed - RECOVERY).as_secs_f64() / DOUBLING.as_secs_f64();
        let factor = doublings.exp2();
        (factor < REMOVED_AT).then_some(self.recovered * factor)
    }
}
