//! From bytes to rows to columns. `Page` is the seam: what it offers stays, however it is read.

mod as_sent;
mod bytes;
mod cells;
mod columns;
mod cursor;
mod envelope;
mod fields;
mod grid;
mod json;
mod members;
mod numbers;
mod oauth;
mod page;
mod raw;
mod rows;
mod scan;
#[cfg(test)]
mod tests;
mod undeclared;
mod values;

pub use bytes::same;
pub use columns::{ColumnOptions, Columns, Decimals, InvalidValues, Parts, Strings, unfit};
pub use cursor::Cursor;
pub use envelope::{object, open, refused_credentials, server_time};
#[cfg(feature = "fuzzing")]
pub use envelope::{opened_generally, scanned};
pub use grid::Cells;
#[cfg(feature = "fuzzing")]
pub use json::member;
pub use json::{Members, Value, members};
pub use numbers::{calendar_date, float, integer};
pub use oauth::{client_registered, token_answer};
pub use page::{Page, RowsAt};
pub use raw::{Raw, Span};
pub use rows::{Piece, RecordNumber, RowAt, Rows, renamed};
pub use values::{Absent, Typed, typed};
