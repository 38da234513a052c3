//! The data of each endpoint, and the rows of tests.

pub mod crypto;
pub mod custom_rows;
pub mod dataset;
pub mod dividends;
pub mod fills;
pub mod futures;
pub mod history;
pub mod ipos;
pub mod plates;
pub mod sim;
pub mod trading_days;
