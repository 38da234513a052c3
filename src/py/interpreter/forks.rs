//! Tells the core of each fork: it need not ask for the id of its process again and again, and no thread is
//! in the middle of what a child could not use.

/// Begins to.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library has no function for it")]
pub fn watch() {
    use std::ffi::c_int;

    use crate::{os::fork_gate, os::process};

    type Handler = Option<extern "C" fn()>;

    // POSIX, `pthread_atfork`: the third is called in the child, before `fork` returns there. Python's own
    // `os.register_at_fork` would not know of a fork by another library.
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }

    extern "C" fn before() {
        fork_gate::close();
    }

    extern "C" fn in_parent() {
        fork_gate::open();
    }

    extern "C" fn in_child() {
        fork_gate::reset();
        process::forget_id();
    }

    // SAFETY: what is called in the child stores two numbers, which a child of a process with threads may
    // do; and the module that contains the handlers is never unloaded.
    if unsafe { pthread_atfork(Some(before), Some(in_parent), Some(in_child)) } == 0 {
        process::remember_id();
    }
}

/// There are none.
#[cfg(not(unix))]
pub fn watch() {}
