//! What records are collected in.

use std::sync::Arc;

use crate::{
    decode::{BatchBuilder, Columns, PageSlice, UndeclaredNames},
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

/// A sink of records that must have some undeclared fields.
#[derive(Debug)]
pub struct CheckedSink<S> {
    /// Where the records go.
    pub sink: S,
    /// The fields.
    pub names: Option<Arc<UndeclaredNames>>,
}

impl<S: Sink> Sink for CheckedSink<S> {
    const COMPUTES: bool = S::COMPUTES;

    fn push(&mut self, slice: PageSlice) -> Result<()> {
        self.names.as_ref().map_or(Ok(()), |names| names.check(&slice.page))?;
        self.sink.push(slice)
    }
}
