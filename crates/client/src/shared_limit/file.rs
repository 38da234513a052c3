//! A limit that all processes of a user share: a small file, under a lock of the operating system,
//! which releases it when a process dies.

#[cfg(unix)]
use std::os::unix::fs::FileExt;
#[cfg(windows)]
use std::os::windows::fs::FileExt;
use std::{
    fs::{File, TryLockError},
    io,
    path::PathBuf,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicU64, Ordering::Relaxed},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{
    boot_clock,
    state::{Allowance, Change, LENGTH, State},
    storage::{Reserved, Storage},
};
use crate::{
    auth::store::{digest, open_private, replace_private},
    error::{Error, ErrorKind, Result},
    os::{
        lock::{is_at, no_locks},
        texts::state_folder,
    },
};

/// A process holds the lock for microseconds. A process that holds it for longer than this was
/// stopped.
const STOPPED_AFTER: Duration = Duration::from_millis(250);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// Time without the lock after which the file counts as unusable.
const GIVE_UP_AFTER: Duration = Duration::from_secs(30);
/// A request checks that the file is still at its path only if the last check is older than this,
/// in nanoseconds. The check costs as much as all other work, and a process replaces the file only
/// after its lock was held for much longer.
const RECHECK_AFTER: u64 = 10_000_000;

/// The file of a limit, in one process. A lock belongs to an open file, which a forked child would
/// share, so the child opens the file again.
#[derive(Debug)]
pub struct FileStorage {
    path: PathBuf,
    file: Mutex<Option<File>>,
    /// Time of the last check that the file is still at its path.
    checked_at: AtomicU64,
}

fn unusable(why: impl std::fmt::Display) -> Error {
    let error = ErrorKind::Store(format!("the shared rate limit cannot be used: {why}"));
    Error::from(error).with_advice(
        "Make the file readable and writable by your user alone, or pass another name.".to_owned(),
    )
}

/// Returns the error of a file that cannot be opened or written.
fn failed(error: &Error) -> Error {
    unusable(error).with_resource(error.resource)
}

/// Returns the path of the file of a limit, in the user's state folder.
pub fn path_of(name: &str) -> Result<PathBuf> {
    let folder = state_folder().map_err(|error| {
        Error::config(format!("a rate limit with a name needs a state folder: {error}"))
            .with_resource(error.resource)
    })?;
    Ok(folder.join("limits").join(digest(name)))
}

impl FileStorage {
    /// Uses the file at this path, which is created when it is needed.
    pub fn new(path: PathBuf) -> Self {
        FileStorage { path, file: Mutex::default(), checked_at: AtomicU64::new(0) }
    }

    /// Works with the open file. If the work returns `None`, the next call opens the file by its
    /// path again.
    fn with_file<T>(&self, work: impl FnOnce(&File) -> io::Result<Option<T>>) -> Result<Option<T>> {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        let opened = match file.take() {
            Some(opened) => opened,
            None => open_private(&self.path).map_err(|error| failed(&error))?,
        };
        let outcome = work(&opened).map_err(|error| {
            unusable(format!("{}: {error}", self.path.display())).caused_by(&error)
        })?;
        *file = outcome.is_some().then_some(opened);
        Ok(outcome)
    }

    /// Makes a change; none while another process or thread holds the lock, or if another file has
    /// just replaced this one.
    fn try_change(&self, change: Change, allowance: Allowance) -> Result<Option<Reserved>> {
        self.with_file(|file| {
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => return Ok(None),
                Err(TryLockError::Error(error)) => return Err(no_locks(error)),
            }
            // Other processes lock the file that is at the path.
            let unchecked_for = boot_clock::now().abs_diff(self.checked_at.load(Relaxed));
            let is_request = matches!(change, Change::Reserve);
            let is_current = (is_request && unchecked_for < RECHECK_AFTER) || self.is_current(file);
            let reserved = is_current.then(|| change_locked(file, change, allowance)).transpose();
            file.unlock()?;
            reserved
        })
    }

    async fn change(&self, change: Change, allowance: Allowance) -> Result<Reserved> {
        let give_up_at = Instant::now() + GIVE_UP_AFTER;
        let mut stopped_at = Instant::now() + STOPPED_AFTER;
        loop {
            if let Some(reserved) = self.try_change(change, allowance)? {
                return Ok(reserved);
            }
            let now = Instant::now();
            if now >= give_up_at {
                let path = self.path.display();
                return Err(unusable(format!("{path}: another process holds its lock")));
            }
            if now >= stopped_at {
                self.replace()?;
                stopped_at = now + STOPPED_AFTER;
            }
            tokio::time::sleep(POLL_INTERVAL).await;
        }
    }

    /// Replaces this file, whose lock is held by a process that was stopped. When that process
    /// resumes, its request is late, and it reserves another time in the new file.
    fn replace(&self) -> Result<()> {
        let turn =
            open_private(&self.path.with_extension("replace")).map_err(|error| failed(&error))?;
        match turn.try_lock() {
            Ok(()) => {}
            // Another process is replacing it.
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => {
                let error = no_locks(error);
                return Err(unusable(&error).caused_by(&error));
            }
        }
        if let Some(state) = self.read()? {
            replace_private(&self.path, &state.encode()).map_err(|error| failed(&error))?;
            self.checked_at.store(0, Relaxed);
        }
        Ok(())
    }

    /// Reads the state; `None` if this file was replaced or removed: the next attempt opens the
    /// file at the path. A reader needs no lock, because the state is written by a single call.
    fn read(&self) -> Result<Option<State>> {
        let read = |file: &File| read_state(file, boot_clock::now());
        self.with_file(|file| self.is_current(file).then(|| read(file)).transpose())
    }

    /// Returns true if this file is still at the path. It may have been replaced or removed.
    fn is_current(&self, file: &File) -> bool {
        self.checked_at.store(boot_clock::now(), Relaxed);
        is_at(file, &self.path)
    }
}

fn change_locked(file: &File, change: Change, allowance: Allowance) -> io::Result<Reserved> {
    let now = boot_clock::now();
    let mut state = read_state(file, now)?;
    let send_at = state.apply(change, allowance, now);
    #[cfg(unix)]
    file.write_all_at(&state.encode(), 0)?;
    #[cfg(windows)]
    file.seek_write(&state.encode(), 0)?;
    Ok(Reserved { send_at, held_until: state.held_until })
}

/// Reads the state from a file of any length.
fn read_state(file: &File, now: u64) -> io::Result<State> {
    let mut content = [0; LENGTH];
    #[cfg(unix)]
    let length = file.read_at(&mut content, 0)?;
    #[cfg(windows)]
    let length = file.seek_read(&mut content, 0)?;
    Ok(State::decode(content.get(..length).unwrap_or_default(), now))
}

impl Storage for FileStorage {
    fn change(&self, change: Change, allowance: Allowance) -> BoxFuture<'_, Result<Reserved>> {
        Box::pin(FileStorage::change(self, change, allowance))
    }

    fn known(&self) -> Option<(State, u64)> {
        let read = || self.read().ok().flatten();
        read().or_else(read).map(|state| (state, boot_clock::now()))
    }
}
