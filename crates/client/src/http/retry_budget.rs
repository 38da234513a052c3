//! The retry budget: during an outage, retries do not triple the traffic.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// A token bucket: retries take from it and successes refill it. A few lost requests are repeated,
/// but not all requests of an outage, during which a client sends a hundred retries in total. The
/// figures are those of the AWS SDKs' standard retry mode.
#[derive(Debug)]
pub struct RetryBudget {
    tokens: AtomicU32,
    /// True if `failing_since` is set. A success checks only this flag.
    is_failing: AtomicBool,
    /// Time of the first failure after the last call that succeeded.
    failing_since: Mutex<Option<Instant>>,
    successes: AtomicU32,
}

/// The time without a success after which nothing is retried until a call succeeds. Otherwise the
/// retries of many clients, each with a budget of its own, would keep a recovered service
/// overloaded.
const OUTAGE: Duration = Duration::from_secs(10);

const CAPACITY: u32 = 500;
const RETRY_COST: u32 = 5;
const FIRST_TRY_REWARD: u32 = 1;

impl RetryBudget {
    pub fn new() -> Self {
        RetryBudget {
            tokens: AtomicU32::new(CAPACITY),
            is_failing: AtomicBool::new(false),
            failing_since: Mutex::new(None),
            successes: AtomicU32::new(0),
        }
    }

    /// Returns a number that each success changes.
    pub fn successes(&self) -> u32 {
        self.successes.load(Ordering::Relaxed)
    }

    fn is_outage(&self) -> bool {
        let now = Instant::now();
        let mut since = self.failing_since.lock().unwrap_or_else(PoisonError::into_inner);
        self.is_failing.store(true, Ordering::Relaxed);
        now.saturating_duration_since(*since.get_or_insert(now)) > OUTAGE
    }

    /// Takes the cost of a retry after a failure. Returns false if too little is left, or if
    /// everything fails.
    pub fn withdraw(&self) -> bool {
        if self.is_outage() {
            return false;
        }
        let left = |tokens: u32| tokens.checked_sub(RETRY_COST);
        self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, left).is_ok()
    }

    /// Notes that a call succeeded: the cost of its retry is refunded; without a retry, a little is
    /// added.
    pub fn succeeded(&self, retried: bool) {
        self.successes.fetch_add(1, Ordering::Relaxed);
        let reward = if retried { RETRY_COST } else { FIRST_TRY_REWARD };
        if self.is_failing.load(Ordering::Relaxed) {
            *self.failing_since.lock().unwrap_or_else(PoisonError::into_inner) = None;
            self.is_failing.store(false, Ordering::Relaxed);
        }
        if self.tokens.load(Ordering::Relaxed) < CAPACITY {
            let more = |tokens: u32| Some((tokens + reward).min(CAPACITY));
            let _ = self.tokens.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more);
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

    #[tokio::test(start_paused = true)]
    async fn nothing_is_retried_while_nothing_has_succeeded_for_ten_seconds() {
        let retry_budget = RetryBudget::new();
        assert!(retry_budget.withdraw());
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(retry_budget.withdraw());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert!(!retry_budget.withdraw());
        retry_budget.succeeded(false);
        assert!(retry_budget.withdraw());
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
