//! Turns the bytes of a response into rows and typed columns.
//!
//! Everything else uses `Page` through its methods, however it reads its text.

mod arrow;
mod envelope;
mod json;
mod oauth;
mod parse_page;
#[cfg(feature = "python")]
mod portable;
mod records;
mod rows;
mod scalars;
mod selection;
mod server_time;
#[cfg(feature = "python")]
mod stored;
#[cfg(test)]
mod tests;
mod text_export;
mod undeclared_names;

pub use arrow::{
    BatchBuilder, ColumnOptions, Columns, Decimals, InvalidValues, StreamColumns, Strings,
};
pub use json::{Members, Raw, Value};
pub use parse_page::parse_page;
pub use records::{Page, PageSlice, RecordNumber, RecordRef, RowValues};
pub use rows::Rows;
pub use selection::Selection;
pub use undeclared_names::UndeclaredNames;

pub(crate) use envelope::check_credentials;
pub(crate) use oauth::{parse_registration, parse_token_response};
pub(crate) use scalars::parse_date;
pub(crate) use server_time::parse_server_time;
#[cfg(feature = "python")]
pub(crate) use {
    arrow::type_mismatch,
    json::{short_eq, split_members},
    portable::portable_page,
    records::{KEY_DOC, field_name},
    scalars::{date_of_days, parse_float, parse_integer},
    stored::{StoredFill, StoredRecord, page_of_texts},
};
#[cfg(feature = "fuzzing")]
pub(crate) use {
    envelope::success_members,
    json::find_member,
    parse_page::{parse_fast_path, parse_slow_path},
};
#[cfg(any(feature = "fuzzing", feature = "python"))]
pub(crate) use {
    json::parse_members,
    scalars::{PushError, date, decimal_text, flag, integer, is_null, number, text, timestamp},
};
