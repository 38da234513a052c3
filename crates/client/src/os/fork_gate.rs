//! Keeps a fork from happening while another thread is in the middle of certain code.
//!
//! The cryptographic library has locks of its own: an RSA key has one for its list of blinding
//! factors in use. A child that is forked while another thread holds such a lock finds it locked
//! forever. A fork therefore waits until no thread is inside, and threads wait for a fork. The gate
//! uses no lock of the system: the child has to find it usable, whatever happened in its parent.

use std::{
    sync::atomic::{
        AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
    thread,
    time::Duration,
};

/// The gate of the cryptographic library.
pub static GATE: ForkGate = ForkGate::new();

/// Number of threads inside, with `CLOSED` while a thread is forking; and the thread that is.
#[derive(Debug, Default)]
pub struct ForkGate {
    state: AtomicUsize,
    forking: AtomicUsize,
}

const CLOSED: usize = 1 << (usize::BITS - 1);
const INTERVAL: Duration = Duration::from_micros(50);

/// Runs work that takes a lock which a forked child could find held. The work takes milliseconds at
/// most.
pub fn pass<T>(work: impl FnOnce() -> T) -> T {
    /// Leaves the gate when it is dropped, also if the work panics.
    struct Inside;

    impl Drop for Inside {
        fn drop(&mut self) {
            GATE.leave();
        }
    }

    GATE.enter();
    let _inside = Inside;
    work()
}

impl ForkGate {
    /// Creates an open gate.
    pub const fn new() -> Self {
        ForkGate { state: AtomicUsize::new(0), forking: AtomicUsize::new(0) }
    }

    /// Enters, unless another thread is forking.
    fn try_enter(&self) -> bool {
        let enter = |state| {
            // Code that the forking thread runs while the gate is closed does not wait for the
            // gate.
            let open = state & CLOSED == 0 || self.forking.load(Relaxed) == thread_address();
            if open { Some(state + 1) } else { None }
        };
        self.state.fetch_update(Acquire, Relaxed, enter).is_ok()
    }

    /// Enters when no other thread is forking.
    pub fn enter(&self) {
        while !self.try_enter() {
            thread::sleep(INTERVAL);
        }
    }

    /// Leaves the gate after `enter`.
    pub fn leave(&self) {
        self.state.fetch_sub(1, Release);
    }

    /// Closes the gate and waits for the threads inside, but at most for `timeout`: a fork beside a
    /// thread inside is better than no fork at all. The calling thread is about to fork, and is not
    /// inside.
    pub fn close(&self, timeout: Duration) {
        let deadline = std::time::Instant::now() + timeout;
        let shut = |state| if state & CLOSED == 0 { Some(state | CLOSED) } else { None };
        // Another thread may be forking.
        let mut closed = self.state.fetch_update(Acquire, Relaxed, shut).is_ok();
        while !closed && std::time::Instant::now() < deadline {
            thread::sleep(INTERVAL);
            closed = self.state.fetch_update(Acquire, Relaxed, shut).is_ok();
        }
        if closed {
            self.forking.store(thread_address(), Relaxed);
        }
        while self.state.load(Acquire) != CLOSED && std::time::Instant::now() < deadline {
            thread::sleep(INTERVAL);
        }
    }

    /// Opens the gate again, in the process that forked.
    pub fn open(&self) {
        // If the addresses differ, another thread closed the gate and is still forking.
        if self.forking.load(Relaxed) == thread_address() {
            self.forking.store(0, Relaxed);
            self.state.fetch_and(!CLOSED, Release);
        }
    }

    /// Opens the gate in a forked child, in which no other thread exists.
    pub fn reset(&self) {
        self.forking.store(0, Relaxed);
        self.state.store(0, Release);
    }
}

/// Identifies this thread by the address of a value that only this thread has.
fn thread_address() -> usize {
    thread_local!(static OWN: u8 = const { 0 });
    OWN.with(|own| std::ptr::from_ref(own).addr())
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
                GATE.close(Duration::from_secs(60));
                assert_eq!(inside.load(Acquire), 0);
                thread::yield_now();
                assert_eq!(inside.load(Acquire), 0);
                GATE.open();
            }
            ended.store(true, Release);
        });
        assert_eq!(pass(|| 5), 5);
    }
}
