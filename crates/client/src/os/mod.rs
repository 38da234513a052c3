//! The operating system: files, locks, clocks, and what belongs to one process.

pub mod atomic_file;
pub mod callback_pool;
pub mod fork_gate;
pub mod lock;
pub mod process;
pub mod simulated;
pub mod texts;
