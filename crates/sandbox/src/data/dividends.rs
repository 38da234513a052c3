//! Dividend histories (section 2.11), generated when first requested, each from its own stream of
//! random numbers.

use std::{collections::HashMap, sync::OnceLock};

use jiff::{
    ToSpan,
    civil::{Date, Weekday},
};
use serde::Serialize;

use super::futures::Futures;
use crate::{
    api::Endpoint,
    sandbox::{
        markets::{
            listed::Kind,
            market::Market,
            prices::{UNIT, number},
            securities::{Securities, Security},
        },
        seeded_rng::SeededRng,
        wire::{
            arguments::Arguments,
            envelope::{Body, HandlerResult, Rejection},
        },
    },
};

/// Section 8.
const RECORDS_MAX: usize = 100;

/// The response for each security, generated on the first request.
#[derive(Debug)]
pub struct Dividends {
    responses: HashMap<String, OnceLock<Vec<u8>>>,
}

/// The dividends of a security, the latest ones as records.
#[derive(Default)]
struct History {
    count: usize,
    money: f64,
    records: Vec<Dividend>,
}

#[derive(Serialize)]
struct Dividend {
    #[serde(skip_serializing_if = "Option::is_none")]
    fiscal_year: Option<String>,
    statement: String,
    dividend_per_share: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    currency: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    payout_ratio: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    dividend_type: Option<&'static str>,
    process: &'static str,
    ex_date: String,
    record_date: String,
    dividend_payable_date: String,
    pub_date: String,
}

/// How companies of a market pay dividends: times a year, and the fields that the market has.
struct DividendPolicy {
    a_year: i64,
    reporting: &'static str,
    fiscal_year: bool,
    currency: bool,
    payout_ratio: bool,
    dividend_type: bool,
}

impl Dividends {
    pub fn new(securities: &Securities) -> Self {
        let codes = securities.all().iter().map(|security| security.code.clone());
        Dividends { responses: codes.map(|code| (code, OnceLock::new())).collect() }
    }

    pub fn history(
        &self,
        market: &Market,
        futures: &Futures,
        arguments: &Arguments,
    ) -> HandlerResult {
        let symbol = arguments.text("symbol");
        match (self.responses.get(symbol), market.securities.get(symbol)) {
            (Some(response), Some(security)) => {
                let body = || history(market, security).body(&arguments.endpoint);
                Ok(response.get_or_init(body).clone())
            }
            _ if futures.knows(symbol) => Ok(History::default().body(&arguments.endpoint)),
            _ => Err(Rejection::invalid_symbol(symbol)),
        }
    }
}

impl History {
    fn body(&self, endpoint: &Endpoint) -> Vec<u8> {
        let mut body = Body::new(endpoint);
        body.dividend_totals(self.count, self.money);
        body.rows(&self.records)
    }
}

/// `None` for a market that section 4.2 does not list: its securities have no dividends.
fn policy_of(market: &str) -> Option<DividendPolicy> {
    let (a_year, reporting) = match market {
        "HK" => (1, "HKD"),
        "US" => (4, "USD"),
        "SH" | "SZ" => (1, "CNY"),
        "SG" => (2, "SGD"),
        "CA" => (4, "CAD"),
        "AU" => (2, "AUD"),
        "JP" => (2, "JPY"),
        _ => return None,
    };
    let chinese = matches!(market, "SH" | "SZ");
    Some(DividendPolicy {
        a_year,
        reporting,
        fiscal_year: market == "HK" || chinese,
        currency: matches!(market, "HK" | "US"),
        payout_ratio: chinese,
        dividend_type: !matches!(market, "HK" | "US") && !chinese,
    })
}

fn history(market: &Market, security: &Security) -> History {
    let policy = match policy_of(security.market) {
        Some(policy) if security.kind == Kind::Stock => policy,
        _ => return History::default(),
    };
    let mut rng = SeededRng::new(market.seed, &format!("dividends {}", security.code));
    // Realty Income has paid each month for decades; a few others pay nothing.
    let (a_year, years) = match security.code.as_str() {
        "US.O" => (12, 30),
        "HK.00700" => (policy.a_year, 21),
        _ if rng.chance(0.1) => return History::default(),
        _ => (policy.a_year, rng.between(3, 22)),
    };
    let shares = rng.between(200_000_000, 9_000_000_000) as f64;
    let mut per_share = (security.price * rng.between(60, 450) / 10_000 / a_year).max(50);
    let mut ex_date =
        market.as_of.checked_add(rng.between(-150, 25).days()).unwrap_or(market.as_of);
    let mut total = 0.0;
    let mut records = Vec::new();
    let count = (a_year * years) as usize;
    for _ in 0..count {
        let paid = number(per_share);
        total += paid * shares;
        if records.len() < RECORDS_MAX {
            records.push(record(&policy, paid, weekday(ex_date), market.as_of, &mut rng));
        }
        // Backward in time: mostly a little less than the year after.
        per_share = (per_share * rng.between(930, 1_010) / 1_000).max(UNIT / 1_000);
        let Ok(earlier) = ex_date.checked_sub((365 / a_year + rng.between(-4, 4)).days()) else {
            break;
        };
        ex_date = earlier;
    }
    History { count, money: (total * 100.0).round() / 100.0, records }
}

fn record(
    policy: &DividendPolicy,
    paid: f64,
    ex_date: Date,
    today: Date,
    rng: &mut SeededRng,
) -> Dividend {
    let near = |days: i64| weekday(ex_date.checked_add(days.days()).unwrap_or(ex_date));
    let planned = ex_date > today;
    let slashes = |date: Date| date.strftime("%Y/%m/%d").to_string();
    let currency = policy.reporting;
    let statement = if policy.payout_ratio {
        format!("Cash dividend of {currency} {:.4} per 10 shares (tax included)", paid * 10.0)
    } else {
        format!("Cash dividend of {currency} {paid:.4} per share")
    };
    let fiscal_year = ex_date.year() - i16::from(ex_date.month() < 9);
    Dividend {
        fiscal_year: policy.fiscal_year.then(|| fiscal_year.to_string()),
        statement,
        dividend_per_share: paid,
        currency: policy.currency.then_some(currency),
        payout_ratio: policy.payout_ratio.then(|| number(rng.between(120_000, 780_000))),
        dividend_type: policy
            .dividend_type
            .then(|| rng.pick(&["Cash Dividend", "Cash Dividend", "Special Dividend"])),
        process: if planned { "Plan" } else { "Implementation" },
        ex_date: slashes(ex_date),
        record_date: slashes(near(rng.between(1, 3))),
        dividend_payable_date: if planned {
            String::new()
        } else {
            slashes(near(rng.between(8, 35)))
        },
        pub_date: slashes(near(-rng.between(20, 60))),
    }
}

/// The date, or the Monday after it.
fn weekday(date: Date) -> Date {
    let ahead = match date.weekday() {
        Weekday::Saturday => 2,
        Weekday::Sunday => 1,
        _ => 0,
    };
    date.checked_add(ahead.days()).unwrap_or(date)
}
