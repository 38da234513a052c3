//! What records are collected in.

use crate::{
    decode::{BatchBuilder, Columns, PageSlice},
    error::Result,
};

/// Collects records as they are fetched.
pub trait Sink {
    /// Adds records.
    fn push(&mut self, slice: PageSlice) -> Result<()>;
}

impl Sink for Vec<PageSlice> {
    fn push(&mut self, slice: PageSlice) -> Result<()> {
        Vec::push(self, slice);
        Ok(())
    }
}

impl<Make: Fn() -> Columns> Sink for BatchBuilder<Make> {
    fn push(&mut self, slice: PageSlice) -> Result<()> {
        self.push_slice(&slice)
    }
}
