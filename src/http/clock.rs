//! The service's clock as this client knows it.

use std::{
    sync::atomic::{AtomicI64, AtomicU64, Ordering},
    time::{SystemTime, UNIX_EPOCH},
};

/// The local clock and how far the service's is ahead of it.
#[derive(Debug, Default)]
pub struct Clock {
    offset_ms: AtomicI64,
    corrections: AtomicU64,
    /// Counts the tries at a correction, so that of many calls refused at once only one makes one.
    tries: AtomicU64,
}

impl Clock {
    /// Milliseconds since 1970 by the service's clock.
    pub fn now_ms(&self) -> i64 {
        local_ms().saturating_add(self.offset_ms.load(Ordering::Relaxed))
    }

    pub fn offset_ms(&self) -> i64 {
        self.offset_ms.load(Ordering::Relaxed)
    }

    pub fn corrections(&self) -> u64 {
        self.corrections.load(Ordering::Acquire)
    }

    pub fn tries(&self) -> u64 {
        self.tries.load(Ordering::Acquire)
    }

    /// Notes that a correction was tried, however it went.
    pub fn tried(&self) {
        self.tries.fetch_add(1, Ordering::Release);
    }

    /// Takes over the service's time, read between two local instants: their midpoint is when it
    /// was most likely taken.
    pub fn correct(&self, service_ms: i64, before_ms: i64, after_ms: i64) {
        let midpoint = before_ms + (after_ms - before_ms) / 2;
        self.offset_ms.store(service_ms.saturating_sub(midpoint), Ordering::Relaxed);
        self.corrections.fetch_add(1, Ordering::Release);
    }
}

/// Milliseconds since 1970 by the local clock.
pub fn local_ms() -> i64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .ok()
        .and_then(|since| i64::try_from(since.as_millis()).ok())
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_offset_is_taken_at_the_midpoint_of_the_round_trip() {
        let clock = Clock::default();
        clock.correct(10_000, 1_000, 3_000);
        assert_eq!(clock.offset_ms(), 8_000);
        assert_eq!(clock.corrections(), 1);
    }
}
