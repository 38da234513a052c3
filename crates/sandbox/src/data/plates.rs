//! Plates and their constituents. The document shows neither the fields nor the bounds of `limit`.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    markets::market::Market,
    seeded_rng::SeededRng,
    wire::{
        arguments::Arguments,
        envelope::{Body, HandlerResult, Rejection, rendered},
        paging::page,
    },
};

const LIMIT_MAX: i64 = 200;
/// Plate, market, how many in a hundred of the market's stocks.
const PLATES: &[(&str, &str, u64)] = &[
    ("HK.BK1001", "HK", 100),
    ("HK.BK1027", "HK", 20),
    ("HK.BK1910", "HK", 6),
    ("HK.BK1999", "HK", 0),
    ("US.BK2001", "US", 100),
    ("US.BK2136", "US", 40),
    ("SH.BK0001", "SH", 100),
    ("SZ.BK0002", "SZ", 100),
    ("SG.BK3001", "SG", 100),
    ("MY.BK4001", "MY", 100),
    ("JP.BK5001", "JP", 100),
];

#[derive(Debug)]
pub struct Plates {
    /// The constituents of each plate, as JSON.
    plates: Vec<(&'static str, Vec<Box<RawValue>>)>,
}

#[derive(Debug, Serialize)]
struct Constituent {
    code: String,
    stock_id: u64,
    stock_name: String,
    sc_name: String,
    tc_name: String,
    stock_type: &'static str,
    lot_size: u32,
    list_time: i64,
}

impl Plates {
    /// The plates; the first has `count` constituents.
    pub fn new(market: &Market, count: usize) -> Self {
        let Market { seed, securities, .. } = market;
        let seed = *seed;
        let plates = PLATES
            .iter()
            .map(|(plate, market, share)| {
                let mut rng = SeededRng::new(seed, plate);
                let whole = if *market == "HK" { count } else { usize::MAX };
                let constituents: Vec<Constituent> = securities
                    .stocks(market)
                    .take(whole)
                    .filter(|_| rng.below(100) < *share)
                    .map(|stock| {
                        let mut own = SeededRng::new(seed, &stock.code);
                        Constituent {
                            code: stock.code.clone(),
                            stock_id: 54_000_000_000_000 + own.below(1 << 40),
                            stock_name: stock.name.to_string(),
                            sc_name: stock.sc_name.to_string(),
                            tc_name: stock.tc_name.to_string(),
                            stock_type: "STOCK",
                            lot_size: stock.lot_size,
                            // Midnight of a day from 1990 to 2024.
                            list_time: 86_400_000 * own.between(7_305, 19_700),
                        }
                    })
                    .collect();
                (*plate, rendered(&constituents))
            })
            .collect();
        Plates { plates }
    }

    pub fn stocks(&self, seed: u64, arguments: &Arguments) -> HandlerResult {
        let plate = arguments.text("plate_code");
        let Some((_, stocks)) = self.plates.iter().find(|(known, _)| *known == plate) else {
            return Err(Rejection::invalid_symbol(plate));
        };
        let limit = arguments.integer("limit").unwrap_or_default();
        if limit > LIMIT_MAX {
            return Err(Rejection::invalid(format!(
                "limit {limit} is too large; expected at most {LIMIT_MAX}"
            )));
        }
        let body = Body::new(&arguments.endpoint).without_message().list_named("stock_list");
        page(body, seed, arguments, stocks)
    }
}
