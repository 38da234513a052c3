//! One call: waited for by a thread, or awaited.

pub mod awaited_call;
pub mod blocking;
pub mod call;
pub mod event_loop;
pub mod progress;
