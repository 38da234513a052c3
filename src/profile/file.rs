//! `config.toml` as a file that several processes change: locked, written beside, renamed.

use std::{
    fmt,
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{error::Error, lock::FileLock};

/// How long to wait for another process to finish its change.
const PATIENCE: Duration = Duration::from_secs(20);
const MOST_LINKS: usize = 40;

/// Why the file is not changed.
#[derive(Debug)]
pub enum ChangeError {
    /// What the file says, or what it shall say, is refused.
    Refused(Error),
    /// The operating system does not let it be read or written.
    Io { path: PathBuf, error: io::Error },
    /// The one who waited for the lock gave up.
    Interrupted,
}

impl From<Error> for ChangeError {
    fn from(error: Error) -> Self {
        ChangeError::Refused(error)
    }
}

impl fmt::Display for ChangeError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ChangeError::Refused(error) => error.fmt(out),
            ChangeError::Io { path, error } => write!(out, "{}: {error}", path.display()),
            ChangeError::Interrupted => out.write_str("interrupted"),
        }
    }
}

/// The path of the file itself: links are followed, also where they lead to no file yet.
pub fn followed(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MOST_LINKS {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// Reads the file, changes its text and puts the new text in its place, under a lock that other
/// processes wait for. The file's mode and owner stay, and a link to it stays a link.
///
/// `interrupted` is called while the lock is waited for and ends the wait when it returns true.
pub fn change(
    path: &Path,
    mut interrupted: impl FnMut() -> bool,
    change: impl FnOnce(&str) -> Result<String, Error>,
) -> Result<(), ChangeError> {
    let path = followed(path).map_err(|error| ChangeError::Io { path: path.to_owned(), error })?;
    let failed = |error: io::Error| ChangeError::Io { path: path.clone(), error };
    let folder = path.parent().unwrap_or(Path::new(""));
    fs::create_dir_all(folder).map_err(failed)?;
    let beside = |ending: &str| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        folder.join(format!(".{name}{ending}"))
    };
    let lock = OpenOptions::new().write(true).create(true).truncate(false).open(beside(".lock"));
    let wait = || if interrupted() { Err(Stopped::Interrupted) } else { Ok(()) };
    let _lock =
        match lock.map_err(Stopped::Io).and_then(|lock| FileLock::wait(lock, PATIENCE, wait)) {
            Ok(Some(lock)) => lock,
            Ok(None) => {
                let held = format!("another process has been changing it for {PATIENCE:?}");
                return Err(failed(io::Error::new(io::ErrorKind::TimedOut, held)));
            }
            Err(Stopped::Interrupted) => return Err(ChangeError::Interrupted),
            Err(Stopped::Io(error)) => return Err(failed(error)),
        };
    let before = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let text = change(&before)?;
    if text == before {
        return Ok(());
    }
    let new = beside(".new");
    let written = write(&new, &text, &path).and_then(|()| fs::rename(&new, &path));
    if let Err(error) = written {
        let _ = fs::remove_file(&new);
        return Err(failed(error));
    }
    // The rename itself lasts only once the folder is synced; not every file system can.
    #[cfg(unix)]
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

enum Stopped {
    Interrupted,
    Io(io::Error),
}

impl From<io::Error> for Stopped {
    fn from(error: io::Error) -> Self {
        Stopped::Io(error)
    }
}

/// Writes the new file with the mode and the owner of the one that it replaces.
fn write(new: &Path, text: &str, replaced: &Path) -> io::Result<()> {
    // Left behind by a process that died; nobody else writes, since this one holds the lock.
    match fs::remove_file(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = OpenOptions::new().write(true).create_new(true).open(new)?;
    if let Ok(before) = fs::metadata(replaced) {
        // As root, whose file it would otherwise become.
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            let _ = fchown(&file, Some(before.uid()), Some(before.gid()));
        }
        file.set_permissions(before.permissions())?;
    }
    file.write_all(text.as_bytes())?;
    file.sync_all()
}
