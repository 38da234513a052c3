//! From bytes to rows to columns. `Page` is the seam: what it offers stays, however it is read.

mod columns;
mod envelope;
mod json;
mod oauth;
mod page;
mod rows;

pub use columns::{ColumnOptions, Columns, Decimals, InvalidValues, Strings, calendar_date, unfit};
pub use envelope::{object, open, refused_by_status, server_time};
pub use json::{Members, Value};
pub use oauth::{client_registered, shown, token_answer};
pub use page::{Page, RowsAt};
pub use rows::{Piece, RowAt, Rows};
