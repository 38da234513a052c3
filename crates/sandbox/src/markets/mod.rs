//! The invented markets: their days, securities, prices and accounts.

pub mod accounts;
pub mod calendar;
pub mod holidays;
pub mod listed;
pub mod market;
pub mod prices;
pub mod securities;
