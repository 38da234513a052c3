//! The options of a sandbox.

use std::net::{IpAddr, Ipv4Addr};

use boardlot_service::error::{Error, Result};
use jiff::civil::Date;

use super::faults::Faults;

/// The options of a sandbox.
#[derive(Clone, Debug)]
pub struct Options {
    /// The seed of all data.
    pub seed: u64,
    /// The address to listen on.
    pub host: IpAddr,
    /// The port to listen on; 0 for a free one.
    pub port: u16,
    /// Fills of the first trading account in Hong Kong in the last 90 days; as many again reach back two
    /// years.
    pub fills: usize,
    /// Open orders of the first crypto account; simulated trading has a third as many.
    pub orders: usize,
    /// Constituents of the plate HK.BK1001.
    pub plate_stocks: usize,
    /// Seconds for which an access token is valid.
    pub token_lifetime: f64,
    /// Seconds by which the service's clock is ahead.
    pub clock_offset: f64,
    /// The date of the service's clock and data; by default the day on which the sandbox starts.
    pub today: Option<Date>,
    /// The faults to inject.
    pub faults: Faults,
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
        }
    }
}

impl Options {
    /// Longer lists would overflow a cursor, or memory.
    const ROWS_MAX: usize = 10_000_000;
    const PLATE_STOCKS_MAX: usize = 90_000;
    const OFFSET_MAX_SECONDS: f64 = 1e9;
    /// A range of years that holds any time of the last two years, and some more.
    const YEARS: (i16, i16) = (2015, 2035);

    /// Checks every option.
    pub(crate) fn validate(&self) -> Result<()> {
        for (name, count, max) in [
            ("fills", self.fills, Self::ROWS_MAX),
            ("orders", self.orders, Self::ROWS_MAX),
            ("plate_stocks", self.plate_stocks, Self::PLATE_STOCKS_MAX),
        ] {
            if count > max {
                let expected = format!("an integer from 0 to {max}");
                return Err(Error::argument(name, &count.to_string(), &expected));
            }
        }
        for (name, seconds, min) in [
            ("token_lifetime", self.token_lifetime, 0.0),
            ("clock_offset", self.clock_offset, -Self::OFFSET_MAX_SECONDS),
        ] {
            if !(min..=Self::OFFSET_MAX_SECONDS).contains(&seconds) {
                let expected = format!("a number of seconds from {min:e} to 1e9");
                return Err(Error::argument(name, &seconds.to_string(), &expected));
            }
        }
        if let Some(today) = self.today
            && !(Self::YEARS.0..=Self::YEARS.1).contains(&today.year())
        {
            let expected =
                format!("a date from {}-01-01 to {}-12-31", Self::YEARS.0, Self::YEARS.1);
            return Err(Error::argument("today", &today.to_string(), &expected));
        }
        self.faults.validate()
    }
}
