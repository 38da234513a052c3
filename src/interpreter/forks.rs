//! Tells the core of each fork, so that the core need not ask for the id of its process again and
//! again, and so that no thread is inside the cryptographic library at a fork.

use std::{ffi::c_int, time::Duration};

use boardlot_client::extension::os::{fork_gate::GATE, process};

/// The longest that a fork waits for other threads. A signature takes milliseconds.
const TIMEOUT: Duration = Duration::from_secs(5);

type Handler = Option<extern "C" fn()>;

// POSIX: the third function is called in the child, before `fork` returns there. Python's own
// `os.register_at_fork` would not know of a fork by another library.
#[expect(unsafe_code, reason = "the standard library has no function for it")]
unsafe extern "C" {
    fn pthread_atfork(prepare: Handler, parent: Handler, child: Handler) -> c_int;
}

extern "C" fn before() {
    GATE.close(TIMEOUT);
}

extern "C" fn in_parent() {
    GATE.open();
}

extern "C" fn in_child() {
    GATE.reset();
    process::forget_id();
}

/// Registers the functions that the system calls at each fork.
#[expect(unsafe_code, reason = "the standard library has no function for it")]
pub fn register() {
    // SAFETY: the function that is called in the child stores two numbers, which a child of a
    // process with threads may do; and the module that contains the functions is never unloaded.
    if unsafe { pthread_atfork(Some(before), Some(in_parent), Some(in_child)) } == 0 {
        process::remember_id();
    }
}
