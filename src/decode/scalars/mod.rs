//! Numbers, dates and typed values from their JSON text.

mod dates;
mod decimals;
mod digits;
mod numbers;
#[cfg(test)]
mod testing;
mod typed_value;

#[cfg(feature = "python")]
pub(crate) use dates::date_of_days;
pub(super) use dates::days_since_1970;
pub(crate) use dates::parse_date;
pub(super) use decimals::{DECIMAL_PRECISION, DECIMAL_SCALE, parse_decimal};
pub(crate) use numbers::{parse_float, parse_integer, parse_whole};
pub use typed_value::{PushError, TypedValue, parse_typed};
pub(crate) use typed_value::{
    date, decimal_float, decimal_text, flag, integer, is_null, number, text, timestamp,
};
