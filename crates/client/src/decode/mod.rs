//! Turns the bytes of a response into rows and typed columns.
//!
//! Other modules use `Page` only through its methods, so they do not depend on how it reads its
//! text.

mod arrow;
mod envelope;
mod json;
mod oauth;
mod parse_page;
mod records;
mod rows;
mod rules;
pub mod scalars;
mod selection;
mod server_time;
mod stored;
#[cfg(test)]
mod tests;
mod text_export;
mod typed_records;
mod undeclared_names;

pub use arrow::{
    BatchBuilder, ColumnOptions, Columns, Decimals, InvalidValues, StreamColumns, Strings,
    loses_digits, type_mismatch,
};
pub use json::{
    Members, Raw, Value, canonical_json, parse_members, short_eq, split_members, write_text,
};
pub use parse_page::parse_page;
pub use records::{KEY_DOC, Page, PageSlice, RecordNumber, RecordRef, RowValues, field_name};
pub use rows::Rows;
pub use rules::is_last_page;
pub use scalars::NOT_A_NUMBER;
pub use selection::Selection;
pub use stored::{StoredFill, StoredRecord, page_of_texts};
pub use typed_records::{TypedFields, TypedRecord, TypedValue, kind_named};
pub use undeclared_names::UndeclaredNames;

pub(crate) use envelope::check_credentials;
pub(crate) use oauth::{parse_registration, parse_token_response};
pub(crate) use server_time::parse_server_time;
#[cfg(feature = "fuzzing")]
pub(crate) use {
    envelope::success_members,
    json::find_member,
    parse_page::{parse_fast_path, parse_slow_path},
};
