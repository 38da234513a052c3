//! What a call waits for besides the service, so that its total deadline names what took the time.

use std::{
    future::Future,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// What a call may wait for before its requests leave.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wait {
    Hooks,
    RateLimit,
    Connection,
    Throttle,
    Token,
}

const ALL: [Wait; 5] =
    [Wait::Hooks, Wait::RateLimit, Wait::Connection, Wait::Throttle, Wait::Token];

/// How long one call has waited for each.
#[derive(Debug, Default)]
pub struct Waits(Mutex<[Duration; ALL.len()]>);

/// Adds its lifetime, also if what it times is given up.
struct Timed<'a> {
    waits: &'a Waits,
    wait: Wait,
    since: Instant,
}

impl Waits {
    pub async fn during<T>(&self, wait: Wait, future: impl Future<Output = T>) -> T {
        let _timed = Timed { waits: self, wait, since: Instant::now() };
        future.await
    }

    /// Why a call did not end within its total deadline.
    pub fn blame(&self, deadline: Duration) -> String {
        let total = deadline.as_secs_f64();
        let spent = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let longest = ALL.into_iter().zip(*spent).max_by_key(|(_, spent)| *spent);
        match longest.filter(|(_, spent)| !spent.is_zero()) {
            Some((wait, spent)) => {
                let (cause, remedy) = wait.explained();
                let spent = spent.as_secs_f64();
                format!(
                    "the call did not end within {total:.1} s, of which {spent:.1} s went to \
                     {cause}; {remedy}"
                )
            }
            None => format!("the call did not end within {total:.1} s"),
        }
    }
}

impl Wait {
    const fn explained(self) -> (&'static str, &'static str) {
        match self {
            Wait::Hooks => ("the hooks on_request and on_response", "let them return sooner"),
            Wait::RateLimit => ("waiting for rate_limit", "raise it, or call less often"),
            Wait::Connection => (
                "waiting for one of max_connections connections",
                "raise it, or make fewer calls at once",
            ),
            Wait::Throttle => {
                ("the lower rate that the service has asked for on this path", "call it less often")
            }
            Wait::Token => ("waiting for an access token", "check the token store and its locks"),
        }
    }
}

impl Drop for Timed<'_> {
    fn drop(&mut self) {
        let spent = self.since.elapsed();
        let mut all = self.waits.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (wait, total) in ALL.into_iter().zip(all.iter_mut()) {
            if wait == self.wait {
                *total += spent;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_longest_wait_is_named_also_if_it_was_given_up() {
        let waits = Waits::default();
        assert_eq!(waits.blame(Duration::from_secs(2)), "the call did not end within 2.0 s");
        let pause = |millis| tokio::time::sleep(Duration::from_millis(millis));
        waits.during(Wait::RateLimit, pause(20)).await;
        let hook = waits.during(Wait::Hooks, pause(60_000));
        assert!(tokio::time::timeout(Duration::from_millis(80), hook).await.is_err());
        let text = waits.blame(Duration::from_secs(2));
        assert!(text.contains("on_request") && !text.contains("rate_limit"), "{text}");
    }
}
