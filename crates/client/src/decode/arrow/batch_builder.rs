//! Builds columns in parts: a single column would be copied again and again as it grows.

use super::columns::Columns;
use crate::{decode::records::PageSlice, error::Result};

/// Typed columns in parts of bounded size.
#[derive(Debug)]
pub struct BatchBuilder<Make> {
    new_part: Make,
    finished: Vec<Columns>,
    current: Columns,
}

/// A part is complete with this many rows, or with records of this many bytes.
const PART_ROWS: usize = 1 << 16;
const PART_BYTES: usize = 1 << 26;

impl<Make: Fn() -> Columns> BatchBuilder<Make> {
    /// Creates a builder; `new_part` makes the empty columns of each part.
    pub fn new(new_part: Make) -> Self {
        BatchBuilder { current: new_part(), finished: Vec::new(), new_part }
    }

    /// Appends records.
    pub fn push_slice(&mut self, slice: &PageSlice) -> Result<()> {
        if self.current.rows() >= PART_ROWS || self.current.byte_length() >= PART_BYTES {
            let next = (self.new_part)().following(&self.current);
            self.finished.push(std::mem::replace(&mut self.current, next));
        }
        self.current.push_slice(slice)
    }

    /// Returns all parts.
    pub fn finish(mut self) -> Vec<Columns> {
        self.finished.push(self.current);
        self.finished
    }
}
