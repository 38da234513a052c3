//! The fast ways held against the simple ones, over answers of any kind.

mod answers;
mod columns;
mod pages;
