//! `rate_limit`: requests a second for the whole client.

use std::{
    collections::BTreeSet,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

use super::options::ClientRate;
use crate::{error::Result, shared_limit::SharedLimit};

/// When requests are sent.
#[derive(Debug)]
pub enum RateLimit {
    /// At once.
    None,
    /// At evenly spaced times of this client.
    Own(OwnRate),
    /// When all who share a limit agree.
    Shared(Arc<SharedLimit>),
}

/// Reserves evenly spaced times at which requests are sent.
#[derive(Debug)]
pub struct OwnRate(Mutex<Schedule>);

/// Reserved times, at least the interval apart.
#[derive(Debug)]
struct Schedule {
    interval: Duration,
    /// The earliest time that was never reserved.
    next: Option<Instant>,
    /// Earlier times whose reservations were dropped in time.
    free: BTreeSet<Instant>,
}

impl Schedule {
    fn new(interval: Duration) -> Self {
        Schedule { interval, next: None, free: BTreeSet::new() }
    }

    /// The earliest free time that has not passed.
    fn reserve(&mut self, now: Instant) -> Instant {
        self.free = self.free.split_off(&now);
        if let Some(send_at) = self.free.pop_first() {
            return send_at;
        }
        let send_at = self.next.map_or(now, |next| next.max(now));
        self.next = Some(send_at + self.interval);
        send_at
    }

    /// Frees that time only: the other reservations stay as they are, so that no two come closer
    /// together.
    fn release(&mut self, send_at: Instant) {
        self.free.insert(send_at);
    }
}

impl RateLimit {
    pub fn new(rate: Option<&ClientRate>) -> Self {
        match rate {
            None => RateLimit::None,
            Some(ClientRate::Own(rate)) => RateLimit::Own(OwnRate::new(*rate)),
            Some(ClientRate::Shared(limit)) => RateLimit::Shared(limit.clone()),
        }
    }

    /// Waits until a request may be sent.
    pub async fn wait(&self) -> Result<()> {
        match self {
            RateLimit::None => Ok(()),
            RateLimit::Own(rate) => {
                rate.reserve().wait().await;
                Ok(())
            }
            RateLimit::Shared(limit) => limit.wait().await,
        }
    }

    /// The limit that others share.
    pub fn shared(&self) -> Option<&SharedLimit> {
        match self {
            RateLimit::Shared(limit) => Some(limit),
            RateLimit::None | RateLimit::Own(_) => None,
        }
    }
}

impl OwnRate {
    fn new(rate: f64) -> Self {
        OwnRate(Mutex::new(Schedule::new(Duration::from_secs_f64(1.0 / rate))))
    }

    /// Reserves a time for a request.
    fn reserve(&self) -> Reservation<'_> {
        Reservation(Some((&self.0, lock(&self.0).reserve(Instant::now()))))
    }
}

/// A reserved time. If this is dropped before, the next caller gets it.
#[derive(Debug)]
struct Reservation<'a>(Option<(&'a Mutex<Schedule>, Instant)>);

impl Reservation<'_> {
    /// Waits for it.
    async fn wait(mut self) {
        if let Some((_, send_at)) = self.0 {
            // A timer of tokio takes up to a millisecond, even for a time that has already come.
            if send_at > Instant::now() {
                tokio::time::sleep_until(send_at).await;
            }
            self.0 = None;
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Some((schedule, send_at)) = self.0 {
            lock(schedule).release(send_at);
        }
    }
}

fn lock(schedule: &Mutex<Schedule>) -> std::sync::MutexGuard<'_, Schedule> {
    schedule.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn waits(reservations: &[Reservation<'_>]) -> Vec<Option<Duration>> {
        let send_at = |reservation: &Reservation<'_>| reservation.0.map(|(_, send_at)| send_at);
        let first = reservations.first().and_then(send_at);
        reservations.iter().map(|reservation| Some(send_at(reservation)? - first?)).collect()
    }

    #[test]
    fn reserved_times_are_evenly_spaced() {
        let limit = OwnRate::new(10.0);
        let reservations: Vec<Reservation<'_>> = (0..3).map(|_| limit.reserve()).collect();
        let expected: Vec<_> = [0, 100, 200].map(|ms| Some(Duration::from_millis(ms))).into();
        assert_eq!(waits(&reservations), expected);
    }

    #[test]
    fn a_time_that_has_come_is_not_waited_for() {
        let mut builder = tokio::runtime::Builder::new_current_thread();
        let runtime = builder.enable_time().start_paused(true).build().expect("a runtime");
        runtime.block_on(async {
            let start = Instant::now();
            OwnRate::new(1.0).reserve().wait().await;
            assert_eq!(start.elapsed(), Duration::ZERO);
        });
    }

    #[test]
    fn a_dropped_reservation_is_taken_by_the_next_caller() {
        let limit = OwnRate::new(1.0);
        let first = limit.reserve();
        drop((limit.reserve(), limit.reserve(), limit.reserve()));
        assert_eq!(waits(&[first, limit.reserve()])[1], Some(Duration::from_secs(1)));
    }

    #[test]
    fn a_dropped_reservation_does_not_move_the_others() {
        let limit = OwnRate::new(1.0);
        let mut reservations: Vec<Reservation<'_>> = (0..4).map(|_| limit.reserve()).collect();
        drop(reservations.remove(1));
        reservations.extend([limit.reserve(), limit.reserve()]);
        let expected: Vec<_> = [0, 2, 3, 1, 4].map(|s| Some(Duration::from_secs(s))).into();
        assert_eq!(waits(&reservations), expected);
    }

    /// What can happen: time passes, a request reserves a time, or one that waits is dropped.
    #[derive(Debug, Clone)]
    enum Step {
        Pass(u64),
        Reserve,
        Release(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0_u64..250).prop_map(Step::Pass),
            Just(Step::Reserve),
            Just(Step::Reserve),
            any::<prop::sample::Index>().prop_map(Step::Release),
        ]
    }

    proptest! {
        #[test]
        fn reserved_times_are_never_closer_than_the_interval_and_none_is_lost(
            steps in prop::collection::vec(step(), 1..300),
        ) {
            const INTERVAL: Duration = Duration::from_millis(50);
            let start = Instant::now();
            let (mut now, mut schedule) = (start, Schedule::new(INTERVAL));
            let (mut waiting, mut sent_at): (Vec<Instant>, Vec<Instant>) = Default::default();
            for step in steps {
                match step {
                    Step::Pass(millis) => {
                        now += Duration::from_millis(millis);
                        sent_at.extend(waiting.extract_if(.., |send_at| *send_at <= now));
                    }
                    Step::Reserve => {
                        let send_at = schedule.reserve(now);
                        prop_assert!(send_at >= now);
                        // Never later than at the end of the queue.
                        let last = sent_at.iter().max().map_or(now, |last| *last + INTERVAL);
                        let queued = u32::try_from(waiting.len()).unwrap_or(u32::MAX);
                        // One time may have passed while it was free.
                        let latest = last.max(now) + INTERVAL * (queued + 1);
                        prop_assert!(send_at <= latest, "{:?}", send_at - latest);
                        waiting.push(send_at);
                    }
                    Step::Release(index) if !waiting.is_empty() => {
                        schedule.release(waiting.swap_remove(index.index(waiting.len())));
                    }
                    Step::Release(_) => {}
                }
            }
            sent_at.extend(waiting);
            sent_at.sort_unstable();
            for pair in sent_at.windows(2) {
                prop_assert!(pair[1] - pair[0] >= INTERVAL, "{:?}", pair[1] - pair[0]);
            }
        }
    }
}
