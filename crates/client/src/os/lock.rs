//! File locks of the operating system, which releases them when a process dies.

use std::{
    fs::{self, File, TryLockError},
    io,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use super::atomic_file;
use crate::error::{Refused, Resource};

const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// An exclusive lock on an open file, held until it is dropped.
#[derive(Debug)]
pub struct FileLock(#[expect(dead_code, reason = "locked as long as it is open")] File);

impl FileLock {
    /// Waits for the lock; `None` if another process still holds it after `max_wait`.
    /// `is_interrupted` is called between two attempts, and ends the wait by returning true.
    pub fn wait(
        file: File,
        max_wait: Duration,
        mut is_interrupted: impl FnMut() -> bool,
    ) -> io::Result<Option<Self>> {
        let deadline = Instant::now() + max_wait;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(FileLock(file))),
                Err(TryLockError::WouldBlock) if Instant::now() < deadline => {
                    if is_interrupted() {
                        return Err(io::ErrorKind::Interrupted.into());
                    }
                    std::thread::sleep(POLL_INTERVAL);
                }
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(no_locks(error)),
            }
        }
    }
}

/// Returns the error for a file that cannot be locked.
pub fn no_locks(error: io::Error) -> io::Error {
    Refused::io_error(Resource::Locks, "its file system refuses file locks", error)
}

/// A locked file that exists for its lock alone.
#[derive(Debug)]
pub struct LockFile {
    path: PathBuf,
    file: File,
}

impl LockFile {
    /// Creates and locks the file; `None` if it is already locked, even by another part of this
    /// process.
    pub fn acquire(path: &Path) -> io::Result<Option<Self>> {
        loop {
            let lock = LockFile { path: path.to_owned(), file: open(path)? };
            match lock.file.try_lock() {
                Ok(()) if lock.is_current() => return Ok(Some(lock)),
                // The last holder of the lock has just removed the file.
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(no_locks(error)),
            }
        }
    }

    /// Returns true if the file is still at its path, so that nobody else can have its lock.
    pub fn is_current(&self) -> bool {
        is_at(&self.file, &self.path)
    }

    /// Removes the file, where others cannot have opened it for their lock, and releases the lock.
    pub fn release(self) {
        #[cfg(unix)]
        if self.is_current() {
            #[expect(clippy::disallowed_methods, reason = "nobody waits for it")]
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// Returns true if this open file is the one at the path. Windows does not replace an open file.
pub fn is_at(file: &File, path: &Path) -> bool {
    #[cfg(unix)]
    let id = |metadata: fs::Metadata| {
        use std::os::unix::fs::MetadataExt;
        (metadata.dev(), metadata.ino())
    };
    #[cfg(not(unix))]
    let id = |metadata: fs::Metadata| metadata.is_file();
    let (here, there) = (file.metadata().map(id), fs::symlink_metadata(path).map(id));
    matches!((here, there), (Ok(here), Ok(there)) if here == there)
}

/// Opens the file. Anything other than a regular file is an error.
fn open(path: &Path) -> io::Result<File> {
    let mut options = atomic_file::options(0o666);
    let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
    if file.metadata()?.is_file() {
        return Ok(file);
    }
    Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_is_held_is_waited_for_with_a_limit() {
        let folder = std::env::temp_dir().join(format!("boardlot-lock-{}", std::process::id()));
        std::fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("lock");
        let wait = |millis| {
            FileLock::wait(open(&path).expect("a file"), Duration::from_millis(millis), || false)
        };
        let held = wait(0).expect("a lock");
        assert!(held.is_some() && wait(30).expect("a wait").is_none());
        drop(held);
        assert!(wait(0).expect("a lock").is_some());
        std::fs::remove_dir_all(&folder).expect("a folder");
    }
}
