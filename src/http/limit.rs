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

    fn waits(turns: &[Turn<'_>]) -> Vec<Option<Duration>> {
        let first = turns.first().and_then(|turn| turn.departure);
        turns.iter().map(|turn| Some(turn.departure? - first?)).collect()
    }

    #[test]
    fn turns_are_evenly_spaced() {
        let limit = RateLimit::new(Some(10.0));
        let turns: Vec<Turn<'_>> = (0..3).map(|_| limit.turn()).collect();
        let expected: Vec<_> = [0, 100, 200].map(|ms| Some(Duration::from_millis(ms))).into();
        assert_eq!(waits(&turns), expected);
    }

    #[test]
    fn a_turn_that_is_given_up_goes_to_the_next() {
        let limit = RateLimit::new(Some(1.0));
        let first = limit.turn();
        drop((limit.turn(), limit.turn(), limit.turn()));
        assert_eq!(waits(&[first, limit.turn()])[1], Some(Duration::from_secs(1)));
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        assert!(RateLimit::new(None).turn().departure.is_none());
    }
}
