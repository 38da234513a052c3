//! Sinks, in which records are collected.

use std::sync::Arc;

use crate::{
    decode::{BatchBuilder, Columns, PageSlice, UndeclaredNames},
    error::Result,
};

/// Collects records as they are fetched.
pub trait Sink: Send + 'static {
    /// Adds records.
    fn push(&mut self, slice: PageSlice) -> Result<()>;
}

impl Sink for Vec<PageSlice> {
    fn push(&mut self, slice: PageSlice) -> Result<()> {
        Vec::push(self, slice);
        Ok(())
    }
}

impl<Make: Fn() -> Columns + Send + 'static> Sink for BatchBuilder<Make> {
    fn push(&mut self, slice: PageSlice) -> Result<()> {
        self.push_slice(&slice)
    }
}

/// A sink of records that must have some undeclared fields.
#[derive(Debug)]
pub struct CheckedSink<S> {
    /// The destination of the records.
    pub sink: S,
    /// The fields.
    pub names: Option<Arc<UndeclaredNames>>,
}

impl<S: Sink> Sink for CheckedSink<S> {
    fn push(&mut self, slice: PageSlice) -> Result<()> {
        self.names.as_ref().map_or(Ok(()), |names| names.check(&slice.page))?;
        self.sink.push(slice)
    }
}
