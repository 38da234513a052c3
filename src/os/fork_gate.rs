//! Keeps a fork from happening while another thread is in the middle of certain code.
//!
//! The cryptographic library has locks of its own: an RSA key has one, and a list of blinding factors that
//! are in use. A child that is forked while another thread holds one finds it locked forever. So a fork
//! waits until no thread is inside, and threads wait for a fork. There is no lock of the system in this: the
//! child has to find the gate usable, whatever happened in its parent.

use std::{
    sync::atomic::{
        AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
    time::Duration,
};

/// The number of threads inside, and whether the gate is closed.
static STATE: AtomicUsize = AtomicUsize::new(0);
const CLOSED: usize = 1 << (usize::BITS - 1);
const INTERVAL: Duration = Duration::from_micros(50);

/// Runs what takes a lock that a forked child could find held, and takes milliseconds at most.
pub fn pass<T>(work: impl FnOnce() -> T) -> T {
    /// Leaves the gate when it is dropped, also if the work panics.
    struct Inside;

    impl Drop for Inside {
        fn drop(&mut self) {
            STATE.fetch_sub(1, Release);
        }
    }

    let enter = |state| if state & CLOSED == 0 { Some(state + 1) } else { None };
    while STATE.fetch_update(Acquire, Relaxed, enter).is_err() {
        thread::sleep(INTERVAL);
    }
    let _inside = Inside;
    work()
}

/// Closes the gate, and waits for the threads inside. The calling thread is about to fork, and is not inside.
#[cfg(any(all(unix, feature = "python"), test))]
pub fn close() {
    use std::time::Instant;

    /// A signature takes milliseconds. To fork beside one is better than never to fork.
    const TIMEOUT: Duration = Duration::from_secs(5);

    let deadline = Instant::now() + TIMEOUT;
    let shut = |state| if state & CLOSED == 0 { Some(state | CLOSED) } else { None };
    // Another thread may be forking.
    let mut closed = STATE.fetch_update(Acquire, Relaxed, shut).is_ok();
    while !closed && Instant::now() < deadline {
        thread::sleep(INTERVAL);
        closed = STATE.fetch_update(Acquire, Relaxed, shut).is_ok();
    }
    CLOSED_HERE.set(closed);
    while STATE.load(Acquire) != CLOSED && Instant::now() < deadline {
        thread::sleep(INTERVAL);
    }
}

/// Opens it again, in the process that forked.
#[cfg(any(all(unix, feature = "python"), test))]
pub fn open() {
    // Otherwise it is another thread, which is still forking, that closed it.
    if CLOSED_HERE.take() {
        STATE.fetch_and(!CLOSED, Release);
    }
}

#[cfg(any(all(unix, feature = "python"), test))]
thread_local! {
    static CLOSED_HERE: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

/// Opens it in a forked child, in which no other thread exists.
#[cfg(all(unix, feature = "python"))]
pub fn reset() {
    STATE.store(0, Release);
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicBool, Ordering::AcqRel};

    use super::*;

    #[test]
    fn nobody_is_inside_while_it_is_closed() {
        let (inside, ended) = (AtomicUsize::new(0), AtomicBool::new(false));
        thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    while !ended.load(Acquire) {
                        pass(|| {
                            inside.fetch_add(1, AcqRel);
                            thread::yield_now();
                            inside.fetch_sub(1, AcqRel);
                        });
                    }
                });
            }
            for _ in 0..200 {
                close();
                assert_eq!(inside.load(Acquire), 0);
                thread::yield_now();
                assert_eq!(inside.load(Acquire), 0);
                open();
            }
            ended.store(true, Release);
        });
        assert_eq!(pass(|| 5), 5);
    }
}
