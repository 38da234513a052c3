//! Private files: opened only if no other user could have changed them, replaced atomically, locked
//! by the operating system.

use std::{
    fs::{self, File, Metadata},
    io::{self, Read},
    path::Path,
    time::Duration,
};

use zeroize::Zeroizing;

use super::{Secret, io_error, store_error};
use crate::{
    error::Result,
    os::atomic_file::{self, folder_of, options},
    os::lock::FileLock,
};

/// Called repeatedly while waiting for a lock; an error ends the wait.
pub type InterruptCheck = dyn Fn() -> Result<()> + Send + Sync;

/// Reads a private file; `None` if it does not exist.
pub fn read(path: &Path, max_bytes: u64) -> Result<Option<Secret>> {
    if !check_folder(folder_of(path))? {
        return Ok(None);
    }
    let remedy = "make it readable by your user, or choose another path";
    let opened = atomic_file::when_not_in_use(path, || options(0o600).read(true).open(path));
    let file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(refused(path, &error, remedy)),
    };
    let metadata = file.metadata().map_err(|error| refused(path, &error, remedy))?;
    check_private(path, &metadata)?;
    if metadata.len() > max_bytes {
        return Err(store_error(path, "it is too large for a token store", MOVE_AWAY));
    }
    let mut content =
        Zeroizing::new(Vec::with_capacity(usize::try_from(metadata.len()).unwrap_or_default() + 1));
    file.take(max_bytes).read_to_end(&mut content).map_err(|e| refused(path, &e, remedy))?;
    Ok(Some(content.into()))
}

/// Replaces a private file. The caller holds its lock.
pub fn write(path: &Path, content: &[u8]) -> Result<()> {
    let create = |path: &Path| {
        let file = options(0o600).write(true).create_new(true).open(path)?;
        make_private(&file)?;
        Ok(file)
    };
    atomic_file::replace(path, content, create).map_err(|error| {
        let remedy = "free some space or make the folder writable; the file is unchanged";
        store_error(path, format!("it cannot be written: {error}"), remedy).caused_by(&error)
    })
}

/// Opens a private file to read and write it in place; creates it with its folder.
pub fn open_private(path: &Path) -> Result<File> {
    make_folder(folder_of(path))?;
    let remedy = "make the folder writable by your user, or choose another path";
    let refused = |error| refused(path, &error, remedy);
    let mut options = options(0o600);
    let opened = options.read(true).write(true).create(true).truncate(false).open(path);
    let file = opened.map_err(refused)?;
    if file.metadata().map_err(refused)?.len() == 0 {
        // Under a strict umask, the file could not be opened a second time.
        let _ = make_private(&file);
    }
    check_private(path, &file.metadata().map_err(refused)?)?;
    Ok(file)
}

/// Takes an exclusive lock on a file that is never removed. The operating system releases it when a
/// process dies.
pub fn lock(path: &Path, max_wait: Duration, interrupt_check: &InterruptCheck) -> Result<FileLock> {
    let file = open_private(path)?;
    let remedy = "make the folder writable by your user, or choose another path";
    let mut interrupt = Ok(());
    let locked = FileLock::wait(file, max_wait, || {
        interrupt = interrupt_check();
        interrupt.is_err()
    });
    interrupt?;
    locked.map_err(|error| refused(path, &error, remedy))?.ok_or_else(|| {
        let held = format!("another process has held its lock for {} s", max_wait.as_secs());
        store_error(path, held, "end that process, or call again")
    })
}

pub const MOVE_AWAY: &str = "it was left unchanged: move it away, then log in again";

fn refused(path: &Path, error: &io::Error, remedy: &str) -> crate::error::Error {
    // O_NOFOLLOW fails on a link with ELOOP, whose own message is misleading.
    if fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_symlink()) {
        return store_error(path, "it is a symbolic link", "use the path of the file itself");
    }
    io_error(path, error, remedy)
}

#[cfg(unix)]
fn make_folder(folder: &Path) -> Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    if !folder.exists() {
        fs::DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(folder)
            .map_err(|error| io_error(folder, &error, "create the folder, or choose another"))?;
        // A strict umask clears the owner's bits, too.
        let _ = fs::set_permissions(folder, fs::Permissions::from_mode(0o700));
    }
    check_folder(folder).map(drop)
}

#[cfg(not(unix))]
fn make_folder(folder: &Path) -> Result<()> {
    fs::create_dir_all(folder)
        .map_err(|error| io_error(folder, &error, "create the folder, or choose another"))
}

/// Returns true if the folder exists; fails if other users could replace a file in it.
#[cfg(unix)]
fn check_folder(folder: &Path) -> Result<bool> {
    use std::os::unix::fs::MetadataExt;
    const STICKY: u32 = 0o1000;
    let metadata = match fs::metadata(folder) {
        Ok(metadata) => metadata,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(io_error(folder, &error, "choose another path")),
    };
    if !metadata.is_dir() {
        return Err(store_error(folder, "it is not a folder", "choose another path"));
    }
    // In a folder of root, such as /tmp, only the sticky bit stops other users.
    let owner = metadata.uid();
    if owner != rustix::process::geteuid().as_raw() && owner != 0 {
        return Err(store_error(folder, "it belongs to another user", "choose another path"));
    }
    if metadata.mode() & 0o022 != 0 && metadata.mode() & STICKY == 0 {
        let remedy = format!("run: chmod 700 {}", folder.display());
        return Err(store_error(folder, "other users can write to the folder", &remedy));
    }
    Ok(true)
}

#[cfg(not(unix))]
fn check_folder(folder: &Path) -> Result<bool> {
    // On Windows, a user's folders are private by default.
    Ok(folder.is_dir())
}

#[cfg(unix)]
fn check_private(path: &Path, metadata: &Metadata) -> Result<()> {
    use std::os::unix::fs::MetadataExt;
    if !metadata.is_file() {
        return Err(store_error(path, "it is not a regular file", "choose another path"));
    }
    if metadata.uid() != rustix::process::geteuid().as_raw() {
        return Err(store_error(path, "it belongs to another user", "choose another path"));
    }
    if metadata.mode() & 0o077 != 0 {
        let remedy = format!(
            "run: chmod 600 {}, and log in again in case another user has done so",
            path.display()
        );
        return Err(store_error(path, "other users can read or change it", &remedy));
    }
    Ok(())
}

#[cfg(not(unix))]
fn check_private(path: &Path, metadata: &Metadata) -> Result<()> {
    if metadata.is_file() {
        Ok(())
    } else {
        Err(store_error(path, "it is not a regular file", "choose another path"))
    }
}

/// Sets the owner's permission bits, which a strict umask clears as well.
#[cfg(unix)]
fn make_private(file: &File) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    match file.set_permissions(fs::Permissions::from_mode(0o600)) {
        Err(_) if file.metadata()?.mode() & 0o777 == 0o600 => Ok(()),
        outcome => outcome.map_err(atomic_file::no_modes),
    }
}

#[cfg(not(unix))]
fn make_private(_file: &File) -> io::Result<()> {
    Ok(())
}
