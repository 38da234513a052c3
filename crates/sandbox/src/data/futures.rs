//! Continuous futures contracts and the expiry contracts related to them (section 2.9).

use std::collections::HashMap;

use jiff::{ToSpan, civil::Date};
use serde::Serialize;

use crate::{
    markets::{
        calendar::{Calendar, Opening, midnight_seconds},
        market::Market,
    },
    seeded_rng::SeededRng,
    wire::{
        arguments::Arguments,
        envelope::{HandlerResult, rows},
    },
};

/// Market, root, English, Simplified and Traditional Chinese name, multiplier, months of expiry.
type Root = (&'static str, &'static str, &'static str, &'static str, &'static str, u32, Months);

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Months {
    /// This month, the next, and two quarter months.
    SpotAndQuarters,
    Quarters,
    Every,
}

use Months::{Every, Quarters, SpotAndQuarters};

const ROOTS: &[Root] = &[
    ("HK", "HSI", "HSI Futures", "恒指期货", "恒指期貨", 50, SpotAndQuarters),
    ("HK", "MHI", "Mini-HSI Futures", "小型恒指期货", "小型恒指期貨", 10, SpotAndQuarters),
    ("HK", "HHI", "HSCEI Futures", "国企指数期货", "國企指數期貨", 50, SpotAndQuarters),
    ("HK", "HTI", "HSTECH Futures", "恒生科技指数期货", "恒生科技指數期貨", 50, SpotAndQuarters),
    ("US", "ES", "E-mini S&P 500", "E-迷你标普500", "E-迷你標普500", 50, Quarters),
    ("US", "NQ", "E-mini Nasdaq-100", "E-迷你纳指100", "E-迷你納指100", 20, Quarters),
    ("US", "YM", "E-mini Dow", "E-迷你道指", "E-迷你道指", 5, Quarters),
    ("US", "CL", "Crude Oil", "WTI原油", "WTI原油", 1_000, Every),
    ("US", "GC", "Gold", "黄金", "黃金", 100, Every),
    ("SG", "CN", "FTSE China A50", "富时中国A50", "富時中國A50", 1, SpotAndQuarters),
    ("SG", "NK", "SGX Nikkei 225", "新交所日经225", "新交所日經225", 500, Quarters),
    ("JP", "NK225", "Nikkei 225", "日经225", "日經225", 1_000, Quarters),
    ("JP", "TOPIX", "TOPIX Futures", "东证指数期货", "東證指數期貨", 10_000, Quarters),
];

#[derive(Debug)]
pub struct Futures {
    /// The contracts related to each contract; empty for one that is not continuous.
    related: HashMap<String, Vec<Contract>>,
}

#[derive(Debug, Clone, Serialize)]
struct Contract {
    code: String,
    stock_name: String,
    sc_name: String,
    tc_name: String,
    stock_type: &'static str,
    lot_size: u32,
    future_valid: bool,
    future_main_contract: bool,
    future_last_trade_time: String,
    list_time: i64,
}

impl Futures {
    pub fn new(market: &Market) -> Self {
        let Market { seed, as_of, calendar, .. } = market;
        let mut related = HashMap::new();
        for root in ROOTS {
            let contracts = contracts(*seed, root, *as_of, calendar);
            for contract in contracts.iter().filter(|contract| !contract.future_main_contract) {
                related.insert(contract.code.clone(), Vec::new());
            }
            for contract in contracts.iter().filter(|contract| contract.future_main_contract) {
                related.insert(contract.code.clone(), contracts.clone());
            }
        }
        Futures { related }
    }

    pub fn related(&self, market: &Market, arguments: &Arguments) -> HandlerResult {
        match self.related.get(arguments.text("symbol")) {
            Some(contracts) => Ok(rows(&arguments.endpoint, contracts)),
            // A security that is not a future has no related contracts.
            None => market.security(arguments).map(|_| rows(&arguments.endpoint, &[(); 0])),
        }
    }

    /// Whether there is such a contract.
    pub fn knows(&self, symbol: &str) -> bool {
        self.related.contains_key(symbol)
    }
}

/// The continuous contract, followed by the expiry contracts that still trade.
fn contracts(seed: u64, root: &Root, as_of: Date, calendar: &Calendar) -> Vec<Contract> {
    let (market, root_code, name, sc_name, tc_name, lot_size, months) = *root;
    let mut rng = SeededRng::new(seed, &format!("{market}.{root_code}"));
    let main = Contract {
        code: format!("{market}.{root_code}main"),
        stock_name: format!("{name} Main"),
        sc_name: format!("{sc_name}主连"),
        tc_name: format!("{tc_name}主連"),
        stock_type: "FUTURE",
        lot_size,
        future_valid: true,
        future_main_contract: true,
        future_last_trade_time: String::new(),
        list_time: 0,
    };
    let mut contracts = vec![main.clone()];
    let mut spots = 0;
    for ahead in 0..15 {
        let Ok(month) = as_of.first_of_month().checked_add(ahead.months()) else { break };
        let last_trade = last_trading_day(market, month, calendar);
        if last_trade < as_of || contracts.len() > 4 {
            continue;
        }
        let quarter = month.month() % 3 == 0;
        let trades = match months {
            Every => true,
            Quarters => quarter,
            SpotAndQuarters => spots < 2 || quarter,
        };
        if !trades {
            continue;
        }
        spots += 1;
        let label = format!("{:02}{:02}", month.year() % 100, month.month());
        let listed = month.checked_sub(rng.between(180, 400).days()).unwrap_or(month);
        contracts.push(Contract {
            code: format!("{market}.{root_code}{label}"),
            stock_name: format!("{name} {label}"),
            sc_name: format!("{sc_name} {label}"),
            tc_name: format!("{tc_name} {label}"),
            future_main_contract: false,
            future_last_trade_time: last_trade.to_string(),
            list_time: if rng.chance(0.1) { 0 } else { midnight_seconds(listed) * 1_000 },
            ..main.clone()
        });
    }
    contracts
}

/// The second to last trading day of the month in Hong Kong and Singapore, the third Friday
/// elsewhere; the trading day before if that is a holiday.
fn last_trading_day(market: &str, month: Date, calendar: &Calendar) -> Date {
    let next = month.checked_add(1.month()).unwrap_or(month);
    let last = match market {
        "HK" | "SG" => calendar.days_before(market, next, 2).first().copied(),
        _ => month.nth_weekday_of_month(3, jiff::civil::Weekday::Friday).ok(),
    }
    .unwrap_or(month);
    if calendar.opening(market, last) == Opening::Closed {
        return calendar.days_before(market, last, 1).first().copied().unwrap_or(last);
    }
    last
}
