//! The sandbox from outside: requests and paths written by hand from the service document.

mod consent;
mod credentials;
mod flow;
mod grants;
mod misbehavior;
mod paging;
mod quotes;
mod records;
mod trading;
