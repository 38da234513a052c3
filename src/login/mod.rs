//! Logins: in a browser, in applications, and registration.

pub mod client_registration;
pub mod login_flow;
pub mod oauth_app;
