//! The interpreter, as all other modules use it: errors, calls into Python, signals, forks and
//! exits.

#[cfg(not(system_allocator))]
pub mod allocator;
pub mod arrow_call;
pub mod attachment;
pub mod callback;
pub mod caller_context;
pub mod core_of;
pub mod errors;
pub mod files;
#[cfg(unix)]
pub mod forks;
pub mod python_words;
pub mod reentrant_once;
pub mod signals;
pub mod texts;
pub mod thread_end;
pub mod weak_ref;
