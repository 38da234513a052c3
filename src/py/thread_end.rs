//! What happens to a thread that CPython ends while it is in boardlot.
//!
//! Up to version 3.13, CPython ends a thread that needs the interpreter while the program exits, by
//! `pthread_exit`. In glibc this unwinds the stack, through Rust functions that do not expect it: the
//! process aborts. The gate waits for threads, but it cannot know of one that is in code of the caller's
//! for long, or in PyO3's own code around a function. So such a thread stays where it is, as CPython
//! itself does from version 3.14 on. No other C library unwinds the stack.

use std::{
    cell::Cell,
    sync::atomic::{AtomicU32, Ordering},
};

pub use system::Registration;

use crate::process;

/// The process that is exiting, if one is.
static EXITING: AtomicU32 = AtomicU32::new(0);

thread_local! {
    static EXITS: Cell<bool> = const { Cell::new(false) };
}

/// From now on, the threads that CPython ends stay where they are: this one shuts the interpreter down.
pub fn keep_other_threads() {
    EXITS.set(true);
    EXITING.store(process::id(), Ordering::SeqCst);
}

/// Whether another thread of this process shuts the interpreter down.
#[cfg(all(target_os = "linux", target_env = "gnu"))]
fn is_ended() -> bool {
    EXITING.load(Ordering::SeqCst) == process::id() && !EXITS.get()
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod system {
    use std::{
        ffi::{c_int, c_void},
        ptr,
        sync::Mutex,
        thread,
    };

    /// `struct _pthread_cleanup_buffer` of glibc's pthread.h.
    #[repr(C)]
    struct Buffer {
        routine: Option<extern "C" fn(*mut c_void)>,
        argument: *mut c_void,
        cancel_type: c_int,
        previous: *mut Buffer,
    }

    // What the macro `pthread_cleanup_push` is made of for code without exceptions.
    #[expect(unsafe_code, reason = "the standard library has no function for it")]
    unsafe extern "C" {
        fn _pthread_cleanup_push(
            buffer: *mut Buffer,
            routine: extern "C" fn(*mut c_void),
            argument: *mut c_void,
        );
    }

    /// The buffers of threads that have ended: they are never freed. Nobody waits for this lock, which a
    /// forked child may find held.
    static UNUSED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

    /// The handler of one thread, to be dropped when the thread ends.
    pub struct Registration(*mut Buffer);

    impl Default for Registration {
        /// Registers a handler for this thread.
        ///
        /// glibc calls it before it unwinds the first frame: for a buffer outside the stack, every frame
        /// is one that "has been left" (`unwind_stop` in nptl/unwind.c).
        #[expect(unsafe_code, reason = "the standard library has no function for it")]
        fn default() -> Self {
            let unused = UNUSED.try_lock().ok().and_then(|mut unused| unused.pop());
            let buffer = unused.map_or_else(
                || {
                    Box::into_raw(Box::new(Buffer {
                        routine: None,
                        argument: ptr::null_mut(),
                        cancel_type: 0,
                        previous: ptr::null_mut(),
                    }))
                },
                ptr::with_exposed_provenance_mut,
            );
            // SAFETY: the buffer has glibc's layout and lives as long as the process, and no other thread
            // that is alive has it.
            unsafe { _pthread_cleanup_push(buffer, stay_if_exiting, ptr::null_mut()) };
            Registration(buffer)
        }
    }

    impl Drop for Registration {
        fn drop(&mut self) {
            if let Ok(mut unused) = UNUSED.try_lock() {
                unused.push(self.0.expose_provenance());
            }
        }
    }

    extern "C" fn stay_if_exiting(_: *mut c_void) {
        // Otherwise it is not CPython that ends the thread.
        while super::is_ended() {
            thread::park();
        }
    }
}

#[cfg(not(all(target_os = "linux", target_env = "gnu")))]
mod system {
    /// Nothing to register.
    #[derive(Default)]
    pub struct Registration;
}
