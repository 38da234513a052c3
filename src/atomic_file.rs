//! Replaces a file so that a crash leaves either the old or the new content.

use std::{
    fs::{self, File},
    io::{self, Write},
    path::Path,
};

/// Writes the content to a new file in the same folder, syncs it and renames it over `path`. The
/// caller holds the file's lock, and decides about links and modes: `path` itself is replaced, even
/// if it is a link, and `create` opens the new file.
pub(crate) fn replace(
    path: &Path,
    content: &[u8],
    create: impl FnOnce(&Path) -> io::Result<File>,
) -> io::Result<()> {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let new = path.with_file_name(format!(".{name}.new"));
    let written = write(&new, content, create).and_then(|()| fs::rename(&new, path));
    if written.is_err() {
        let _ = fs::remove_file(&new);
        return written;
    }
    // The rename is durable only once the folder is synced, which not every file system can do.
    #[cfg(unix)]
    let _ = File::open(folder_of(path)).and_then(|folder| folder.sync_all());
    Ok(())
}

/// The folder of a file; a name alone is in the working folder.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    }
}

fn write(
    new: &Path,
    content: &[u8],
    create: impl FnOnce(&Path) -> io::Result<File>,
) -> io::Result<()> {
    // Left behind by a process that died: under the lock no other process is writing it.
    match fs::remove_file(new) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = create(new)?;
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
        // A process that died while it wrote.
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
}
