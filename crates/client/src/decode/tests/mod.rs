//! The fast implementations compared with the simple ones, on generated responses.

mod columns;
mod pages;
mod responses;
