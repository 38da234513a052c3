//! The sandbox from outside: requests and paths written by hand from the service document.

mod answers;
mod credentials;
mod misbehaviour;
mod paging;
