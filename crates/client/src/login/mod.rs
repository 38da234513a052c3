//! Logging in: register a client, send the user to the consent page, receive the callback, exchange
//! the code.
//!
//! A login is one task. It owns the listening socket, which closes with it, and only the task exchanges
//! the code, whether the browser sent the callback or the user pasted it. A web application has no
//! listener: its own endpoint receives the callback, in any of its processes.

mod app;
mod browser;
mod callback;
mod code_grant;
mod endpoints;
mod flow;
mod listener;
mod options;
mod page;
mod registration;

pub use app::{App, AuthorizationRequest};
pub use browser::{RedirectFile, open_browser};
pub use callback::{Callback, Verdict};
pub use code_grant::check_redirect_uri;
pub use flow::Flow;
pub use options::Options;
pub use registration::register;
