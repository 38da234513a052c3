//! The options of a sandbox.

use std::{
    net::{IpAddr, Ipv4Addr},
    ops::RangeInclusive,
};

use boardlot_service::error::Result;
use jiff::civil::{Date, date};

use super::faults::{Faults, within};

/// Control of the sandbox over HTTP: refused or allowed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Control {
    /// HTTP 403.
    #[default]
    Refused,
    /// Allowed. `/openapi.json` describes only the service.
    Allowed,
    /// Allowed, and described in `/openapi.json`.
    Described,
}

/// The options of a sandbox.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of all data.
    pub seed: u64,
    /// The address to listen on.
    pub host: IpAddr,
    /// The port to listen on; 0 for a free one.
    pub port: u16,
    /// Number of fills of the first trading account in Hong Kong in the last 90 days. As many again
    /// reach back two years.
    pub fills: usize,
    /// Number of open orders of each crypto account; a simulated account has as many, up to 40.
    pub orders: usize,
    /// Number of constituents of a plate.
    pub plate_stocks: usize,
    /// Seconds for which an access token is valid.
    pub token_lifetime: f64,
    /// Seconds by which the service's clock is ahead.
    pub clock_offset: f64,
    /// The date of the service's clock and data; by default the day on which the sandbox starts.
    pub today: Option<Date>,
    /// The faults to inject.
    pub faults: Faults,
    /// Permission to watch and control the sandbox over HTTP.
    pub control: Control,
    /// True if a line for each request is printed to the standard error.
    pub log: bool,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            seed: 0,
            host: IpAddr::V4(Ipv4Addr::LOCALHOST),
            port: 0,
            fills: 2_000,
            orders: 120,
            plate_stocks: 500,
            token_lifetime: 7_200.0,
            clock_offset: 0.0,
            today: None,
            faults: Faults::default(),
            control: Control::default(),
            log: false,
        }
    }
}

impl Options {
    /// Maximum number of rows. Longer lists would overflow a cursor, or memory.
    const ROWS_MAX: usize = 10_000_000;
    const PLATE_STOCKS_MAX: usize = 90_000;
    const OFFSET_MAX_SECONDS: f64 = 1e9;
    /// Range of years that contains all times of the last two years, with a margin.
    const DATES: RangeInclusive<Date> = date(2015, 1, 1)..=date(2035, 12, 31);

    /// Checks every option.
    pub(crate) fn validate(&self) -> Result<()> {
        let count = |name, number, most| within(name, number, 0..=most, "an integer");
        count("fills", self.fills, Self::ROWS_MAX)?;
        count("orders", self.orders, Self::ROWS_MAX)?;
        count("plate_stocks", self.plate_stocks, Self::PLATE_STOCKS_MAX)?;
        let seconds = |name, number, least| {
            within(name, number, least..=Self::OFFSET_MAX_SECONDS, "a number of seconds")
        };
        seconds("token_lifetime", self.token_lifetime, 0.0)?;
        seconds("clock_offset", self.clock_offset, -Self::OFFSET_MAX_SECONDS)?;
        if let Some(today) = self.today {
            within("today", today, Self::DATES, "a date")?;
        }
        self.faults.validate()
    }
}
