//! `rate_limit`: requests a second for the whole client.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Hands out evenly spaced departure times.
#[derive(Debug)]
pub struct RateLimit {
    interval: Option<Duration>,
    next: Mutex<Option<Instant>>,
}

impl RateLimit {
    pub fn new(per_second: Option<f64>) -> Self {
        RateLimit {
            interval: per_second.map(|rate| Duration::from_secs_f64(1.0 / rate)),
            next: Mutex::new(None),
        }
    }

    /// Waits for this request's turn.
    pub async fn turn(&self) {
        let Some(interval) = self.interval else { return };
        let departure = {
            let now = Instant::now();
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let departure = next.map_or(now, |next| next.max(now));
            *next = Some(departure + interval);
            departure
        };
        tokio::time::sleep_until(departure).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn eleven_requests_at_ten_a_second_take_a_second() {
        let limit = RateLimit::new(Some(10.0));
        let start = Instant::now();
        for _ in 0..11 {
            limit.turn().await;
        }
        assert_eq!(start.elapsed().as_millis(), 1000);
    }
}
