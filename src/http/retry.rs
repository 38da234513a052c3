//! Which requests are sent again, and after what time.

use std::time::Duration;

use super::Prepared;
use crate::error::{Delivery, Error, ErrorKind};

/// The longest `Retry-After` that a call waits for; beyond it the refusal is handed on.
pub const RETRY_AFTER_MAX: Duration = Duration::from_secs(60);
const BACKOFF_FIRST: Duration = Duration::from_millis(250);
const BACKOFF_MAX: Duration = Duration::from_secs(8);
/// How often a call is sent again at once because the service said that it had not processed it. A
/// service that keeps saying so is met with retries like any other failure.
const RESENDS_MAX: u32 = 8;

/// Whether the service said that it did not process the request: it may be sent again at once,
/// whatever it does, and this is no failure that retries are counted for.
pub fn may_resend(error: &Error, resends: u32) -> bool {
    resends < RESENDS_MAX
        && matches!(*error.kind, ErrorKind::Transport { sent: Delivery::Unprocessed, .. })
}

/// A request that may have been carried out is repeated only where that does no harm.
pub fn may_repeat(prepared: &Prepared, error: &Error) -> bool {
    match error.kind.as_ref() {
        ErrorKind::Transport { sent: Delivery::NotSent | Delivery::Unprocessed, .. } => true,
        _ => error.retryable() && prepared.idempotent,
    }
}

/// How long to wait before the next attempt; `None` where the service asks for too much.
pub fn wait_before_retry(error: &Error, retries: u32) -> Option<Duration> {
    match error.api_failure().and_then(|api_failure| api_failure.retry_after) {
        Some(asked) => (asked <= RETRY_AFTER_MAX).then_some(asked),
        None => Some(full_jitter(retries)),
    }
}

/// A random share of a wait that doubles: clients that failed together do not come back together.
fn full_jitter(retries: u32) -> Duration {
    let ceiling = BACKOFF_FIRST.saturating_mul(1 << retries.min(10)).min(BACKOFF_MAX);
    let share = getrandom::u32().map_or(0.5, |draw| f64::from(draw) / f64::from(u32::MAX));
    ceiling.mul_f64(share)
}
