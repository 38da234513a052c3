//! The time since the machine was started, which nobody sets and which continues while it is
//! suspended. All processes read the same clock.

use crate::os::simulated;

/// Nanoseconds since the machine was started.
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

/// Without such a clock in the standard library: the time of day. A time that was stored before the clock
/// was set back is discarded by its reader.
#[cfg(not(unix))]
fn of_machine() -> u64 {
    u64::try_from(simulated::since_1970().as_nanos()).unwrap_or(u64::MAX)
}
