//! Historical fills (sections 2.8 and 4.3), latest first. Each takes 32 bytes, so that there can be
//! millions; JSON is written only for the rows of a page.

use jiff::civil::Date;

use crate::{
    api::MICROS_PER_DAY,
    sandbox::{
        markets::{calendar::sessions, market::Market, prices, securities::Securities},
        seeded_rng::SeededRng,
        wire::{
            arguments::Arguments,
            cursor::QueryDigest,
            envelope::{HandlerResult, Rejection},
        },
    },
};

/// Section 8: the length of an open range.
const DEFAULT_DAYS: i64 = 90;
/// Section 8.
const PAGE_SIZE: usize = 50;
/// Trading days over which the fills are spread: within the last 90 days, even with many holidays.
const TRADING_DAYS: usize = 50;
/// The largest number of fills of an account in the United States.
const UNITED_STATES_FILLS: usize = 300;
const DEAL_IDS_FROM: u64 = 7_400_000_000_000_000_000;
const ORDER_IDS_FROM: u64 = 6_200_000_000_000_000_000;
const SIDES: &[&str] = &["BUY", "SELL"];
const STATUSES: &[&str] = &["OK", "CANCELLED"];
const BROKERS: &[(u32, &str)] = &[
    (1053, "Harbour Securities"),
    (1127, "Lion Rock Brokerage"),
    (2207, "Pearl River Capital"),
    (2841, "Peak Securities"),
    (3436, "Lantau Clearing"),
    (4090, "Hudson Execution Services"),
    (5347, "Battery Park Markets"),
    (6998, "Straits Brokers"),
];

