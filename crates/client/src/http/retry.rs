//! Decides which requests are sent again, and when. The error itself tells if another attempt may
//! succeed.

use std::time::Duration;

use tokio::time::Instant;

use super::{Request, TransportOptions, retry_budget::RetryBudget};
use crate::{
    error::{Delivery, Error, ErrorKind},
    os::simulated::random_share,
};

/// The longest `Retry-After` that a call waits for. If it is longer, the error is returned.
const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
const BACKOFF_FIRST: Duration = Duration::from_millis(250);
const BACKOFF_MAX: Duration = Duration::from_secs(8);
/// Number of times that a call is sent again because the service said that it had not processed it:
/// while no other call succeeds, and in all. After that, such a failure counts as any other. A
/// connection that accepts 20 requests out of 64 turns some of them down again and again.
const RESENDS_IN_A_ROW: u32 = 8;
const RESENDS_MAX: u32 = 64;
/// The longest wait before the first resend.
const RESEND_WAIT: Duration = Duration::from_millis(1);

/// The retries of one call.
#[derive(Debug)]
pub struct Retries<'a> {
    options: &'a TransportOptions,
    budget: &'a RetryBudget,
    started: Instant,
    retries: u32,
    resends: u32,
    /// The resends since another call has succeeded, and the budget's count of successes at that
    /// time.
    in_a_row: (u32, u32),
}

/// The reaction to a failure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decision {
    /// Send it again after this time.
    Retry(Duration),
    /// Return the error although the request could be sent again: earlier retries used up the
    /// budget.
    BudgetExhausted,
    /// Return the error.
    Fail,
}

/// Returns the longest time that a call takes: all its attempts, the waits between them, and the
/// same time again for waiting before they are sent.
pub fn total_deadline(options: &TransportOptions) -> Duration {
    let attempts = options.timeout.saturating_mul(options.max_retries + 1);
    let waits = if options.max_retries > 0 { RETRY_AFTER_MAX } else { Duration::ZERO };
    attempts.saturating_mul(2) + waits
}

impl<'a> Retries<'a> {
    /// Creates the retries of a call that starts now.
    pub fn new(options: &'a TransportOptions, budget: &'a RetryBudget) -> Self {
        Retries {
            options,
            budget,
            started: Instant::now(),
            retries: 0,
            resends: 0,
            in_a_row: (0, 0),
        }
    }

    /// Returns the wait before a request is sent again because the service said that it did not
    /// process it, idempotent or not. This does not count as a retry.
    pub fn resend(&mut self, error: &Error) -> Option<Duration> {
        let unprocessed =
            matches!(*error.kind, ErrorKind::Transport { sent: Delivery::Unprocessed, .. });
        let successes = self.budget.successes();
        if self.in_a_row.1 != successes {
            self.in_a_row = (0, successes);
        }
        if !unprocessed || self.in_a_row.0 >= RESENDS_IN_A_ROW || self.resends >= RESENDS_MAX {
            return None;
        }
        self.in_a_row.0 += 1;
        self.resends += 1;
        Some(backoff(RESEND_WAIT, self.resends.min(9) - 1))
    }

    /// Decides what to do after a failure, and takes the cost of a retry from the budget.
    pub fn retry(&mut self, request: &Request, error: &Error) -> Decision {
        if self.retries >= self.options.max_retries || !may_repeat(request, error) {
            return Decision::Fail;
        }
        match wait_before_retry(error, self.retries) {
            Some(wait) if self.started.elapsed() + wait <= total_deadline(self.options) => {
                if !self.budget.withdraw() {
                    return Decision::BudgetExhausted;
                }
                self.retries += 1;
                Decision::Retry(wait)
            }
            _ => Decision::Fail,
        }
    }

    /// Notes that the call succeeded.
    pub fn succeeded(&self) {
        self.budget.succeeded(self.retries > 0);
    }
}

/// Returns true if the request may be repeated. One that may have been processed is repeated only
/// if that does no harm.
fn may_repeat(request: &Request, error: &Error) -> bool {
    match error.kind.as_ref() {
        ErrorKind::Transport { sent: Delivery::NotSent | Delivery::Unprocessed, .. } => true,
        _ => error.retryable() && request.idempotent,
    }
}

/// Returns the time to wait before the next attempt; none if the service asks for too long a wait.
fn wait_before_retry(error: &Error, retries: u32) -> Option<Duration> {
    match error.api_failure().and_then(|api_failure| api_failure.retry_after) {
        // Jitter is added: all clients that were rejected together would otherwise return together.
        Some(retry_after) => {
            (retry_after <= RETRY_AFTER_MAX).then(|| retry_after + backoff(BACKOFF_FIRST, retries))
        }
        None => Some(backoff(BACKOFF_FIRST, retries)),
    }
}

/// Returns how long nothing is to be sent, by the `Retry-After` of a rejection: no longer than a
/// call waits.
pub fn retry_after(error: &Error) -> Option<Duration> {
    let asked = error.api_failure().and_then(|api_failure| api_failure.retry_after);
    asked.map(|wait| wait.min(RETRY_AFTER_MAX))
}

/// Exponential backoff with full jitter: clients that failed together do not retry together.
fn backoff(first: Duration, retries: u32) -> Duration {
    let ceiling = first.saturating_mul(1 << retries.min(10)).min(BACKOFF_MAX);
    ceiling.mul_f64(random_share())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn security_28_waits_are_spread_evenly_from_nothing_to_a_limit_that_doubles() {
        let error = Error::aborted(&"busy");
        for (retries, limit) in [(0, 250), (1, 500), (4, 4_000), (9, 8_000)] {
            let quarter = Duration::from_millis(limit) / 4;
            let waits: Vec<_> =
                (0..4_000).filter_map(|_| wait_before_retry(&error, retries)).collect();
            for part in 0..4 {
                let range = quarter * part..quarter * (part + 1);
                let count = waits.iter().filter(|wait| range.contains(wait)).count();
                // 1,000 are expected, with a standard deviation of 27.
                assert!((700..1_300).contains(&count), "{retries}: {count} in {range:?}");
            }
        }
    }
}
