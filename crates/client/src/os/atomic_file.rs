//! Replaces a file so that a crash leaves either the old or the new content.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, Write},
    path::Path,
    thread,
    time::{Duration, Instant},
};

use crate::error::{Refused, Resource};

/// Time to wait for a file that another process or thread opens or replaces.
const IN_USE_TIMEOUT: Duration = Duration::from_secs(2);
const IN_USE_INTERVAL: Duration = Duration::from_millis(5);

/// Returns options that open the file itself: they do not follow a link, and do not block on a
/// pipe. A file that they create has this mode.
#[cfg(unix)]
pub fn options(mode: u32) -> OpenOptions {
    use std::os::unix::fs::OpenOptionsExt;

    use rustix::fs::OFlags;
    let mut options = OpenOptions::new();
    let flags = (OFlags::NOFOLLOW | OFlags::NONBLOCK).bits().cast_signed();
    options.mode(mode).custom_flags(flags);
    options
}

/// The same for Windows, where a user's files are private by default.
#[cfg(not(unix))]
pub fn options(_mode: u32) -> OpenOptions {
    OpenOptions::new()
}

/// Writes the content to a new file in the same folder, syncs it and renames it over `path`. The
/// caller holds the file's lock. `create` opens the new file and decides its mode. Only a regular
/// file is replaced: a link is an error unless the caller has resolved it.
pub fn replace(
    path: &Path,
    content: &[u8],
    create: impl Fn(&Path) -> io::Result<File>,
) -> io::Result<()> {
    check_replaceable(path)?;
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.new"));
    let written = write(&new, content, create).and_then(|()| rename(&new, path));
    if written.is_err() {
        let _ = remove(&new);
        return written;
    }
    Ok(())
}

