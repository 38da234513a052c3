//! Logging in: register a client, send the user to the consent page, receive the callback, exchange
//! the code.
//!
//! A login is one task with one outcome. The task owns the listening socket, which closes with it,
//! and checks the callbacks that are offered to it, whether the browser sent them or the user
//! pasted them. A web application has no listener: its own endpoint receives the callback, in any
//! of its processes. Once a code is sent, its tokens are stored even if nobody waits for them any
//! more, and before any waiting caller is woken.

mod app;
mod browser;
mod callback;
mod code_grant;
mod endpoints;
mod flow;
mod listener;
mod offer;
mod options;
mod page;
mod registration;

pub use app::{App, AuthorizationRequest};
pub use browser::{RedirectFile, open_browser};
pub use callback::{Callback, Verdict};
pub use code_grant::check_redirect_uri;
pub use flow::LoginFlow;
pub use options::{CLIENT_NAME, LoginOptions};
pub use registration::register;
