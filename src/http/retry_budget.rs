//! The retry quota: a service that is down is not asked three times as often.

use std::sync::atomic::{AtomicU32, Ordering};

/// Failures pay for their retries from a purse that successes fill again, so that a few lost requests
/// are repeated and a total outage is not: a client then sends a hundred retries and no more. The
/// figures are those of the AWS SDKs' standard retry mode.
#[derive(Debug)]
pub struct RetryBudget(AtomicU32);

const CAPACITY: u32 = 500;
const RETRY_COST: u32 = 5;
const FIRST_TRY_REWARD: u32 = 1;

impl RetryBudget {
    pub fn new() -> Self {
        RetryBudget(AtomicU32::new(CAPACITY))
    }

    /// Pays for a retry, if there is enough for it.
    pub fn pay(&self) -> bool {
        let left = |held: u32| held.checked_sub(RETRY_COST);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }

    /// A call succeeded: after a retry its price comes back, else a little.
    pub fn succeeded(&self, retried: bool) {
        let reward = if retried { RETRY_COST } else { FIRST_TRY_REWARD };
        if self.0.load(Ordering::Relaxed) < CAPACITY {
            let more = |held: u32| Some((held + reward).min(CAPACITY));
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_is_met_with_a_hundred_retries() {
        let retry_budget = RetryBudget::new();
        assert_eq!((0..1_000).filter(|_| retry_budget.pay()).count(), 100);
    }

    #[test]
    fn a_retry_that_helps_costs_nothing() {
        let retry_budget = RetryBudget::new();
        for _ in 0..1_000 {
            assert!(retry_budget.pay());
            retry_budget.succeeded(true);
        }
    }

    #[test]
    fn successes_fill_the_purse_again_and_not_beyond_its_size() {
        let retry_budget = RetryBudget::new();
        while retry_budget.pay() {}
        (0..4).for_each(|_| retry_budget.succeeded(false));
        assert!(!retry_budget.pay());
        retry_budget.succeeded(false);
        assert!(retry_budget.pay());
        (0..10_000).for_each(|_| retry_budget.succeeded(false));
        assert_eq!((0..1_000).filter(|_| retry_budget.pay()).count(), 100);
    }
}
