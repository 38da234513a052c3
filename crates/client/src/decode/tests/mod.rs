//! The fast implementations compared with the simple ones, on generated responses; and the rules
//! for reading responses.

mod columns;
mod forms;
mod pages;
mod responses;
