//! Everything the sandbox knows, made once from the seed and never changed: answering takes no
//! lock.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::{
    Options, calendar::Calendar, calendar::midnight_seconds, crypto::Crypto, fills::Fills,
    futures::Futures, ipos::Ipos, plates::Plates, securities::Securities, sim::Sim,
};

/// Account ids; one of them is past what a 64-bit float holds exactly.
const CRYPTO_ACCOUNTS: &[&str] = &["9007199254740993", "1001001"];
const SIM_ACCOUNTS: &[&str] = &["5001", "5002"];
const TRADE_ACCOUNTS: &[&str] = &["281756", "281757"];

#[derive(Debug)]
pub struct World {
    pub seed: u64,
    /// The data end at midnight UTC of this date, the day on which the sandbox started.
    pub anchor: Date,
    pub calendar: Calendar,
    pub securities: Securities,
    pub futures: Futures,
    pub ipos: Ipos,
    pub plates: Plates,
    pub crypto: Crypto,
    pub sim: Sim,
    pub fills: Fills,
}

impl World {
    pub fn new(options: &Options, anchor: Date) -> Self {
        let seed = options.seed;
        let anchor_ms = midnight_seconds(anchor) * 1_000;
        let calendar = Calendar::new();
        let securities = Securities::new(seed, options.plate_stocks);
        let listed = (&calendar, &securities);
        World {
            seed,
            anchor,
            futures: Futures::new(seed, anchor, &calendar),
            ipos: Ipos::new(seed, anchor, &calendar),
            plates: Plates::new(seed, options.plate_stocks, &securities),
            crypto: Crypto::new(seed, CRYPTO_ACCOUNTS, options.orders, anchor_ms),
            sim: Sim::new(seed, SIM_ACCOUNTS, options.orders / 3, anchor, listed),
            fills: Fills::new(seed, TRADE_ACCOUNTS, options.fills, anchor, listed),
            calendar,
            securities,
        }
    }
}

pub fn accounts() -> BTreeMap<&'static str, Vec<String>> {
    [("crypto", CRYPTO_ACCOUNTS), ("sim", SIM_ACCOUNTS), ("trade", TRADE_ACCOUNTS)]
        .into_iter()
        .map(|(kind, ids)| (kind, ids.iter().map(|id| (*id).to_owned()).collect()))
        .collect()
}
