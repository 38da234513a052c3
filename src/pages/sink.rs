//! What records are collected in.

use crate::{
    decode::{BatchBuilder, Columns, PageSlice},
    error::Result,
};

/// Collects records as they are fetched.
pub trait Sink: Send + 'static {
    /// Whether adding the records of a page takes about as long as fetching it.
    const COMPUTES: bool;

    /// Adds records.
    fn push(&mut self, slice: PageSlice) -> Result<()>;
}

impl Sink for Vec<PageSlice> {
    const COMPUTES: bool = false;

    fn push(&mut self, slice: PageSlice) -> Result<()> {
        Vec::push(self, slice);
        Ok(())
    }
}

impl<Make: Fn() -> Columns + Send + 'static> Sink for BatchBuilder<Make> {
    const COMPUTES: bool = true;

    fn push(&mut self, slice: PageSlice) -> Result<()> {
        self.push_slice(&slice)
    }
}
