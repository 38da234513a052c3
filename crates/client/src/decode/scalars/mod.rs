//! Numbers, dates and other values from their JSON text.

mod dates;
mod decimals;
mod digits;
mod numbers;
#[cfg(test)]
mod testing;
mod values;

pub use dates::date_of_days;
pub(super) use dates::days_since_1970;
pub use dates::parse_date;
pub(super) use decimals::{DECIMAL_PRECISION, DECIMAL_SCALE, parse_decimal};
pub use numbers::{parse_float, parse_integer, parse_whole};
pub use values::{
    NOT_A_NUMBER, PushError, date, decimal_as_sent, decimal_float, decimal_text, flag, integer,
    is_null, number, text, timestamp,
};
