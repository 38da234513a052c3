//! Handles a thread that CPython ends while it is in boardlot.
//!
//! Up to version 3.13, CPython calls `pthread_exit` to end a thread that needs the interpreter
//! while the program exits. This also happens to an attached thread, as it gives the interpreter to
//! other threads while it runs Python code. In glibc, `pthread_exit` unwinds the stack through Rust
//! functions that do not expect it, and the process aborts. So such a thread stays where it is, as
//! CPython itself does from version 3.14 on. PyO3 does the same for a thread that is about to
//! attach. No other C library unwinds the stack.

/// Makes this thread stay where it is when CPython ends it, until it ends by itself. Called by
/// functions that make a thread wait, attach it or call Python code, and by the conversion of rows,
/// during which the garbage collector runs Python code.
#[inline]
pub fn register() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    // Access to the registration fails in a thread that has ended.
    let _ = glibc::REGISTRATION.try_with(|_| ());
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod glibc {
    use std::{
        ffi::{CStr, c_char, c_int, c_void},
        mem, ptr,
        sync::{Mutex, OnceLock},
        thread,
    };

    /// As large as `struct _pthread_cleanup_buffer` of glibc's pthread.h, which has three pointers
    /// and an `int`.
    type Buffer = [usize; 4];

    #[expect(unsafe_code, reason = "the standard library has no functions for it")]
    unsafe extern "C" {
        // The function behind the macro `pthread_cleanup_push` for code without exceptions.
        fn _pthread_cleanup_push(
            buffer: *mut Buffer,
            routine: extern "C" fn(*mut c_void),
            argument: *mut c_void,
        );

        fn dlsym(handle: *mut c_void, name: *const c_char) -> *mut c_void;
    }

    thread_local! {
        pub static REGISTRATION: Registration = Registration::new();
    }

    /// The buffers of threads that have ended: they are never freed. Nobody waits for this lock,
    /// which a forked child may find held.
    static UNUSED: Mutex<Vec<usize>> = Mutex::new(Vec::new());

    /// The handler of one thread, to be dropped when the thread ends.
    pub struct Registration(*mut Buffer);

    impl Registration {
        /// Registers a handler for this thread.
        ///
        /// glibc calls it before it unwinds the first frame: for a buffer outside the stack, every
        /// frame is one that "has been left" (`unwind_stop` in nptl/unwind.c).
        #[expect(unsafe_code, reason = "the standard library has no function for it")]
        fn new() -> Self {
            let unused = UNUSED.try_lock().ok().and_then(|mut unused| unused.pop());
            let buffer = unused.map_or_else(
                || Box::into_raw(Box::<Buffer>::default()),
                ptr::with_exposed_provenance_mut,
            );
            // SAFETY: the buffer is large enough and lives as long as the process, and no other
            // thread that is alive has it.
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
        // If the program is not exiting, it is not CPython that ends the thread.
        while is_finalizing() {
            thread::park();
        }
    }

    type Function = unsafe extern "C" fn() -> c_int;

    /// The function's name from version 3.13 on, and the name before that. Neither is part of the
    /// stable interface of version 3.10, for which this module is made.
    const NAMES: [&CStr; 2] = [c"Py_IsFinalizing", c"_Py_IsFinalizing"];

    #[expect(unsafe_code, reason = "the stable interface has no function for it")]
    fn is_finalizing() -> bool {
        static FUNCTION: OnceLock<Option<Function>> = OnceLock::new();
        let function = FUNCTION.get_or_init(|| {
            // SAFETY: the names are C strings; null stands for all that the program has loaded.
            let find = |name: &CStr| unsafe { dlsym(ptr::null_mut(), name.as_ptr()) };
            let found = NAMES.into_iter().map(find).find(|found| !found.is_null())?;
            // SAFETY: both are functions of CPython of this type.
            Some(unsafe { mem::transmute::<*mut c_void, Function>(found) })
        });
        // SAFETY: the function reads one number, and needs no interpreter.
        function.is_some_and(|function| unsafe { function() } != 0)
    }
}
