//! Changes `config.toml` under a lock, because several processes may change it at once.

use std::{
    fs::{self, File, Metadata, OpenOptions},
    io::{
        self,
        ErrorKind::{NotADirectory, NotFound},
        Read,
    },
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    error::Error,
    os::atomic_file::{self, folder_of},
    os::lock::FileLock,
    os::texts::text,
};

/// Time to wait for another process to finish its change.
const LOCK_TIMEOUT: Duration = Duration::from_secs(20);
const MAX_LINKS: usize = 40;

/// Reasons why the file is not changed.
#[derive(Debug)]
pub enum ChangeError {
    /// The file's content, or the new content, is invalid.
    Invalid(Error),
    /// The operating system refused to read or write it.
    Io {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

impl From<Error> for ChangeError {
    fn from(error: Error) -> Self {
        ChangeError::Invalid(error)
    }
}

/// Returns the path of the file itself: links are followed, even if their target does not exist
/// yet.
pub fn resolve_links(path: &Path) -> io::Result<PathBuf> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let Ok(target) = fs::read_link(&path) else { return Ok(path) };
        path = path.parent().unwrap_or(Path::new("")).join(target);
    }
    Err(io::Error::other("too many symbolic links"))
}

/// The file and its folders, each in its state before the file was read.
#[derive(Debug, Default)]
pub struct LookedAt(
    #[cfg_attr(not(unix), expect(dead_code, reason = "modes and owners are of Unix"))]
    Vec<(PathBuf, Metadata)>,
);

/// Reads the text of `config.toml`, and the state of the files that could change it; `None` if
/// there is none. Fails if a path cannot be inspected first, or is not a regular file: reading a
/// pipe would wait forever.
pub fn read(folder: &Path) -> io::Result<Option<(String, LookedAt)>> {
    match open(folder) {
        Ok((mut file, looked_at)) => {
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            Ok(Some((text(&bytes)?, looked_at)))
        }
        Err(error) if matches!(error.kind(), NotFound | NotADirectory) => Ok(None),
        Err(error) => Err(error),
    }
}

fn open(folder: &Path) -> io::Result<(File, LookedAt)> {
    let path = resolve_links(&folder.join("config.toml"))?;
    let mut looked_at = Vec::new();
    for folder in [folder_of(&path), folder] {
        looked_at.push((folder.to_owned(), fs::metadata(folder)?));
    }
    let open = || atomic_file::options(0o600).read(true).open(&path);
    let file = atomic_file::when_not_in_use(&path, open)?;
    // The metadata of the file that is read, and not of the file at its path by now.
    let metadata = file.metadata()?;
    if !metadata.is_file() {
        return Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file"));
    }
    looked_at.insert(0, (path, metadata));
    Ok((file, LookedAt(looked_at)))
}

impl LookedAt {
    /// Refuses a `config.toml` that other users can change, or replace in its folder: it tells
    /// which service gets the credentials, and may name a command to run.
    ///
    /// With a umask of 002, the group of the owner can write a new file. That group has the user
    /// alone if each user has a group of the same number; a file with a command does not rely on
    /// it.
    #[cfg(unix)]
    pub fn check_only_writer(&self, runs_command: bool) -> Result<(), Error> {
        use std::os::unix::fs::MetadataExt;
        const STICKY: u32 = 0o1000;
        const GROUP: u32 = 0o020;
        const OTHERS: u32 = 0o002;
        let refuse = |path: &Path, what: &str, remedy: &str| {
            Err(Error::config(format!("profile: {}: {what}; {remedy}", path.display())))
        };
        let user = rustix::process::geteuid().as_raw();
        for (path, metadata) in &self.0 {
            if ![user, 0].contains(&metadata.uid()) {
                let remedy = "change its owner to your user, or use another configuration folder";
                return refuse(path, "it belongs to another user", remedy);
            }
            let is_own_group = metadata.gid() == user && !runs_command;
            let writers = if is_own_group { OTHERS } else { GROUP | OTHERS };
            let in_sticky_folder = metadata.is_dir() && metadata.mode() & STICKY != 0;
            if metadata.mode() & writers != 0 && !in_sticky_folder {
                let remedy = format!("run: chmod go-w {}", path.display());
                return refuse(path, "other users can change it", &remedy);
            }
        }
        Ok(())
    }

    #[cfg(not(unix))]
    pub fn check_only_writer(&self, _runs_command: bool) -> Result<(), Error> {
        // On Windows, a user's folders are private by default.
        Ok(())
    }
}

