//! Files that belong to one user: opened only where nobody else could have touched them, written
//! beside and renamed, locked by the operating system.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{self, Read, Write},
    path::{Path, PathBuf},
    time::Duration,
};

use super::{Secret, store_error};
use crate::{
    error::{Error, Result},
    lock::FileLock,
};

/// Asked again and again while a lock is waited for; an error gives the waiting up.
pub type WhileWaiting = dyn Fn() -> Result<()> + Send + Sync;

/// The content of a private file; `None` where there is none.
pub fn read(path: &Path, max_bytes: u64) -> Result<Option<Secret>> {
    if !check_folder(parent(path))? {
        return Ok(None);
    }
    let way_out = "make it readable for you, or choose another path";
    let file = match open(path, OpenOptions::new().read(true)) {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(path, &error, way_out)),
    };
    let metadata = file.metadata().map_err(|error| refused(path, &error, way_out))?;
    check_private(path, &metadata)?;
    if metadata.len() > max_bytes {
        return Err(store_error(path, "it is too large for a token store", MOVE_AWAY));
    }
    let mut content =
        Secret::new(Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1));
    file.take(max_bytes).read_to_end(&mut content).map_err(|e| refused(path, &e, way_out))?;
    Ok(Some(content))
}

/// Puts a private file in place at once: written beside, synced, renamed. To be called under the
/// file's lock.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let beside = with_ending(path, ".new");
    let written = write_beside(&beside, content).and_then(|()| fs::rename(&beside, path));
    if let Err(error) = written {
        let _ = fs::remove_file(&beside);
        let way_out = "make room or give yourself the right to write there; the file is as it was";
        return Err(store_error(path, format!("it cannot be written: {error}"), way_out));
    }
    // The rename itself lasts only once the folder is synced; not every file system can.
    #[cfg(unix)]
    let _ = File::open(parent(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

fn write_beside(beside: &Path, content: &[u8]) -> io::Result<()> {
    // Left behind by a process that died; nobody else is writing, since we hold the lock.
    match fs::remove_file(beside) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = open(beside, OpenOptions::new().write(true).create_new(true))?;
    make_private(&file)?;
    file.write_all(content)?;
    file.sync_all()
}

/// An exclusive lock on a permanent file. The operating system lets go of it when a process dies.
#[derive(Debug)]
pub struct Lock(#[expect(dead_code, reason = "held for its drop")] FileLock);

impl Lock {
    pub fn acquire(path: &Path, patience: Duration, tick: &WhileWaiting) -> Result<Self> {
        make_folder(parent(path))?;
        let way_out = "give yourself the right to write there, or choose another path";
        let file = open(path, OpenOptions::new().write(true).create(true).truncate(false))
            .map_err(|error| refused(path, &error, way_out))?;
        let metadata = file.metadata().map_err(|error| refused(path, &error, way_out))?;
        if metadata.len() == 0 {
            // Under a closed umask it could not be opened a second time.
            let _ = make_private(&file);
        }
        let metadata = file.metadata().unwrap_or(metadata);
        check_private(path, &metadata)?;
        match FileLock::wait(file, patience, || tick().map_err(Ended::GivenUp)) {
            Ok(Some(lock)) => Ok(Lock(lock)),
            Ok(None) => Err(store_error(
                path,
                format!("another process has held it for {} s", patience.as_secs()),
                "end that process, or call again",
            )),
            Err(Ended::GivenUp(error)) => Err(error),
            Err(Ended::Refused(error)) => Err(refused(path, &error, way_out)),
        }
    }
}

/// Why there is no lock.
enum Ended {
    GivenUp(Error),
    Refused(io::Error),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        Ended::Refused(error)
    }
}

/// The path with something behind its name.
pub fn with_ending(path: &Path, ending: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(ending);
    PathBuf::from(name)
}

pub const MOVE_AWAY: &str = "it was left as it is: move it away, then log in again";

fn parent(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

fn refused(path: &Path, error: &io::Error, way_out: &str) -> crate::error::Error {
    // O_NOFOLLOW answers a link by ELOOP, whose own words puzzle.
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
        return store_error(path, "it is a symbolic link", "put the file itself there");
    }
    store_error(path, error, way_out)
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    if !folder.exists() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| store_error(folder, error, "make the folder, or choose another"))?;
        // A closed umask takes the owner's bits, too.
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    }
    check_folder(folder).map(drop)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .map_err(|error| store_error(folder, error, "make the folder, or choose another"))
}

/// Whether the folder is there, and none in which others could replace the file.
#[cfg(unix)]
fn check_folder(folder: &Path) -> Result<bool> {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    let metadata = match fs::metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(store_error(folder, error, "choose another path")),
    };
    if !metadata.is_dir() {
        return Err(store_error(folder, "it is no folder", "choose another path"));
    }
    // In a folder of root's, such as /tmp, only the sticky bit keeps others away.
    let owner = metadata.uid();
    if owner != rustix::process::geteuid().as_raw() && owner != 0 {
        return Err(store_error(folder, "it belongs to another user", "choose another path"));
    }
    if metadata.mode() & 0o022 != 0 && metadata.mode() & STICKY == 0 {
        let way_out = format!("run: chmod 700 {}", folder.display());
        return Err(store_error(folder, "other users can write to the folder", &way_out));
    }
    Ok(true)
}

#[cfg(not(unix))]
fn check_folder(folder: &Path) -> Result<bool> {
    // Windows keeps a user's folders from other users by itself.
    Ok(folder.is_dir())
}

#[cfg(unix)]
fn check_private(path: &Path, metadata: &Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    if !metadata.is_file() {
        return Err(store_error(path, "it is no regular file", "choose another path"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(store_error(path, "it belongs to another user", "choose another path"));
    }
    if metadata.mode() & 0o077 != 0 {
        let way_out =
            format!("log in again if they may have, or run: chmod 600 {}", path.display());
        return Err(store_error(path, "other users can read or change it", &way_out));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        Ok(())
    } else {
        Err(store_error(path, "it is no regular file", "choose another path"))
    }
}

/// Opens the file itself: no link is followed, and a pipe does not keep us waiting.
#[cfg(unix)]
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC).bits().cast_signed();
    options.mode(0o600).custom_flags(flags).open(path)
}

#[cfg(not(unix))]
fn open(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    options.open(path)
}

/// The owner's bits, which a closed umask takes away as well.
#[cfg(unix)]
fn make_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;
    file.set_permissions(fs::Permissions::from_mode(0o600))
}

#[cfg(not(unix))]
fn make_private(_file: &File) -> io::Result<()> {
    Ok(())
}
