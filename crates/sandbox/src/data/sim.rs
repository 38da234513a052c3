//! Simulated trading: the orders of the latest session and the positions (sections 2.6 and 2.7).

use jiff::civil::Date;
use serde::Serialize;

use crate::{
    markets::{
        calendar::sessions,
        market::Market,
        prices::{UNIT, decimal, on_ladder, shown},
        securities::Security,
    },
    seeded_rng::SeededRng,
    wire::{
        arguments::Arguments,
        envelope::{Body, HandlerResult, Rejection},
    },
};

/// The market numbers of the filter: the sandbox's choice, since the document shows none.
const MARKETS: &[(i64, &str)] = &[(1, "HK"), (2, "US"), (3, "SH")];
const POSITIONS_PER_MARKET: usize = 6;
/// Status and order type of an order of each kind, so that every value occurs.
const STATUSES: &[i64] = &[2, 3, 4, 5, 6];

#[derive(Debug)]
pub struct Sim {
    accounts: Vec<Account>,
}

#[derive(Debug)]
struct Account {
    id: &'static str,
    orders: Vec<Order>,
    positions: Vec<Position>,
}

#[derive(Debug, Serialize)]
struct Order {
    order_id: String,
    side: i64,
    symbol: String,
    stock_name: String,
    order_type: i64,
    status: i64,
    qty: String,
    cum_qty: String,
    price: String,
    avg_fill_price: String,
    aux_price: Option<String>,
    create_time: String,
    update_time: String,
    text: &'static str,
}

#[derive(Debug, Serialize)]
struct Position {
    pstn_id: String,
    pstn_type: i64,
    market: i64,
    symbol: String,
    stock_name: String,
    qty: String,
    qty_avbl: String,
    cost_price: String,
    buy_avg_price: String,
    cur_price: String,
    mv: String,
    profit: String,
    profit_ratio: String,
}

impl Sim {
    /// `count` orders and the positions of each account.
    pub fn new(market: &Market, accounts: &[&'static str], count: usize) -> Self {
        let Market { seed, as_of, calendar, securities } = market;
        let stocks =
            |market: &str| -> Vec<&Security> { securities.stocks(market).take(36).collect() };
        let hong_kong = stocks("HK");
        // Today is the latest session that has ended before the data's midnight.
        let today = calendar.days_before("HK", *as_of, 1).first().copied().unwrap_or(*as_of);
        let accounts = accounts
            .iter()
            .map(|id| {
                let mut rng = SeededRng::new(*seed, &format!("sim {id}"));
                let mut orders: Vec<Order> = (0..count)
                    .filter_map(|number| order(number, &hong_kong, today, &mut rng))
                    .collect();
                orders.sort_by(|a, b| b.create_time.cmp(&a.create_time));
                let mut positions = Vec::new();
                for (market, name) in MARKETS {
                    for (number, stock) in
                        stocks(name).into_iter().take(POSITIONS_PER_MARKET).enumerate()
                    {
                        positions.push(position(*market, number, stock, &mut rng));
                    }
                }
                Account { id, orders, positions }
            })
            .collect();
        Sim { accounts }
    }

    pub fn orders(&self, arguments: &Arguments) -> HandlerResult {
        let orders = &self.account(arguments)?.orders;
        Ok(Body::new(&arguments.endpoint).without_message().rows(orders))
    }

    pub fn positions(&self, arguments: &Arguments) -> HandlerResult {
        let market = arguments.integer("market");
        let positions: Vec<&Position> = self
            .account(arguments)?
            .positions
            .iter()
            .filter(|position| market.is_none_or(|market| position.market == market))
            .collect();
        Ok(Body::new(&arguments.endpoint).without_message().rows(&positions))
    }

    fn account(&self, arguments: &Arguments) -> Result<&Account, Rejection> {
        let id = arguments.text("acc_id");
        self.accounts
            .iter()
            .find(|account| account.id == id)
            .ok_or_else(|| Rejection::invalid(format!("acc_id {id} is not a known account")))
    }
}

fn order(number: usize, stocks: &[&Security], today: Date, rng: &mut SeededRng) -> Option<Order> {
    let stock = stocks.get(rng.below(stocks.len() as u64) as usize)?;
    let sessions = sessions(stock.market);
    // The first ones go through every side and status, so that each occurs.
    let status = STATUSES.get(number % STATUSES.len()).copied()?;
    let side = (number / STATUSES.len() % 4) as i64 + 1;
    let market_order = status == 4 && rng.chance(0.3);
    let lots = rng.between(1, 20);
    let filled_lots = match status {
        3 => (lots / 2).max(1),
        4 => lots,
        5 => lots / 3,
        _ => 0,
    };
    let lots = if status == 3 { lots.max(filled_lots + 1) } else { lots };
    let lot = i64::from(stock.lot_size);
    let price =
        on_ladder(stock.market, stock.price + stock.price * rng.between(-300, 300) / 10_000);
    let create = sessions.at(today, rng.below(sessions.length().unsigned_abs() * 990_000) as i64);
    let update = create + rng.between(0, 90_000_000);
    let fill_price = if filled_lots == 0 { "0".to_owned() } else { shown(stock.market, price) };
    let stop = on_ladder(stock.market, price - price / 20);
    Some(Order {
        order_id: (5_300_000_000_000_000_000 + number as u64 * 13).to_string(),
        side,
        symbol: bare(stock).to_owned(),
        stock_name: stock.name.to_string(),
        order_type: if market_order { 3 } else { 1 },
        status,
        qty: (lots * lot).to_string(),
        cum_qty: (filled_lots * lot).to_string(),
        price: if market_order { "0".to_owned() } else { shown(stock.market, price) },
        avg_fill_price: fill_price,
        aux_price: rng.chance(0.25).then(|| shown(stock.market, stop)),
        create_time: create.to_string(),
        update_time: update.to_string(),
        text: if status == 6 { "Insufficient buying power" } else { "" },
    })
}

fn position(market: i64, number: usize, stock: &Security, rng: &mut SeededRng) -> Position {
    let short = number % 3 == 2;
    let lot = i64::from(stock.lot_size);
    let quantity = lot * rng.between(1, 30);
    let available = if rng.chance(0.3) { quantity - lot } else { quantity };
    let cost =
        on_ladder(stock.market, stock.price + stock.price * rng.between(-2_000, 2_000) / 10_000);
    let direction = if short { -1 } else { 1 };
    let profit = (stock.price - cost) * quantity * direction;
    let ratio = (stock.price - cost) * direction * 100 * UNIT / cost.max(1);
    Position {
        pstn_id: (3_100_000_000_000_000_000 + (market as u64) * 1_000 + number as u64).to_string(),
        pstn_type: i64::from(short),
        market,
        symbol: bare(stock).to_owned(),
        stock_name: stock.name.to_string(),
        qty: quantity.to_string(),
        qty_avbl: available.to_string(),
        cost_price: shown(stock.market, cost),
        buy_avg_price: shown(stock.market, cost),
        cur_price: shown(stock.market, stock.price),
        mv: decimal(stock.price * quantity * direction, 2),
        profit: decimal(profit, 2),
        profit_ratio: decimal(ratio, 2),
    }
}

/// The code without its market.
fn bare(stock: &Security) -> &str {
    stock.code.split_once('.').map_or(stock.code.as_str(), |(_, code)| code)
}
