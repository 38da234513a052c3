//! `rate_limit`: requests a second for the whole client.

use std::{
    collections::BTreeSet,
    sync::{Mutex, PoisonError},
    time::Duration,
};

use tokio::time::Instant;

/// Hands out evenly spaced departure times.
#[derive(Debug)]
pub struct RateLimit(Option<Mutex<Schedule>>);

/// Places in time, none nearer to another than the interval.
#[derive(Debug)]
struct Schedule {
    interval: Duration,
    /// The earliest place that was never given out.
    next: Option<Instant>,
    /// Earlier places that were given up before their time.
    free: BTreeSet<Instant>,
}

impl Schedule {
    fn new(interval: Duration) -> Self {
        Schedule { interval, next: None, free: BTreeSet::new() }
    }

    /// The earliest free place that has not passed.
    fn take(&mut self, now: Instant) -> Instant {
        self.free = self.free.split_off(&now);
        if let Some(place) = self.free.pop_first() {
            return place;
        }
        let place = self.next.map_or(now, |next| next.max(now));
        self.next = Some(place + self.interval);
        place
    }

    /// Only that place becomes free: the others keep theirs, so that no two come closer together.
    fn give_back(&mut self, place: Instant) {
        self.free.insert(place);
    }
}

impl RateLimit {
    pub fn new(per_second: Option<f64>) -> Self {
        RateLimit(
            per_second.map(|rate| Mutex::new(Schedule::new(Duration::from_secs_f64(1.0 / rate)))),
        )
    }

    /// This request's turn, which has yet to come.
    pub fn reserve(&self) -> Reservation<'_> {
        let place = self.0.as_ref().map(|schedule| {
            let departure = lock(schedule).take(Instant::now());
            (schedule, departure)
        });
        Reservation(place)
    }
}

/// A place in the schedule. One that is given up before its time goes to the next who asks.
#[derive(Debug)]
pub struct Reservation<'a>(Option<(&'a Mutex<Schedule>, Instant)>);

impl Reservation<'_> {
    pub async fn come(mut self) {
        if let Some((_, departure)) = self.0 {
            tokio::time::sleep_until(departure).await;
            self.0 = None;
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        if let Some((schedule, departure)) = self.0 {
            lock(schedule).give_back(departure);
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

    fn waits(turns: &[Reservation<'_>]) -> Vec<Option<Duration>> {
        let departure = |turn: &Reservation<'_>| turn.0.map(|(_, departure)| departure);
        let first = turns.first().and_then(departure);
        turns.iter().map(|turn| Some(departure(turn)? - first?)).collect()
    }

    #[test]
    fn turns_are_evenly_spaced() {
        let limit = RateLimit::new(Some(10.0));
        let turns: Vec<Reservation<'_>> = (0..3).map(|_| limit.reserve()).collect();
        let expected: Vec<_> = [0, 100, 200].map(|ms| Some(Duration::from_millis(ms))).into();
        assert_eq!(waits(&turns), expected);
    }

    #[test]
    fn a_turn_that_is_given_up_goes_to_the_next() {
        let limit = RateLimit::new(Some(1.0));
        let first = limit.reserve();
        drop((limit.reserve(), limit.reserve(), limit.reserve()));
        assert_eq!(waits(&[first, limit.reserve()])[1], Some(Duration::from_secs(1)));
    }

    #[test]
    fn a_turn_in_the_middle_that_is_given_up_moves_no_other_turn() {
        let limit = RateLimit::new(Some(1.0));
        let mut turns: Vec<Reservation<'_>> = (0..4).map(|_| limit.reserve()).collect();
        drop(turns.remove(1));
        turns.extend([limit.reserve(), limit.reserve()]);
        let expected: Vec<_> = [0, 2, 3, 1, 4].map(|s| Some(Duration::from_secs(s))).into();
        assert_eq!(waits(&turns), expected);
    }

    #[test]
    fn without_a_limit_nobody_waits() {
        assert!(RateLimit::new(None).reserve().0.is_none());
    }

    /// What callers do: time passes, one asks for a turn, or one that waits gives up.
    #[derive(Debug, Clone)]
    enum Step {
        Pass(u64),
        Ask,
        GiveUp(prop::sample::Index),
    }

    fn step() -> impl Strategy<Value = Step> {
        prop_oneof![
            (0_u64..250).prop_map(Step::Pass),
            Just(Step::Ask),
            Just(Step::Ask),
            any::<prop::sample::Index>().prop_map(Step::GiveUp),
        ]
    }

    proptest! {
        #[test]
        fn departures_are_never_closer_than_the_interval_and_no_place_is_lost(
            steps in prop::collection::vec(step(), 1..300),
        ) {
            const INTERVAL: Duration = Duration::from_millis(50);
            let start = Instant::now();
            let (mut now, mut schedule) = (start, Schedule::new(INTERVAL));
            let (mut waiting, mut departed): (Vec<Instant>, Vec<Instant>) = Default::default();
            for step in steps {
                match step {
                    Step::Pass(millis) => {
                        now += Duration::from_millis(millis);
                        departed.extend(waiting.extract_if(.., |place| *place <= now));
                    }
                    Step::Ask => {
                        let place = schedule.take(now);
                        prop_assert!(place >= now);
                        // Never later than if all who wait stood in one row.
                        let last = departed.iter().max().map_or(now, |last| *last + INTERVAL);
                        let row = u32::try_from(waiting.len()).unwrap_or(u32::MAX);
                        // A place that passed while it was free is the one that may be missing.
                        let latest = last.max(now) + INTERVAL * (row + 1);
                        prop_assert!(place <= latest, "{:?}", place - latest);
                        waiting.push(place);
                    }
                    Step::GiveUp(index) if !waiting.is_empty() => {
                        schedule.give_back(waiting.swap_remove(index.index(waiting.len())));
                    }
                    Step::GiveUp(_) => {}
                }
            }
            departed.extend(waiting);
            departed.sort_unstable();
            for pair in departed.windows(2) {
                prop_assert!(pair[1] - pair[0] >= INTERVAL, "{:?}", pair[1] - pair[0]);
            }
        }
    }
}
