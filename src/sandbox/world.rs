//! Everything the sandbox knows, made once from the seed and never changed: answering takes no
//! lock.

use std::collections::BTreeMap;

use jiff::civil::Date;

use super::{
    Options, calendar::Calendar, calendar::midnight_seconds, crypto::Crypto, dividends::Dividends,
    fills::Fills, futures::Futures, ipos::Ipos, plates::Plates, securities::Securities, sim::Sim,
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
    pub dividends: Dividends,
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
            dividends: Dividends::new(&securities),
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

#[cfg(test)]
mod tests {
    use jiff::{ToSpan, civil::date};

    use super::*;
    use crate::sandbox::{calendar::Opening, routes};

    /// The answer of an endpoint, found by a path written by hand.
    fn answer(world: &World, target: &str) -> serde_json::Value {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let routes::Found::Route(route, values) = routes::find("GET", path) else {
            unreachable!("{target}")
        };
        let now_ms = midnight_seconds(world.anchor) * 1_000 + 3_600_000;
        let body = route.answer(world, &values, query, b"", now_ms).expect("a success");
        serde_json::from_slice(&body).expect("JSON")
    }

    #[test]
    fn the_data_hold_together_on_every_day_of_the_known_years() {
        let mut anchor = date(2024, 6, 1);
        let mut seed = 0;
        while anchor < date(2027, 12, 1) {
            let options = Options { seed, fills: 400, plate_stocks: 40, ..Options::default() };
            let world = World::new(&options, anchor);
            let now_us = midnight_seconds(anchor) * 1_000_000;
            for market in ["HK", "US"] {
                let target = "/api/v1.0/accounts/281756/fills_history?page_size=50&page_flag=";
                let answer = answer(&world, &format!("{target}&trd_market={market}"));
                let latest =
                    answer["d"]["order_fills"][0]["updated_time"].as_i64().expect("a time");
                assert!(latest < now_us && latest > now_us - 12 * 86_400_000_000, "{anchor}");
                let first_day = world.calendar.days_before(market, anchor, 50)[0];
                assert!(anchor.since(first_day).expect("days").get_days() <= 88, "{anchor}");
            }
            for market in ["hk", "us", "cn", "sg", "my"] {
                let all = if market == "cn" { 5 } else { 11 };
                let target = format!("/api/v1.0/quote/ipo-list/{market}?request_type={all}");
                for ipo in answer(&world, &target)["data"]["list"].as_array().expect("a list") {
                    let listed = ipo["list_time"].as_str().expect("text");
                    assert_eq!(listed == "--", ipo["list_timestamp"] == 0);
                    if listed != "--" {
                        let code = ipo["code"].as_str().expect("text");
                        let calendar = code.split('.').next().expect("a market");
                        let day = listed.parse().expect("a date");
                        assert!(day >= anchor, "{code} {anchor}");
                        let opening = world.calendar.opening(calendar, day);
                        assert!(calendar == "BJ" || opening != Opening::Closed, "{code} {day}");
                    }
                }
            }
            for future in ["HK.HSI", "US.ES", "US.CL", "SG.CN", "JP.NK225"] {
                let target = format!("/api/v1.0/quote/{future}main/reference-future");
                let answer = answer(&world, &target);
                let list = answer["data"]["reference_list"].as_array().expect("a list");
                assert_eq!(list.len(), 5, "{future} {anchor}");
                let days: Vec<&str> =
                    list.iter().filter_map(|row| row["future_last_trade_time"].as_str()).collect();
                assert!(days.is_sorted_by(|a, b| a < b), "{days:?}");
                assert!(days[1] >= anchor.to_string().as_str(), "{days:?}");
            }
            anchor = anchor.checked_add(5.days()).expect("a date");
            seed += 1;
        }
    }
}
