//! The waits of a call other than for the service. The error of the call's total deadline names
//! them.

use std::{
    future::Future,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// A reason for a call to wait before its requests are sent, in the order of `EXPLAINED`.
#[derive(Debug, Clone, Copy)]
pub enum WaitReason {
    Hooks,
    RateLimit,
    Connection,
    Throttle,
    Token,
}

/// The description of the wait for each reason, and the remedy.
const EXPLAINED: [(&str, &str); 5] = [
    ("in the hooks on_request and on_response", "make them return sooner"),
    ("waiting for rate_limit", "raise it, or call less often"),
    ("waiting for one of max_connections connections", "raise it, or make fewer concurrent calls"),
    ("waiting because the service throttles this path", "call it less often"),
    ("waiting for an access token", "check the token store and its locks"),
];

/// Time that one call has waited for each reason.
#[derive(Debug, Default)]
pub struct WaitTimes(Mutex<[Duration; EXPLAINED.len()]>);

/// Adds its lifetime to a total, even if the measured future is dropped before its end.
struct Timer<'a> {
    times: &'a WaitTimes,
    reason: WaitReason,
    since: Instant,
}

impl WaitTimes {
    /// Waits for a future, and adds the duration of the wait.
    pub async fn measure<T>(&self, reason: WaitReason, future: impl Future<Output = T>) -> T {
        let _timer = Timer { times: self, reason, since: Instant::now() };
        future.await
    }

    /// Returns how long a call has waited for this reason so far.
    pub fn spent(&self, reason: WaitReason) -> Duration {
        let spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        spent.get(reason as usize).copied().unwrap_or_default()
    }

    /// Returns the reason why a call did not end within its total deadline.
    pub fn timeout_message(&self, deadline: Duration) -> String {
        let total = deadline.as_secs_f64();
        let spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let longest = EXPLAINED.iter().zip(*spent).max_by_key(|(_, spent)| *spent);
        // A wait of less than a quarter of the deadline is not the cause.
        match longest.filter(|(_, spent)| *spent * 4 >= deadline) {
            Some(((cause, remedy), spent)) => {
                let spent = spent.as_secs_f64();
                format!(
                    "the call did not finish within {total:.1} s, of which {spent:.1} s were spent \
                     {cause}; {remedy}"
                )
            }
            None => format!(
                "the call did not finish within {total:.1} s: its attempts and the waits between them \
                 took that long"
            ),
        }
    }
}

impl Drop for Timer<'_> {
    fn drop(&mut self) {
        let spent = self.since.elapsed();
        let mut all = self.times.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(total) = all.get_mut(self.reason as usize) {
            *total += spent;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_longest_wait_is_named_even_if_its_future_was_dropped() {
        let times = WaitTimes::default();
        let pause = |millis| tokio::time::sleep(Duration::from_millis(millis));
        times.measure(WaitReason::RateLimit, pause(20)).await;
        // On a busy machine the wait may have been far longer.
        let limited = times.spent(WaitReason::RateLimit);
        let text = times.timeout_message(limited * 5);
        assert!(text.contains("took that long") && !text.contains("rate_limit"), "{text}");
        let hook = times.measure(WaitReason::Hooks, std::future::pending::<()>());
        assert!(tokio::time::timeout(limited * 2, hook).await.is_err());
        let text = times.timeout_message(times.spent(WaitReason::Hooks));
        assert!(text.contains("on_request") && !text.contains("rate_limit"), "{text}");
        assert!(times.timeout_message(Duration::from_secs(7_200)).contains("7200.0 s"));
    }
}
