//! From bytes to rows to columns. `Page` is the seam: what it offers stays, however it is read.

mod as_sent;
mod bytes;
mod column_builder;
mod columns;
mod envelope;
mod fields;
mod grid;
mod json;
mod json_reader;
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
pub use columns::{
    BatchBuilder, ColumnOptions, Columns, Decimals, InvalidValues, Strings, type_mismatch,
};
pub use envelope::{object, parse_page, refused_credentials, server_time};
#[cfg(feature = "fuzzing")]
pub use envelope::{parse_slow_path, scanned};
pub use grid::RowValues;
#[cfg(feature = "fuzzing")]
pub use json::member;
pub use json::{Members, Value, members};
pub use json_reader::JsonReader;
pub use numbers::{calendar_date, float, integer};
pub use oauth::{client_registered, token_answer};
pub use page::{Page, RowsAt};
pub use raw::{ByteRange, Raw};
pub use rows::{PageSlice, RecordNumber, RowAt, Rows, renamed};
pub use values::{PushError, Typed, typed};
