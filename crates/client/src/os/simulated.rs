//! Clocks and randomness that requests depend on. A simulation replaces both, and nothing else: its
//! time is tokio's, which it pauses, and its randomness comes from a seed. `tests/simulation/` does
//! so.

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

/// The beginning of simulated time: seconds since 1970.
const EPOCH: Duration = Duration::from_secs(1_790_000_000);

/// Up to this, the error of a timer would be as long as the wait.
const SHORT_SLEEP: Duration = Duration::from_millis(2);

static SIMULATION: ArcSwapOption<Simulation> = ArcSwapOption::const_empty();

struct Simulation {
    start: Instant,
    random: AtomicU64,
}

/// Replaces the time from now on by that of the current runtime, which has paused it, and
/// randomness by that of the seed.
pub fn begin(seed: u64) {
    let simulation = Simulation { start: Instant::now(), random: AtomicU64::new(seed) };
    SIMULATION.store(Some(Arc::new(simulation)));
}

/// Returns true if this is a simulation: then everything runs on the current runtime.
pub fn is_on() -> bool {
    SIMULATION.load().is_some()
}

/// A moment of the clock that is never set.
pub fn instant() -> std::time::Instant {
    Instant::now().into_std()
}

/// The time of day.
pub fn since_1970() -> Duration {
    match &*SIMULATION.load() {
        Some(simulation) => EPOCH + simulation.start.elapsed(),
        None => SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default(),
    }
}

/// The simulated time since the machine was started; none outside of a simulation.
pub fn since_boot() -> Option<Duration> {
    SIMULATION.load().as_ref().map(|simulation| EPOCH + simulation.start.elapsed())
}

/// Waits this long. The timers of a runtime take up to two milliseconds more, so for a short wait a thread
/// sleeps.
pub async fn sleep(duration: Duration) {
    if is_on() || duration > SHORT_SLEEP {
        tokio::time::sleep(duration).await;
    } else if !duration.is_zero() {
        match threads::run_for(move || std::thread::sleep(duration)) {
            Ok(slept) => _ = slept.await,
            // Rather late than not at all.
            Err(_) => tokio::time::sleep(duration).await,
        }
    }
}

/// A random number from 0 to 1.
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
