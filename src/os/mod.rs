//! The operating system: files, locks, clocks, and what belongs to one process.

pub mod atomic_file;
pub(crate) mod callback_pool;
pub(crate) mod fork_gate;
pub mod lock;
pub(crate) mod process;
pub mod simulated;
pub mod texts;
