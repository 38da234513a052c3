//! Open crypto orders (sections 2.5 and 4.3), newest first, by pages.

use serde::Serialize;
use serde_json::value::RawValue;

use crate::{
    markets::{
        market::Market,
        prices::{UNIT, decimal},
    },
    seeded_rng::SeededRng,
    wire::{
        arguments::Arguments,
        envelope::{Body, HandlerResult, Rejection, rendered},
        paging::page,
    },
};

/// How far back the oldest open order was made.
const SPREAD_MS: u64 = 30 * 86_400_000;
/// Symbol, base, quote, rough price in ten-thousandths.
const PAIRS: &[(&str, &str, &str, i64)] = &[
    ("BTC/USD", "BTC", "USD", 1_037_500_000),
    ("ETH/USD", "ETH", "USD", 35_214_000),
    ("SOL/USD", "SOL", "USD", 1_583_000),
    ("BTC/HKD", "BTC", "HKD", 8_071_000_000),
    ("ETH/HKD", "ETH", "HKD", 273_960_000),
    ("XRP/USD", "XRP", "USD", 23_100),
];

#[derive(Debug)]
pub struct Crypto {
    /// The orders of each account, as JSON.
    accounts: Vec<(&'static str, Vec<Box<RawValue>>)>,
}

#[derive(Debug, Serialize)]
struct Order {
    order_id: String,
    version: u32,
    symbol_pair: Pair,
    side: &'static str,
    order_qty: String,
    price: String,
    order_amount: String,
    cum_qty: String,
    avg_px: String,
    fill_amount: String,
    ord_type: &'static str,
    time_in_force: &'static str,
    create_time: i64,
    update_time: i64,
    ord_status: &'static str,
    order_show_id: String,
    is_close: bool,
    trigger_price: String,
    trigger_time: i64,
    cash_order_qty: String,
}

#[derive(Debug, Serialize)]
struct Pair {
    symbol: &'static str,
    base: &'static str,
    quote: &'static str,
}

impl Crypto {
    /// `count` orders for the first account, a quarter of them for each other.
    pub fn new(market: &Market, accounts: &[&'static str], count: usize) -> Self {
        let (seed, as_of_ms) = (market.seed, market.as_of_ms());
        let accounts = accounts
            .iter()
            .enumerate()
            .map(|(position, account)| {
                let count = if position == 0 { count } else { count / 4 };
                let mut rng = SeededRng::new(seed, &format!("crypto {account}"));
                let mut orders: Vec<Order> =
                    (0..count).map(|number| order(number as u64, as_of_ms, &mut rng)).collect();
                orders.sort_by_key(|order| std::cmp::Reverse(order.create_time));
                (*account, rendered(&orders))
            })
            .collect();
        Crypto { accounts }
    }

    pub fn orders(&self, seed: u64, arguments: &Arguments) -> HandlerResult {
        let account = arguments.text("acc_id");
        let Some((_, orders)) = self.accounts.iter().find(|(known, _)| *known == account) else {
            return Err(Rejection::invalid(format!("acc_id {account} is not a known account")));
        };
        page(Body::new(&arguments.endpoint), seed, arguments, orders)
    }
}

fn order(number: u64, as_of_ms: i64, rng: &mut SeededRng) -> Order {
    let (symbol, base, quote, level) = rng.pick(PAIRS);
    let ord_status = rng.pick(&["PENDING_TRIGGER", "PENDING_NEW", "NEW", "NEW", "PARTIAL_FILLED"]);
    let price = level + level / 1_000 * rng.between(-80, 80);
    let price = price - price % 100;
    let quantity = rng.between(100, 50_000);
    let filled = if ord_status == "PARTIAL_FILLED" { quantity * rng.between(1, 9) / 10 } else { 0 };
    let create_time = as_of_ms - 1 - rng.below(SPREAD_MS) as i64;
    let update_time = create_time + rng.between(0, (as_of_ms - create_time).min(86_400_000));
    let triggered = ord_status == "PENDING_TRIGGER";
    let by_cash = !triggered && rng.chance(0.1);
    let amount = |quantity: i64| {
        let product = i128::from(quantity) * i128::from(price) / i128::from(UNIT);
        decimal(i64::try_from(product).unwrap_or(i64::MAX), 4)
    };
    let average = if filled == 0 { "0".to_owned() } else { decimal(price, 2) };
    // Larger than what a 64-bit float holds exactly, as ids of such services are.
    let id = 184_467_440_737_000_000 + number * 1_009;
    Order {
        order_id: id.to_string(),
        version: 1 + rng.below(6) as u32,
        symbol_pair: Pair { symbol, base, quote },
        side: rng.pick(&["BUY", "SELL"]),
        order_qty: decimal(quantity, 4),
        price: decimal(price, 2),
        order_amount: amount(quantity),
        cum_qty: decimal(filled, 4),
        avg_px: average,
        fill_amount: amount(filled),
        ord_type: if triggered { "STOP_LIMIT" } else { "LIMIT" },
        time_in_force: rng.pick(&["TIF_GTC", "TIF_GTC", "TIF_GTC", "TIF_DAY"]),
        create_time,
        update_time,
        ord_status,
        order_show_id: format!("C{:010}", id % 10_000_000_000),
        is_close: rng.chance(0.2),
        trigger_price: if triggered {
            decimal(price + price / 200 / 100 * 100, 2)
        } else {
            String::new()
        },
        trigger_time: 0,
        cash_order_qty: if by_cash { amount(quantity) } else { String::new() },
    }
}
