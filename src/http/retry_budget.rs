//! The retry budget: during an outage, retries do not triple the traffic.

use std::sync::atomic::{AtomicU32, Ordering};

/// A token bucket: retries take from it and successes refill it, so that a few lost requests are
/// repeated but not those of an outage, during which a client sends a hundred retries in all. The
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

    /// Takes the cost of a retry; false if too little is left.
    pub fn withdraw(&self) -> bool {
        let left = |tokens: u32| tokens.checked_sub(RETRY_COST);
        self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }

    /// A call succeeded: the cost of its retry is refunded; without a retry a little is added.
    pub fn succeeded(&self, retried: bool) {
        let reward = if retried { RETRY_COST } else { FIRST_TRY_REWARD };
        if self.0.load(Ordering::Relaxed) < CAPACITY {
            let more = |tokens: u32| Some((tokens + reward).min(CAPACITY));
            let _ = self.0.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_outage_causes_a_hundred_retries() {
        let retry_budget = RetryBudget::new();
        assert_eq!((0..1_000).filter(|_| retry_budget.withdraw()).count(), 100);
    }

    #[test]
    fn a_successful_retry_costs_nothing() {
        let retry_budget = RetryBudget::new();
        for _ in 0..1_000 {
            assert!(retry_budget.withdraw());
            retry_budget.succeeded(true);
        }
    }

    #[test]
    fn successes_refill_the_budget_up_to_its_capacity() {
        let retry_budget = RetryBudget::new();
        while retry_budget.withdraw() {}
        (0..4).for_each(|_| retry_budget.succeeded(false));
        assert!(!retry_budget.withdraw());
        retry_budget.succeeded(false);
        assert!(retry_budget.withdraw());
        (0..10_000).for_each(|_| retry_budget.succeeded(false));
        assert_eq!((0..1_000).filter(|_| retry_budget.withdraw()).count(), 100);
    }
}
