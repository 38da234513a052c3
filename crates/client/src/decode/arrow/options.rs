//! Representation of values in typed columns.

/// The representation of values in typed columns.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct ColumnOptions {
    /// The type of decimal columns.
    pub decimals: Decimals,
    /// Treatment of values that are not of their field's kind.
    pub invalid: InvalidValues,
    /// The layout of text columns.
    pub strings: Strings,
    /// True if undeclared fields are text, whatever their values: for batches of a stream whose
    /// later values are unknown. Otherwise each field gets a type that fits all its values.
    pub undeclared_as_text: bool,
}

/// The type of decimal columns.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Decimals {
    /// 64-bit floats, by default.
    #[default]
    Float64,
    /// Exact: 38 digits, 18 of them decimal places.
    Decimal,
    /// The service's own text.
    Text,
}

impl Decimals {
    /// The names in a caller's options, for errors.
    pub const NAMES: &str = "'float64', 'decimal' or 'string'";
}

/// Treatment of values that are not of their field's kind.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum InvalidValues {
    /// Return an error, by default.
    #[default]
    Raise,
    /// Make them null.
    Null,
}

/// Layouts of Arrow strings: each library has one that it can use without copying.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Strings {
    /// 32-bit offsets, by default.
    #[default]
    Utf8,
    /// 64-bit offsets.
    Large,
    /// Views.
    View,
}
