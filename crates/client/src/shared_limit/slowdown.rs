//! A rate that the service's rejections have lowered, and that recovers.

use std::time::Duration;

/// The factor by which a rejection lowers the rate.
const DECREASE: f64 = 0.5;
/// The lowest rate. Requests that are rejected even at this rate are rejected for another reason
/// than their frequency.
const LOWEST_PER_SECOND: f64 = 0.5;
/// Time that a lowered rate takes to recover to this share of the rejected one, which was above the
/// limit.
const RECOVERY: Duration = Duration::from_secs(5);
const RECOVERED: f64 = 0.7;
/// Time that the rate then takes to double, until it is this many times the recovered rate and is
/// removed.
const DOUBLING: Duration = Duration::from_secs(10);
const REMOVED_AT: f64 = 4.0;

/// A rate that rejections have lowered, and that recovers.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slowdown {
    /// Time when the rate was lowered, by the clock of the limit.
    pub since: u64,
    /// The rate after it was lowered.
    pub low: f64,
    /// The rate to which it recovers.
    pub recovered: f64,
}

impl Slowdown {
    /// Creates a rate below one that was rejected.
    pub fn below(rejected: f64, since: u64) -> Self {
        let low = (rejected * DECREASE).max(LOWEST_PER_SECOND);
        Slowdown { since, low, recovered: (rejected * RECOVERED).max(low) }
    }

    /// Returns true if a rejection can have led to these rates.
    pub fn is_plausible(&self) -> bool {
        self.low >= LOWEST_PER_SECOND && self.recovered >= self.low && self.recovered.is_finite()
    }

    /// Returns the rate after this time; none once it is no longer lowered.
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