/// All fills, by account and market.
#[derive(Debug)]
pub struct Fills {
    accounts: Vec<(&'static str, Vec<Ledger>)>,
}

/// The fills of one account in one market, earliest first.
#[derive(Debug)]
struct Ledger {
    market: &'static str,
    fills: Vec<Fill>,
    stocks: Vec<Traded>,
    /// Makes deal and order ids differ between ledgers.
    number: u64,
}

#[derive(Debug)]
struct Traded {
    code: String,
    /// Its two members in JSON.
    json: String,
    /// The positions of its fills.
    places: Vec<u32>,
}

#[derive(Debug, Clone, Copy)]
struct Fill {
    updated_micros: i64,
    created_before_micros: u32,
    quantity: u32,
    price: u32,
    order: u32,
    stock: u16,
    broker: u8,
    /// Side in the lowest bit, status in the next.
    marks: u8,
}

impl Fills {
    /// `count` fills for the first account in Hong Kong, fewer for the others; all before `as_of`.
    pub fn new(market: &Market, accounts: &[&'static str], count: usize) -> Self {
        let Market { seed, as_of, calendar, securities } = market;
        let mut number = 0;
        let accounts = accounts
            .iter()
            .enumerate()
            .map(|(position, account)| {
                let share = if position == 0 { count } else { count / 4 };
                let ledgers = [("HK", share), ("US", share.min(UNITED_STATES_FILLS))]
                    .into_iter()
                    .map(|(market, count)| {
                        number += 1;
                        let days = calendar.days_before(market, *as_of, TRADING_DAYS);
                        Ledger::new(*seed, (market, number), count, &days, securities)
                    })
                    .collect();
                (*account, ledgers)
            })
            .collect();
        Fills { accounts }
    }

    pub fn history(&self, seed: u64, arguments: &Arguments) -> HandlerResult {
        let account = arguments.text("acc_id");
        let market = arguments.text("trd_market");
        let Some((_, ledgers)) = self.accounts.iter().find(|(known, _)| *known == account) else {
            return Err(Rejection::invalid(format!("acc_id {account} is not a known account")));
        };
        let Some(ledger) = ledgers.iter().find(|ledger| ledger.market == market) else {
            let shown = market.escape_debug();
            return Err(Rejection::invalid(format!(
                "trd_market '{shown}' is not a known market; expected HK or US"
            )));
        };
        let code = arguments.text("code");
        let (start, end) = span(arguments)?;
        let listing = ledger.listing(code);
        let range = [arguments.integer("start"), arguments.integer("end")]
            .map(|micros| micros.unwrap_or_default().to_string());
        let [start_given, end_given] = &range;
        let digest =
            QueryDigest::new(seed, &["fills", account, market, code, start_given, end_given]);
        let (low, high) = match &arguments.cursor {
            None => (listing.from(start), listing.from(end.saturating_add(1))),
            Some(cursor) => digest
                .read(cursor)
                .map(|(high, low)| (low as usize, high as usize))
                .ok_or_else(|| Rejection::invalid("page_flag does not belong to this query"))?,
        };
        let size = arguments.integer("page_size").map_or(PAGE_SIZE, |size| size as usize);
        let next = high.saturating_sub(size).max(low).min(high);
        let completed = next <= low;
        let flag = if completed { String::new() } else { digest.cursor(next as u32, low as u32) };
        let mut out = Vec::with_capacity(160 + (high - next) * 340);
        out.extend_from_slice(br#"{"s":"ok","d":{"order_fills":["#);
        for place in (next..high).rev() {
            if place + 1 < high {
                out.push(b',');
            }
            ledger.write(listing.place(place), &mut out);
        }
        out.extend_from_slice(br#"],"page_flag":""#);
        // Cursors have no characters that JSON escapes.
        out.extend_from_slice(flag.as_bytes());
        let end: &[u8] =
            if completed { br#"","completed":true}}"# } else { br#"","completed":false}}"# };
        out.extend_from_slice(end);
        Ok(out)
    }
}

/// Fills in the order of time: all of a ledger, or those of one code.
#[derive(Clone, Copy)]
enum Listing<'a> {
    All(&'a [Fill]),
    Of(&'a [Fill], &'a [u32]),
}

impl Listing<'_> {
    /// How many fills are before a time.
    fn from(&self, micros: i64) -> usize {
        match self {
            Listing::All(fills) => fills.partition_point(|fill| fill.updated_micros < micros),
            Listing::Of(fills, places) => places.partition_point(|place| {
                fills.get(*place as usize).is_some_and(|fill| fill.updated_micros < micros)
            }),
        }
    }

    /// The position in the ledger of the n-th fill of this listing.
    fn place(&self, position: usize) -> usize {
        match self {
            Listing::All(_) => position,
            Listing::Of(_, places) => places.get(position).map_or(usize::MAX, |p| *p as usize),
        }
    }
}

impl Ledger {
    fn new(
        seed: u64,
        (market, number): (&'static str, u64),
        count: usize,
        days: &[Date],
        securities: &Securities,
    ) -> Self {
        let mut rng = SeededRng::new(seed, &format!("fills {number}"));
        let sessions = sessions(market);
        let session_micros = sessions.length() * 1_000_000;
        let listed: Vec<_> = securities.stocks(market).take(36).collect();
        let mut levels: Vec<i64> = listed.iter().map(|stock| stock.price).collect();
        let mut stocks: Vec<Traded> = listed
            .iter()
            .map(|stock| Traded {
                code: stock.code.clone(),
                json: format!(r#""code":"{}","stock_name":"{}""#, stock.code, stock.name),
                places: Vec::new(),
            })
            .collect();
        let mut fills = Vec::with_capacity(count);
        let mut group = Group { order: 0, left: 0, stock: 0, side: 0, broker: 0 };
        let mut previous = 0;
        for (day_number, day) in days.iter().enumerate() {
            let first = count * day_number / days.len().max(1);
            let of_day = count * (day_number + 1) / days.len().max(1) - first;
            let slot = session_micros / (of_day as i64 + 1);
            for level in &mut levels {
                *level += *level * rng.between(-150, 150) / 10_000;
            }
            for number_of_day in 0..of_day {
                if group.left == 0 {
                    group = Group {
                        order: group.order + 1 + rng.below(9) as u32,
                        left: 1 + rng.below(4) as u32,
                        stock: rng.below(listed.len() as u64) as usize,
                        side: rng.below(2) as u8,
                        broker: rng.below(BROKERS.len() as u64) as u8,
                    };
                }
                group.left -= 1;
                let Some(stock) = listed.get(group.stock) else { continue };
                // Each fill has a slot of its own, so that the times ascend; a few have the same
                // microsecond as the one before.
                let into = slot * number_of_day as i64 + rng.below(slot.max(1) as u64) as i64;
                let same = number_of_day > 0 && rng.below(32) == 0;
                let updated_micros = if same { previous } else { sessions.at(*day, into) };
                previous = updated_micros;
                let level = levels.get(group.stock).copied().unwrap_or(stock.price);
                let price = level + level * rng.between(-60, 60) / 10_000;
                let lots = if stock.lot_size == 1 { 500 } else { 20 };
                let cancelled = u8::from(rng.below(400) == 0);
                let place = fills.len() as u32;
                if let Some(traded) = stocks.get_mut(group.stock) {
                    traded.places.push(place);
                }
                fills.push(Fill {
                    updated_micros,
                    created_before_micros: rng.below(1_500_000) as u32,
                    quantity: stock.lot_size * (1 + rng.below(lots) as u32),
                    price: u32::try_from(prices::on_ladder(market, price)).unwrap_or(u32::MAX),
                    order: group.order,
                    stock: group.stock as u16,
                    broker: group.broker,
                    marks: group.side | cancelled << 1,
                });
            }
        }
        Ledger { market, fills, stocks, number }
    }

    fn listing(&self, code: &str) -> Listing<'_> {
        if code.is_empty() {
            return Listing::All(&self.fills);
        }
        let traded = self.stocks.iter().find(|stock| stock.code == code);
        Listing::Of(&self.fills, traded.map_or(&[], |stock| &stock.places))
    }

    fn write(&self, place: usize, out: &mut Vec<u8>) {
        let Some(fill) = self.fills.get(place) else { return };
        let side = SIDES.get(usize::from(fill.marks & 1)).copied().unwrap_or_default();
        let status = STATUSES.get(usize::from(fill.marks >> 1)).copied().unwrap_or_default();
        let stock = self.stocks.get(usize::from(fill.stock)).map_or("", |stock| &stock.json);
        let (broker_id, broker) =
            BROKERS.get(usize::from(fill.broker)).copied().unwrap_or_default();
        let deal_id = DEAL_IDS_FROM + self.number * 1_000_000_000_000 + place as u64 * 7;
        let order_id = ORDER_IDS_FROM + self.number * 1_000_000_000_000 + u64::from(fill.order);
        let price = prices::shown(self.market, i64::from(fill.price));
        let created = fill.updated_micros - i64::from(fill.created_before_micros);
        let mut numbers = itoa::Buffer::new();
        let mut text = |text: &str| out.extend_from_slice(text.as_bytes());
        text(r#"{"trd_side":""#);
        text(side);
        text(r#"","deal_id":""#);
        text(numbers.format(deal_id));
        text(r#"","order_id":""#);
        text(numbers.format(order_id));
        text(r#"","#);
        text(stock);
        text(r#","qty":""#);
        text(numbers.format(fill.quantity));
        text(r#"","price":""#);
        text(&price);
        text(r#"","create_time":"#);
        text(numbers.format(created));
        text(r#","updated_time":"#);
        text(numbers.format(fill.updated_micros));
        text(r#","counter_broker_id":"#);
        text(numbers.format(broker_id));
        text(r#","counter_broker_name":""#);
        text(broker);
        text(r#"","status":""#);
        text(status);
        text(r#""}"#);
    }
}

/// The fills of one order.
struct Group {
    order: u32,
    left: u32,
    stock: usize,
    side: u8,
    broker: u8,
}

/// The range of update times, both ends included; 90 days long if one of them is open.
fn span(arguments: &Arguments) -> Result<(i64, i64), Rejection> {
    let days = DEFAULT_DAYS * MICROS_PER_DAY;
    let start = arguments.integer("start").unwrap_or_default();
    let end = arguments.integer("end").unwrap_or_default();
    match (start, end) {
        (0, 0) => {
            let now = arguments.now_ms.saturating_mul(1_000);
            Ok((now - days, now))
        }
        (0, end) => Ok((end.saturating_sub(days), end)),
        (start, 0) => Ok((start, start.saturating_add(days))),
        (start, end) if start < end => Ok((start, end)),
        (start, end) => Err(Rejection::invalid(format!("end {end} is not after start {start}"))),
    }
}