/// Gives a complete file its name, replacing a regular file if there is one. All replacements of
/// files in this package are made here.
pub fn rename(new: &Path, path: &Path) -> io::Result<()> {
    check_replaceable(path)?;
    when_not_in_use(path, || fs::rename(new, path))?;
    // The rename is durable only once the folder is synced, which not every file system can do.
    #[cfg(unix)]
    let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// Gives a file the name `path` once its content is on disk, with the mode of the file that it
/// replaces. Without `force` it replaces none: the error is `AlreadyExists`.
pub fn complete(new: &Path, path: &Path, force: bool) -> io::Result<()> {
    // Somebody may have put a link there in the meantime.
    check_replaceable(new)?;
    let file = File::options().read(true).write(true).open(new)?;
    file.sync_all()?;
    if force {
        if let Ok(replaced) = fs::metadata(path) {
            file.set_permissions(replaced.permissions()).map_err(no_modes)?;
        }
        return rename(new, path);
    }
    // Unlike a rename, a link never replaces another file; not every file system has them.
    match fs::hard_link(new, path) {
        Ok(()) => remove(new),
        Err(_) if fs::symlink_metadata(path).is_err() => rename(new, path),
        Err(_) => Err(io::Error::from(io::ErrorKind::AlreadyExists)),
    }
}

/// Returns the error for a file whose permissions cannot be set.
pub fn no_modes(error: io::Error) -> io::Error {
    Refused::io_error(Resource::Modes, "its file system refuses permissions", error)
}

/// Removes a file, if there is one. All removals of files in this package are made here, except for
/// the page of a login and for the package's own locks, for which nobody waits.
pub fn remove(path: &Path) -> io::Result<()> {
    #[expect(clippy::disallowed_methods, reason = "this is its one place")]
    match when_not_in_use(path, || fs::remove_file(path)) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

/// Fails if the path has something other than a regular file: run by root, a rename would remove a
/// device for all programs. A link is not a regular file either.
pub fn check_replaceable(path: &Path) -> io::Result<()> {
    match fs::symlink_metadata(path) {
        Ok(metadata) if !metadata.is_file() => {
            let what = "it is not a regular file, and only regular files are replaced";
            Err(io::Error::new(io::ErrorKind::InvalidInput, what))
        }
        // A path that cannot be inspected cannot be replaced either: the error of the rename says
        // why.
        _ => Ok(()),
    }
}

/// Fails if the path, with links followed, has something other than a regular file: opening a pipe
/// without a writer would wait forever, and a device may have no end.
pub fn check_regular(path: &Path) -> io::Result<()> {
    match fs::metadata(path)?.is_file() {
        true => Ok(()),
        false => Err(io::Error::new(io::ErrorKind::InvalidInput, "it is not a regular file")),
    }
}

/// Opens, replaces or removes a file, and retries if another program prevents it for a moment by
/// doing the same.
pub fn when_not_in_use<T>(path: &Path, attempt: impl FnMut() -> io::Result<T>) -> io::Result<T> {
    // Opening a folder as a file never succeeds.
    retry_while_in_use(IN_USE_TIMEOUT, |error| is_in_use(error) && !path.is_dir(), attempt)
}

fn retry_while_in_use<T>(
    timeout: Duration,
    is_in_use: impl Fn(&io::Error) -> bool,
    mut attempt: impl FnMut() -> io::Result<T>,
) -> io::Result<T> {
    let deadline = Instant::now() + timeout;
    loop {
        match attempt() {
            Err(error) if is_in_use(&error) && Instant::now() < deadline => {
                thread::sleep(IN_USE_INTERVAL);
            }
            outcome => return outcome,
        }
    }
}

/// Returns true if the file is in use. Windows does not replace an open file, and does not open a
/// file that is being replaced or removed: ERROR_ACCESS_DENIED and ERROR_SHARING_VIOLATION. Other
/// systems allow both at any time.
fn is_in_use(error: &io::Error) -> bool {
    cfg!(windows) && matches!(error.raw_os_error(), Some(5 | 32))
}

/// Returns the folder of a file; a bare name is in the working folder.
pub fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

fn write(new: &Path, content: &[u8], create: impl Fn(&Path) -> io::Result<File>) -> io::Result<()> {
    // A process that died left this file behind: under the lock, no other process is writing it.
    remove(new)?;
    // On some Windows file systems, the name is free only when nobody has the file open.
    let mut file = when_not_in_use(new, || create(new))?;
    file.write_all(content)?;
    file.sync_all()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn create(path: &Path) -> io::Result<File> {
        File::options().write(true).create_new(true).open(path)
    }

    #[test]
    fn a_file_has_the_old_content_or_the_new() {
        let folder = std::env::temp_dir().join(format!("boardlot-replace-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).expect("a folder");
        let path = folder.join("file");
        let content = || fs::read(&path).expect("a file");
        replace(&path, b"one", create).expect("written");
        // The file of a process that died while it wrote.
        fs::write(folder.join(".file.new"), b"tw").expect("written");
        replace(&path, b"two", create).expect("written");
        assert_eq!(content(), b"two");
        let refuse = |path: &Path| {
            create(path)?;
            Err(io::Error::other("no space"))
        };
        let error = replace(&path, b"three", refuse).expect_err("refused");
        assert_eq!((error.to_string().as_str(), content().as_slice()), ("no space", &b"two"[..]));
        assert_eq!(fs::read_dir(&folder).expect("a folder").count(), 1, "nothing is left behind");
        fs::remove_dir_all(&folder).expect("removed");
    }

    #[cfg(unix)]
    #[test]
    fn only_a_regular_file_is_replaced() {
        use std::os::unix::{fs::symlink, net::UnixListener};
        let folder = std::env::temp_dir().join(format!("boardlot-regular-{}", std::process::id()));
        let _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(folder.join("folder")).expect("a folder");
        let _socket = UnixListener::bind(folder.join("socket")).expect("a socket");
        fs::write(folder.join("file"), b"old").expect("written");
        for (link, target) in [("to_socket", "socket"), ("to_file", "file"), ("broken", "none")] {
            symlink(target, folder.join(link)).expect("a link");
        }
        for name in ["folder", "socket", "to_socket", "to_file", "broken"] {
            let path = folder.join(name);
            let before = fs::symlink_metadata(&path).expect("there").file_type();
            let error = replace(&path, b"new", create).expect_err(name);
            assert!(error.to_string().starts_with("it is not a regular file"), "{error}");
            assert_eq!(fs::symlink_metadata(&path).expect("still there").file_type(), before);
        }
        assert_eq!(fs::read(folder.join("file")).expect("a file"), b"old");
        let left = fs::read_dir(&folder).expect("a folder").count();
        assert_eq!(left, 6, "nothing is left behind");
        fs::remove_dir_all(&folder).expect("removed");
    }

    /// A rename that fails this many times with error 5.
    fn failing(
        times: usize,
    ) -> (impl FnMut() -> io::Result<()>, std::rc::Rc<std::cell::Cell<usize>>) {
        let attempts = std::rc::Rc::new(std::cell::Cell::new(0));
        let counted = std::rc::Rc::clone(&attempts);
        let attempt = move || {
            counted.set(counted.get() + 1);
            if counted.get() > times { Ok(()) } else { Err(io::Error::from_raw_os_error(5)) }
        };
        (attempt, attempts)
    }

    #[test]
    fn a_file_in_use_is_replaced_once_its_readers_are_done() {
        let in_use = |error: &io::Error| error.raw_os_error() == Some(5);
        let (attempt, attempts) = failing(3);
        retry_while_in_use(Duration::from_secs(60), in_use, attempt).expect("replaced at last");
        assert_eq!(attempts.get(), 4);
        let (attempt, attempts) = failing(usize::MAX);
        let error = retry_while_in_use(Duration::from_millis(20), in_use, attempt);
        assert_eq!(error.expect_err("bounded").raw_os_error(), Some(5));
        // On a busy machine the time may be up after the first attempt.
        assert!(attempts.get() >= 1);
        let (attempt, attempts) = failing(usize::MAX);
        retry_while_in_use(Duration::from_secs(60), |_| false, attempt).expect_err("another error");
        assert_eq!(attempts.get(), 1);
    }
}
