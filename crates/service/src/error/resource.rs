//! Resources of the system that may be missing. The advice is the same wherever a resource is
//! needed.

/// Errors of the system that report a missing resource: the numbers of Linux and macOS, and of
/// Windows.
#[cfg(not(windows))]
const CODES: [(&str, &[u16]); 4] =
    [(FILES, &[23, 24]), (MEMORY, &[12]), (DISK, &[27, 28, 69, 122]), (READ_ONLY, &[30])];
#[cfg(windows)]
const CODES: [(&str, &[u16]); 4] =
    [(FILES, &[4]), (MEMORY, &[8, 14, 1455]), (DISK, &[39, 112]), (READ_ONLY, &[19])];

const FILES: &str = "The process has reached its limit of open files and connections: close unused clients \
                     and files, share one client, or raise the limit (`ulimit -n`).";
const MEMORY: &str = "The process has reached its memory limit: raise the limit of the container or \
                      `ulimit -v`, or read fewer rows at once.";
const DISK: &str = "The disk is full, the user's quota is used up, or the file would exceed the size limit \
                    (`ulimit -f`): free some space or raise the limit, then call again.";
const READ_ONLY: &str = "The file system is mounted read-only: choose a writable folder.";
const THREADS: &str = "The process, its user or its container has reached its limit of threads, or memory \
                       for a thread is missing: raise the limit (`ulimit -u`, the container's limit of \
                       pids), or use fewer threads.";
const ENTROPY: &str = "The system provides no random numbers, which signing and encryption need: allow the \
                       system call `getrandom` in the sandbox or container, or make /dev/urandom available \
                       there.";

const LOCKS: &str = "Processes share this file with file locks (flock), which its file system does not \
                     support: use a folder on another file system (another path, or XDG_STATE_HOME), or \
                     mount this one with locks.";
const MODES: &str = "Files with tokens must be private to their owner, but their file system does not \
                     support permissions (chmod): use a folder on another file system (another path, or \
                     XDG_STATE_HOME).";
const HOME: &str = "Set HOME to a folder of this user, or XDG_CONFIG_HOME and XDG_STATE_HOME to absolute \
                    paths; or pass the base URL and the credentials as arguments, without a profile.";

/// Beginning of the error for a thread that cannot be started.
pub const NO_THREAD: &str = "the system starts no more threads";
/// Beginning of the error for missing random numbers.
pub const NO_ENTROPY: &str = "the system has no random numbers";

/// Beginning of the error for a file system without locks.
pub const NO_LOCKS: &str = "its file system refuses file locks";
/// Beginning of the error for a file system without permissions.
pub const NO_MODES: &str = "its file system refuses permissions";
/// Beginning of the error for a user without a home folder.
pub const NO_HOME: &str = "no home folder was found";

/// Sentences for errors, by the beginning of the error.
const SENTENCES: [(&str, &str); 6] = [
    (NO_THREAD, THREADS),
    (NO_ENTROPY, ENTROPY),
    // The error of rustls.
    ("failed to get random bytes", ENTROPY),
    (NO_LOCKS, LOCKS),
    (NO_MODES, MODES),
    (NO_HOME, HOME),
];

/// Returns the hint about the missing resource, if the error is about one.
pub fn hint(message: &str) -> Option<&'static str> {
    if let Some((_, hint)) = SENTENCES.iter().find(|(text, _)| message.contains(text)) {
        return Some(hint);
    }
    // The standard library writes an error of the system in this form.
    let (_, code) = message.rsplit_once("(os error ")?;
    let code = code.split_once(')')?.0.parse().ok()?;
    CODES.iter().find(|(_, codes)| codes.contains(&code)).map(|(hint, _)| *hint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(windows))]
    #[test]
    fn a_missing_resource_is_recognized_by_the_error_of_the_system() {
        for (code, word) in [(24, "open files"), (12, "memory"), (28, "disk"), (30, "read-only")] {
            let error = std::io::Error::from_raw_os_error(code);
            let text = format!("cannot write '/a/b': {error}; the file is as it was");
            assert!(hint(&text).is_some_and(|hint| hint.contains(word)), "{text}");
        }
        assert_eq!(hint("cannot connect: Connection refused (os error 111)"), None);
        assert_eq!(hint("a file named (os error 24"), None);
    }
}
