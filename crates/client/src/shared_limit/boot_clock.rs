//! The time since the machine was started. Nobody sets this clock, and it continues while the
//! machine is suspended. All processes read the same clock.

use crate::os::simulated;

/// Returns the nanoseconds since the machine was started.
pub fn now() -> u64 {
    match simulated::since_boot() {
        Some(since) => u64::try_from(since.as_nanos()).unwrap_or(u64::MAX),
        None => of_machine(),
    }
}

#[cfg(unix)]
fn of_machine() -> u64 {
    use rustix::time::{ClockId, clock_gettime};

    // On Linux, the monotonic clock stops while the machine is suspended; elsewhere it does not.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    const CLOCK: ClockId = ClockId::Monotonic;

    let time = clock_gettime(CLOCK);
    let (seconds, nanos) = (time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs());
    seconds.saturating_mul(1_000_000_000).saturating_add(nanos)
}

/// Uses the time of day, because the standard library has no such clock here. The reader discards a
/// time that was stored before the clock was set back.
#[cfg(not(unix))]
fn of_machine() -> u64 {
    u64::try_from(simulated::since_1970().as_nanos()).unwrap_or(u64::MAX)
}
