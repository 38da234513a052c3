//! Clocks and randomness that requests depend on. A simulation, such as those in
//! `tests/simulation/`, replaces both, and nothing else: its time is tokio's, which it pauses, and
//! its randomness comes from a seed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use arc_swap::ArcSwapOption;
use tokio::time::Instant;

use super::threads;

/// Start of simulated time: seconds since 1970.
const EPOCH: Duration = Duration::from_secs(1_790_000_000);

/// Longest wait without a timer: the error of a timer would be as long as the wait.
const SHORT_SLEEP: Duration = Duration::from_millis(2);

static SIMULATION: ArcSwapOption<Simulation> = ArcSwapOption::const_empty();

struct Simulation {
    start: Instant,
    random: AtomicU64,
}

/// From now on, replaces the time by that of the current runtime, which has paused it, and
/// randomness by that of the seed.
pub fn begin(seed: u64) {
    let simulation = Simulation { start: Instant::now(), random: AtomicU64::new(seed) };
    SIMULATION.store(Some(Arc::new(simulation)));
}

/// Returns true in a simulation, in which everything runs on the current runtime.
pub fn is_on() -> bool {
    SIMULATION.load().is_some()
}

/// Returns the current instant of the clock that is never set.
pub fn instant() -> std::time::Instant {
    Instant::now().into_std()
}

/// Returns the time of day.
pub fn since_1970() -> Duration {
    match &*SIMULATION.load() {
        Some(simulation) => EPOCH + simulation.start.elapsed(),
        None => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
    }
}

/// Returns the simulated time since the machine was started; none outside of a simulation.
pub fn since_boot() -> Option<Duration> {
    SIMULATION.load().as_ref().map(|simulation| EPOCH + simulation.start.elapsed())
}

/// Waits this long. The timers of a runtime take up to two milliseconds longer, so a thread sleeps
/// for a short wait.
pub async fn sleep(duration: Duration) {
    if is_on() || duration > SHORT_SLEEP {
        tokio::time::sleep(duration).await;
    } else if !duration.is_zero() {
        match threads::run_for(move || std::thread::sleep(duration)) {
            Ok(slept) => _ = slept.await,
            // A late end is better than none.
            Err(_) => tokio::time::sleep(duration).await,
        }
    }
}

/// Returns a random number from 0 to 1.
pub fn random_share() -> f64 {
    match &*SIMULATION.load() {
        // SplitMix64.
        Some(simulation) => {
            let step = 0x9e37_79b9_7f4a_7c15;
            let drawn = simulation.random.fetch_add(step, Ordering::Relaxed).wrapping_add(step);
            let mixed = (drawn ^ (drawn >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
            let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
            ((mixed ^ (mixed >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
        }
        None => getrandom::u32().map_or(0.5, |draw| f64::from(draw) / f64::from(u32::MAX)),
    }
}