/// Creates the configuration folder, writable for its owner only.
fn create_folder(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt;
        builder.mode(0o700);
    }
    builder.create(folder)
}

/// Reads the file, changes its text and replaces the file, under a lock for which other processes
/// wait. The file keeps its mode and owner, and a link to it remains a link.
///
/// `interrupted` is called while waiting for the lock. By returning true, it ends the wait with an
/// error of that kind.
pub fn change(
    path: &Path,
    interrupted: impl FnMut() -> bool,
    change: impl FnOnce(&str) -> Result<String, Error>,
) -> Result<(), ChangeError> {
    let path =
        resolve_links(path).map_err(|error| ChangeError::Io { path: path.to_owned(), error })?;
    let failed = |error: io::Error| ChangeError::Io { path: path.clone(), error };
    // Checked before the file is read, because reading a pipe would wait forever.
    atomic_file::check_replaceable(&path).map_err(failed)?;
    let folder = folder_of(&path);
    create_folder(folder).map_err(failed)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let lock = folder.join(format!(".{name}.lock"));
    // A lock file of another user, as after a `sudo`, can be locked without writing to it.
    let lock = OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&lock)
        .or_else(|error| File::open(&lock).map_err(|_| error));
    let _lock = match FileLock::wait(lock.map_err(failed)?, LOCK_TIMEOUT, interrupted) {
        Ok(Some(lock)) => lock,
        Ok(None) => {
            let held = format!("another process has been changing it for {LOCK_TIMEOUT:?}");
            return Err(failed(io::Error::new(io::ErrorKind::TimedOut, held)));
        }
        Err(error) => return Err(failed(error)),
    };
    let before = match atomic_file::when_not_in_use(&path, || text(&fs::read(&path)?)) {
        Ok(text) => text,
        Err(error) if error.kind() == NotFound => String::new(),
        Err(error) => return Err(failed(error)),
    };
    let text = change(&before)?;
    if text == before {
        return Ok(());
    }
    atomic_file::replace(&path, text.as_bytes(), |new| create_like(new, &path)).map_err(failed)
}

/// Creates the new file with the mode and the owner of the file that it replaces.
fn create_like(new: &Path, replaced: &Path) -> io::Result<File> {
    let file = atomic_file::options(0o600).write(true).create_new(true).open(new)?;
    if let Ok(before) = fs::metadata(replaced) {
        // Otherwise root would become the owner of another user's file.
        #[cfg(unix)]
        {
            use std::os::unix::fs::{MetadataExt, fchown};
            let is_kept = fchown(&file, Some(before.uid()), Some(before.gid())).is_ok();
            // Another user's content must not become this user's own: it may name a command to run.
            if !is_kept && before.uid() != rustix::process::geteuid().as_raw() {
                let what = "it belongs to another user; change its owner to your user";
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, what));
            }
        }
        // A file system without modes, such as SMB and vfat, refuses. The new file is as private as
        // it can be.
        let _ = file.set_permissions(before.permissions());
    }
    Ok(file)
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    fn folder_with_config(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("boardlot-{name}-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        create_folder(&folder).expect("a folder");
        fs::write(folder.join("config.toml"), "# a profile\n").expect("written");
        folder
    }

    #[test]
    fn what_was_read_is_judged_even_if_it_has_been_removed_or_replaced_since() {
        type Change = fn(&Path);
        let changes: [Change; 3] = [
            |folder| crate::os::atomic_file::remove(&folder.join("config.toml")).expect("removed"),
            |folder| fs::remove_dir_all(folder).expect("removed"),
            |folder| {
                let mine = folder.join("mine");
                fs::write(&mine, "").expect("written");
                fs::set_permissions(&mine, fs::Permissions::from_mode(0o600)).expect("set");
                fs::rename(mine, folder.join("config.toml")).expect("replaced");
                fs::set_permissions(folder, fs::Permissions::from_mode(0o700)).expect("set");
            },
        ];
        for (n, change) in changes.into_iter().enumerate() {
            for part in ["config.toml", ""] {
                let folder = folder_with_config(&format!("judged-{n}"));
                let open = fs::Permissions::from_mode(0o777);
                fs::set_permissions(folder.join(part), open).expect("set");
                let (text, looked_at) = read(&folder).expect("read").expect("a file");
                assert_eq!(text, "# a profile\n");
                change(&folder);
                let error = looked_at.check_only_writer(false).expect_err("refused");
                assert!(error.to_string().contains("other users can change it"), "{error}");
                let _ = fs::remove_dir_all(&folder);
            }
        }
    }
}
