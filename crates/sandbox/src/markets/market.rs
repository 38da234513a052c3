//! The market that the data of all endpoints are generated from.

use jiff::civil::Date;

use super::{
    calendar::{Calendar, midnight_seconds},
    securities::{Securities, Security},
};
use crate::wire::{arguments::Arguments, envelope::Rejection};

/// Calendar and securities of every market, as of one day.
#[derive(Debug)]
pub struct Market {
    pub seed: u64,
    /// The day on which the sandbox started: all data end at its midnight UTC.
    pub as_of: Date,
    pub calendar: Calendar,
    pub securities: Securities,
}

impl Market {
    /// The market with this many stocks in Hong Kong.
    pub fn new(seed: u64, as_of: Date, hong_kong: usize) -> Self {
        let calendar = Calendar::new();
        let securities = Securities::new(seed, hong_kong);
        Market { seed, as_of, calendar, securities }
    }

    pub fn as_of_ms(&self) -> i64 {
        midnight_seconds(self.as_of) * 1_000
    }

    /// The security that the argument `symbol` names.
    pub fn security(&self, arguments: &Arguments) -> Result<&Security, Rejection> {
        let symbol = arguments.text("symbol");
        self.securities.get(symbol).ok_or_else(|| Rejection::invalid_symbol(symbol))
    }
}
