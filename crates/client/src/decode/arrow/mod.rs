//! Typed Arrow columns of records.

mod batch_builder;
mod columns;
mod errors;
mod field_columns;
mod field_matcher;
mod options;
mod scalar_builder;
mod stream_columns;
mod undeclared;
mod undeclared_columns;

pub use batch_builder::BatchBuilder;
pub use columns::Columns;
pub use errors::type_mismatch;
pub use options::{ColumnOptions, Decimals, InvalidValues, Strings};
pub use stream_columns::StreamColumns;
pub use undeclared::loses_digits;
