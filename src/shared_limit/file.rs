//! A limit that all processes of a user share: a small file, under a lock of the operating system, which
//! releases it when a process dies.

use std::{
    fs::{File, TryLockError},
    io,
    path::{Path, PathBuf},
    sync::{Mutex, PoisonError},
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
    auth::store::{digest, open_private, replace_private, state_folder},
    error::{Error, Result},
    fork_gate,
    process::PerProcess,
};

/// How long a process holds the lock at most: microseconds. One that holds it longer was stopped.
const STOPPED_AFTER: Duration = Duration::from_millis(250);
const POLL_INTERVAL: Duration = Duration::from_millis(1);
/// A byte after the state: whether another file has taken the place of this one. Nobody clears it.
const MOVED_AT: u64 = LENGTH as u64;

/// The file of a limit. Each process opens it itself: a lock belongs to an open file, which a forked child
/// would share.
#[derive(Debug)]
pub struct FileStorage {
    path: PathBuf,
    file: PerProcess<Mutex<Option<File>>>,
}

enum Failure {
    Io(io::Error),
    Other(Error),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Failure::Io(error)
    }
}

fn unusable(why: impl std::fmt::Display) -> Error {
    Error::config(format!("the shared rate limit cannot be used: {why}")).with_advice(
        "Make the file readable and writable by your user alone, or pass another name.".to_owned(),
    )
}

/// What became of an attempt to change the file.
enum Attempt {
    Changed(Reserved),
    /// Another process or thread holds the lock.
    Locked,
    /// Another file has taken its place.
    Moved,
}

impl FileStorage {
    /// The file of a limit in the user's state folder, which is created when it is needed.
    pub fn new(name: &str) -> Result<Self> {
        let folder = state_folder().map_err(unusable)?.join("limits");
        Ok(FileStorage { path: folder.join(digest(name)), file: PerProcess::new() })
    }

    fn with_file<T>(&self, work: impl FnOnce(&File) -> Result<T, Failure>) -> Result<T> {
        let file = self.file.get_or_make(|| Ok(Mutex::new(None)))?;
        // A child that is forked finds nothing locked, and the file under no lock of its parent.
        fork_gate::pass(|| {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            let opened = match file.take() {
                Some(opened) => opened,
                None => open_private(&self.path).map_err(unusable)?,
            };
            let outcome = work(&opened);
            *file = Some(opened);
            outcome.map_err(|failure| match failure {
                Failure::Io(error) => unusable(format!("{}: {error}", self.path.display())),
                Failure::Other(error) => unusable(error),
            })
        })
    }

    fn try_change(&self, change: Change, allowance: Allowance) -> Result<Attempt> {
        let attempt = self.with_file(|file| {
            match file.try_lock() {
                Ok(()) => {}
                Err(TryLockError::WouldBlock) => {
                    let mut moved = [0];
                    read_at(file, &mut moved, MOVED_AT)?;
                    return Ok(if moved == [0] { Attempt::Locked } else { Attempt::Moved });
                }
                Err(TryLockError::Error(error)) => return Err(error.into()),
            }
            let changed = change_locked(file, change, allowance);
            file.unlock()?;
            Ok(changed?.map_or(Attempt::Moved, Attempt::Changed))
        })?;
        if matches!(attempt, Attempt::Moved)
            && let Some(file) = self.file.get()
        {
            *file.lock().unwrap_or_else(PoisonError::into_inner) = None;
        }
        Ok(attempt)
    }

    async fn change(&self, change: Change, allowance: Allowance) -> Result<Reserved> {
        let mut stopped_at = Instant::now() + STOPPED_AFTER;
        loop {
            match self.try_change(change, allowance)? {
                Attempt::Changed(reserved) => return Ok(reserved),
                Attempt::Moved => {}
                Attempt::Locked if Instant::now() < stopped_at => {
                    tokio::time::sleep(POLL_INTERVAL).await;
                }
                Attempt::Locked => {
                    self.replace()?;
                    stopped_at = Instant::now() + STOPPED_AFTER;
                }
            }
        }
    }

    /// Puts another file in the place of this one, whose lock a process holds that was stopped. When that
    /// process goes on, it finds that its file has moved.
    fn replace(&self) -> Result<()> {
        let turn = open_private(&self.path.with_extension("replace")).map_err(unusable)?;
        match turn.try_lock() {
            Ok(()) => {}
            // Another process is doing it.
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(unusable(error)),
        }
        self.with_file(|file| {
            let mut content = [0; LENGTH + 1];
            read_at(file, &mut content, 0)?;
            if content.last() != Some(&0) {
                return Ok(());
            }
            let state = content.get(..LENGTH).unwrap_or_default();
            replace_private(&self.path, state).map_err(Failure::Other)?;
            Ok(write_at(file, &[1], MOVED_AT)?)
        })
    }

    /// What the file says now. A reader needs no lock: it is written at once.
    fn read(&self) -> Result<State> {
        self.with_file(|file| {
            let mut content = [0; LENGTH];
            read_at(file, &mut content, 0)?;
            Ok(State::decode(&content).unwrap_or_default())
        })
    }
}

/// None if another file has taken its place.
fn change_locked(
    file: &File,
    change: Change,
    allowance: Allowance,
) -> io::Result<Option<Reserved>> {
    let mut content = [0; LENGTH + 1];
    read_at(file, &mut content, 0)?;
    if content.last() != Some(&0) {
        return Ok(None);
    }
    let mut state = State::decode(&content).unwrap_or_default();
    let now = boot_clock::now();
    let send_at = state.apply(change, allowance, now);
    write_at(file, &state.encode(), 0)?;
    Ok(Some(Reserved { send_at, state }))
}

impl Storage for FileStorage {
    fn change(&self, change: Change, allowance: Allowance) -> BoxFuture<'_, Result<Reserved>> {
        Box::pin(FileStorage::change(self, change, allowance))
    }

    fn try_change(&self, change: Change, allowance: Allowance) -> Result<Option<Reserved>> {
        Ok(match FileStorage::try_change(self, change, allowance)? {
            Attempt::Changed(reserved) => Some(reserved),
            Attempt::Locked | Attempt::Moved => None,
        })
    }

    fn known(&self) -> Option<State> {
        self.read().ok()
    }

    fn place(&self) -> Option<&Path> {
        Some(&self.path)
    }
}

/// Reads what there is of it; the rest stays as it was.
fn read_at(file: &File, mut buffer: &mut [u8], mut offset: u64) -> io::Result<()> {
    while !buffer.is_empty() {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(file, buffer, offset);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(file, buffer, offset);
        match read {
            Ok(0) => return Ok(()),
            Ok(length) => {
                buffer = buffer.get_mut(length..).unwrap_or_default();
                offset += length as u64;
            }
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

fn write_at(file: &File, content: &[u8], offset: u64) -> io::Result<()> {
    #[cfg(unix)]
    return std::os::unix::fs::FileExt::write_all_at(file, content, offset);
    #[cfg(windows)]
    return std::os::windows::fs::FileExt::seek_write(file, content, offset).map(drop);
}
