//! Resources of the system that may be missing. The advice is the same wherever a resource is
//! needed.

use std::{error::Error as StdError, io, iter};

/// A resource of the system that may be missing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resource {
    /// Open files and connections.
    Files,
    /// Memory.
    Memory,
    /// Space on the disk.
    Disk,
    /// A file system that can be written.
    Writing,
    /// Threads.
    Threads,
    /// Random numbers.
    Entropy,
    /// Locks of a file system.
    Locks,
    /// Permissions of a file system.
    Modes,
    /// A home folder.
    Home,
}

/// The numbers of errors of the system that report a missing resource: of Linux and macOS, and of
/// Windows.
#[cfg(not(windows))]
const CODES: [(Resource, &[i32]); 4] = [
    (Resource::Files, &[23, 24]),
    (Resource::Memory, &[12]),
    (Resource::Disk, &[27, 28, 69, 122]),
    (Resource::Writing, &[30]),
];
#[cfg(windows)]
const CODES: [(Resource, &[i32]); 4] = [
    (Resource::Files, &[4]),
    (Resource::Memory, &[8, 14, 1455]),
    (Resource::Disk, &[39, 112]),
    (Resource::Writing, &[19]),
];

impl Resource {
    /// Returns the resource that was missing, if an error or one of its causes is about one.
    pub fn of(error: &(dyn StdError + 'static)) -> Option<Self> {
        causes(error).find_map(|cause| {
            if let Some(refused) = cause.downcast_ref::<Refused>() {
                return Some(refused.resource);
            }
            let code = cause.downcast_ref::<io::Error>()?.raw_os_error()?;
            CODES.iter().find(|(_, codes)| codes.contains(&code)).map(|(resource, _)| *resource)
        })
    }

    /// Returns the advice.
    pub const fn hint(self) -> &'static str {
        match self {
            Resource::Files => FILES,
            Resource::Memory => MEMORY,
            Resource::Disk => DISK,
            Resource::Writing => READ_ONLY,
            Resource::Threads => THREADS,
            Resource::Entropy => ENTROPY,
            Resource::Locks => LOCKS,
            Resource::Modes => MODES,
            Resource::Home => HOME,
        }
    }
}

/// An error of the system whose number does not tell which resource was refused.
#[derive(Debug, thiserror::Error)]
#[error("{what}: {error}")]
pub struct Refused {
    resource: Resource,
    what: &'static str,
    error: io::Error,
}

impl Refused {
    /// Returns an error of the same kind that names the resource.
    pub fn io_error(resource: Resource, what: &'static str, error: io::Error) -> io::Error {
        io::Error::new(error.kind(), Refused { resource, what, error })
    }
}

/// Returns an error and its causes. The source of an `io::Error` is the source of the error that it
/// wraps, so the wrapped error is taken instead.
pub fn causes<'e>(
    error: &'e (dyn StdError + 'static),
) -> impl Iterator<Item = &'e (dyn StdError + 'static)> {
    iter::successors(Some(error), |cause| {
        let cause: &'e (dyn StdError + 'static) = *cause;
        match cause.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(wrapped) => Some(wrapped),
            None => cause.source(),
        }
    })
}

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

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(not(windows))]
    #[test]
    fn a_missing_resource_is_recognized_by_the_number_of_the_error() {
        for (code, resource) in [
            (24, Resource::Files),
            (12, Resource::Memory),
            (28, Resource::Disk),
            (30, Resource::Writing),
        ] {
            let error = io::Error::from_raw_os_error(code);
            assert_eq!(Resource::of(&error), Some(resource));
            let wrapped = io::Error::other(io::Error::other(error));
            assert_eq!(Resource::of(&wrapped), Some(resource));
        }
        assert_eq!(Resource::of(&io::Error::from_raw_os_error(111)), None);
        assert_eq!(Resource::of(&io::Error::other("named (os error 24)")), None);
    }

    #[test]
    fn a_refused_resource_is_named_beside_the_error_of_the_system() {
        let error = io::Error::from(io::ErrorKind::Unsupported);
        let refused = Refused::io_error(Resource::Locks, "no locks", error);
        assert_eq!(Resource::of(&refused), Some(Resource::Locks));
        assert_eq!(refused.kind(), io::ErrorKind::Unsupported);
        assert_eq!(refused.to_string(), "no locks: unsupported");
    }
}
