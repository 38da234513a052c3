//! The fast implementations compared with the simple ones, on generated responses; and the rules by which
//! responses are read.

mod columns;
mod forms;
mod pages;
mod responses;
