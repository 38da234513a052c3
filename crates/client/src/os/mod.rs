//! The operating system: files, locks, clocks, threads, and state that belongs to one process.

pub mod atomic_file;
pub mod callback_pool;
pub mod entropy;
pub mod fork_gate;
pub mod lock;
pub mod origin;
pub mod process;
pub mod runtime;
pub mod simulated;
pub mod task;
pub mod texts;
pub mod threads;
