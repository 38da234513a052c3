//! Handles a thread that CPython ends while it is in boardlot.
//!
//! Up to version 3.13, CPython ends a thread that needs the interpreter while the program exits, by
//! `pthread_exit`. In glibc this unwinds the stack, through Rust functions that do not expect it: the
//! process aborts. The gate waits for threads, but it cannot know of one that is in code of the caller's
//! for long, or in PyO3's own code around a function. So such a thread stays where it is, as CPython
//! itself does from version 3.14 on. No other C library unwinds the stack.

pub use system::Registration;

/// Returns true if the interpreter is shutting down, as far as this system tells.
#[cfg(target_os = "linux")]
pub fn is_finalizing() -> bool {
    finalization::has_begun()
}

/// Returns true if the interpreter is shutting down, as far as this system tells.
#[cfg(not(target_os = "linux"))]
pub fn is_finalizing() -> bool {
    false
}

#[cfg(target_os = "linux")]
mod finalization {
    use std::{
        ffi::{CStr, c_char, c_int, c_void},
        mem, ptr,
        sync::OnceLock,
    };

    type Function = unsafe extern "C" fn() -> c_int;

    #[expect(unsafe_code, reason = "the standard library has no function for it")]
    unsafe extern "C" {
        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    /// From version 3.13 on, and before that. Neither is part of the stable interface of version 3.10, which
    /// this module is made for.
    const NAMES: [&CStr; 2] = [c"Py_IsFinalizing", c"_Py_IsFinalizing"];

    #[expect(unsafe_code, reason = "the stable interface has no function for it")]
    pub fn has_begun() -> bool {
        static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
        let function = FUNCTION.get_or_init(|| {
            // SAFETY: the names are C strings; null stands for all that the program has loaded.
            let find = |name: &CStr| unsafe { dlsym(ptr::null_mut(), name.as_ptr()) };
            let found = NAMES.into_iter().map(find).find(|found| !found.is_null())?;
            // SAFETY: both are functions of CPython of this type.
            Some(unsafe { mem::transmute::<*mut c_void, Function>(found) })
        });
        // SAFETY: it reads one number, and needs no interpreter.
        function.is_some_and(|function| unsafe { function() } != 0)
    }
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

    // The functions behind the macro `pthread_cleanup_push` for code without exceptions.
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
        while super::is_finalizing() {
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
