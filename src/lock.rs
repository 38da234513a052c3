//! File locks of the operating system, which releases them when a process dies.

use std::{
    fs::{File, TryLockError},
    io,
    time::{Duration, Instant},
};

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// An exclusive lock on an open file, held until it is dropped.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "locked as long as it is open")] File);

impl FileLock {
    /// Waits for the lock; `None` if another process still holds it after `max_wait`.
    /// `interrupt_check` is called between two attempts, and its error ends the wait.
    pub fn wait<E: From<io::Error>>(
        file: File,
        max_wait: Duration,
        mut interrupt_check: impl FnMut() -> Result<(), E>,
    ) -> Result<Option<Self>, E> {
        let deadline = Instant::now() + max_wait;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(FileLock(file))),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    interrupt_check()?;
                    std::thread::sleep(POLL_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
        }
    }
}
