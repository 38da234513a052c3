//! All data of the sandbox, generated once from the seed and never changed: responding takes no lock.

use jiff::civil::Date;

use super::{
    crypto::Crypto, dividends::Dividends, fills::Fills, futures::Futures, ipos::Ipos,
    plates::Plates, sim::Sim,
};
use crate::{
    markets::{accounts, market::Market},
    options::Options,
};

#[derive(Debug)]
pub struct Dataset {
    pub market: Market,
    pub futures: Futures,
    pub ipos: Ipos,
    pub dividends: Dividends,
    pub plates: Plates,
    pub crypto: Crypto,
    pub sim: Sim,
    pub fills: Fills,
}

impl Dataset {
    pub fn new(options: &Options, as_of: Date) -> Self {
        let market = Market::new(options.seed, as_of, options.plate_stocks);
        Dataset {
            futures: Futures::new(&market),
            ipos: Ipos::new(&market),
            dividends: Dividends::new(&market.securities),
            plates: Plates::new(&market, options.plate_stocks),
            crypto: Crypto::new(&market, accounts::CRYPTO, options.orders),
            sim: Sim::new(&market, accounts::SIM, options.orders / 3),
            fills: Fills::new(&market, accounts::TRADE, options.fills),
            market,
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::{ToSpan, civil::date};

    use super::*;
    use crate::{
        markets::calendar::{Opening, midnight_seconds},
        service::routes,
    };

    /// The response of an endpoint, found by a path written by hand.
    fn response(dataset: &Dataset, target: &str) -> serde_json::Value {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let routes::RouteMatch::Route(route, values) = routes::find("GET", path, &[]) else {
            unreachable!("{target}")
        };
        let now_ms = dataset.market.as_of_ms() + 3_600_000;
        let body = route.respond(dataset, &values, query, b"", now_ms).expect("a success");
        serde_json::from_slice(&body).expect("JSON")
    }

    #[test]
    fn the_data_hold_together_on_every_day_of_the_known_years() {
        let mut as_of = date(2024, 6, 1);
        let mut seed = 0;
        while as_of < date(2027, 12, 1) {
            let options = Options { seed, fills: 400, plate_stocks: 40, ..Options::default() };
            let dataset = Dataset::new(&options, as_of);
            let now_us = midnight_seconds(as_of) * 1_000_000;
            for market in ["HK", "US"] {
                let target = "/api/v1.0/accounts/281756/fills_history?page_size=50&page_flag=";
                let response = response(&dataset, &format!("{target}&trd_market={market}"));
                let latest =
                    response["d"]["order_fills"][0]["updated_time"].as_i64().expect("a time");
                assert!(latest < now_us && latest > now_us - 12 * 86_400_000_000, "{as_of}");
                let first_day = dataset.market.calendar.days_before(market, as_of, 50)[0];
                assert!(as_of.since(first_day).expect("days").get_days() <= 88, "{as_of}");
            }
            for market in ["hk", "us", "cn", "sg", "my"] {
                let all = if market == "cn" { 5 } else { 11 };
                let target = format!("/api/v1.0/quote/ipo-list/{market}?request_type={all}");
                for ipo in response(&dataset, &target)["data"]["list"].as_array().expect("a list") {
                    let listed = ipo["list_time"].as_str().expect("text");
                    assert_eq!(listed == "--", ipo["list_timestamp"] == 0);
                    if listed != "--" {
                        let code = ipo["code"].as_str().expect("text");
                        let calendar = code.split('.').next().expect("a market");
                        let day = listed.parse().expect("a date");
                        assert!(day >= as_of, "{code} {as_of}");
                        let opening = dataset.market.calendar.opening(calendar, day);
                        assert!(calendar == "BJ" || opening != Opening::Closed, "{code} {day}");
                    }
                }
            }
            for future in ["HK.HSI", "US.ES", "US.CL", "SG.CN", "JP.NK225"] {
                let target = format!("/api/v1.0/quote/{future}main/reference-future");
                let response = response(&dataset, &target);
                let list = response["data"]["reference_list"].as_array().expect("a list");
                assert_eq!(list.len(), 5, "{future} {as_of}");
                let days: Vec<&str> =
                    list.iter().filter_map(|row| row["future_last_trade_time"].as_str()).collect();
                assert!(days.is_sorted_by(|a, b| a < b), "{days:?}");
                assert!(days[1] >= as_of.to_string().as_str(), "{days:?}");
            }
            as_of = as_of.checked_add(5.days()).expect("a date");
            seed += 1;
        }
    }
}
