//! One call: waited for by a thread, or awaited.

pub mod blocking;
pub mod call;
pub mod completion;
pub mod event_loop;
pub mod operation;
pub mod progress;
