//! Logging in: register a client, send the user to the consent page, receive the callback, exchange
//! the code.
//!
//! A login is one task. It owns the listening socket, which closes with it, and only the task exchanges
//! the code, whether the browser sent the callback or the user pasted it.

mod browser;
mod callback;
mod endpoints;
mod flow;
mod listener;
mod options;
mod page;
mod registration;

pub use browser::open_browser;
pub use callback::{Callback, Verdict};
pub use flow::Flow;
pub use options::Options;
