//! Tests of the core from outside: the vectors, the import arrows, the generated files.

mod arrows;
mod generated;
mod pages;
mod vectors;
