//! From bytes to rows to columns. `Page` is the seam: what it offers stays, however it is read.

mod bytes;
mod columns;
mod cursor;
mod envelope;
mod json;
mod page;
mod rows;
mod scan;
#[cfg(test)]
mod tests;

pub use columns::{ColumnOptions, Columns, Decimals, InvalidValues, Strings, calendar_date, unfit};
pub use envelope::{object, open, refused_by_status, server_time};
pub use json::{Members, Value};
pub use page::{Page, RowsAt};
pub use rows::{Piece, RowAt, Rows};
