//! Calls of the Arrow C interfaces, from threads of which PyO3 does not know whether they are
//! attached.
//!
//! PyO3 counts how often its functions have attached a thread. A consumer releases the interpreter
//! by itself, as pyarrow does around each call of a stream. If a function of boardlot's is further
//! up the stack, as when a constructor of rows reads another list, PyO3 still counts the thread as
//! attached: it would run Python code and drop objects without the interpreter.

use std::{mem::ManuallyDrop, ops::Deref};

use pyo3::ffi;

use boardlot_client::extension::os::runtime::runtime;

/// Keeps a thread attached, whatever PyO3 has counted.
pub struct Attached(ffi::PyGILState_STATE);

impl Attached {
    /// Attaches this thread, unless the interpreter is shutting down.
    #[expect(unsafe_code, reason = "PyO3 only attaches a thread that it counts as detached")]
    pub fn new() -> Option<Self> {
        // SAFETY: the function reads a flag, and may be called at any time.
        if unsafe { ffi::Py_IsInitialized() } == 0 {
            return None;
        }
        // SAFETY: the interpreter is initialized. The function may be called on any thread,
        // attached or not.
        Some(Attached(unsafe { ffi::PyGILState_Ensure() }))
    }
}

impl Drop for Attached {
    #[expect(unsafe_code, reason = "PyO3 only attaches a thread that it counts as detached")]
    fn drop(&mut self) {
        // SAFETY: this thread called the other function, and has the state that it returned.
        unsafe { ffi::PyGILState_Release(self.0) };
    }
}

/// An object that a consumer releases. A thread of the runtime drops the object. Such threads never
/// attach, so PyO3 keeps the Python objects until another thread attaches, and no release waits for
/// the interpreter, whichever thread has it.
pub struct Released<T: Send + 'static>(ManuallyDrop<T>);

impl<T: Send + 'static> Released<T> {
    pub fn new(value: T) -> Self {
        Released(ManuallyDrop::new(value))
    }
}

impl<T: Send + 'static> Deref for Released<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.0
    }
}

impl<T: Send + 'static> Drop for Released<T> {
    #[expect(unsafe_code, reason = "the value is moved to another thread, or leaked")]
    fn drop(&mut self) {
        // If the runtime has no threads, the object is leaked.
        let Ok(runtime) = runtime() else { return };
        // SAFETY: no other code has the value after this.
        let value = unsafe { ManuallyDrop::take(&mut self.0) };
        runtime.spawn(async move { drop(value) });
    }
}
