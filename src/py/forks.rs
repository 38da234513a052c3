//! Tells the core of each fork, so that it need not ask for the id of its process again and again.

/// Begins to.
#[cfg(unix)]
#[expect(unsafe_code, reason = "the standard library has no function for it")]
pub fn watch() {
    use std::ffi::c_int;

    use crate::process;

    type Handler = Option<extern "C" fn()>;

    // POSIX, `pthread_atfork`: the third is called in the child, before `fork` returns there. Python's own
    // `os.register_at_fork` would not know of a fork by another library.
    unsafe extern "C" {
        fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
    }

    extern "C" fn in_child() {
        process::forget_id();
    }

    // SAFETY: the handler stores one number, which a child of a process with threads may do; and the
    // module that contains it is never unloaded.
    if unsafe { pthread_atfork(None, None, Some(in_child)) } == 0 {
        process::remember_id();
    }
}

/// There are none.
#[cfg(not(unix))]
pub fn watch() {}
