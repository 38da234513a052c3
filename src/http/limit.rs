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

    /// This request's turn, which has yet to come.
    pub fn turn(&self) -> Turn<'_> {
        let departure = self.interval.map(|interval| {
            let now = Instant::now();
            let mut next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
            let departure = next.map_or(now, |next| next.max(now));
            *next = Some(departure + interval);
            departure
        });
        Turn { limit: self, departure }
    }
}

/// A place in the queue. One that is given up before its time lets the others move up.
#[derive(Debug)]
pub struct Turn<'a> {
    limit: &'a RateLimit,
    departure: Option<Instant>,
}

impl Turn<'_> {
    pub async fn come(mut self) {
        if let Some(departure) = self.departure {
            tokio::time::sleep_until(departure).await;
            self.departure = None;
        }
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        if let (Some(_), Some(interval)) = (self.departure, self.limit.interval) {
            let mut next = self.limit.next.lock().unwrap_or_else(PoisonError::into_inner);
            *next = next.and_then(|next| next.checked_sub(interval));
        }
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
            limit.turn().come().await;
        }
        assert_eq!(start.elapsed().as_millis(), 1000);
    }

    #[tokio::test(start_paused = true)]
    async fn a_turn_that_is_given_up_goes_to_the_next() {
        let limit = RateLimit::new(Some(1.0));
        limit.turn().come().await;
        drop((limit.turn(), limit.turn(), limit.turn()));
        let start = Instant::now();
        limit.turn().come().await;
        assert_eq!(start.elapsed().as_millis(), 1000);
    }
}
