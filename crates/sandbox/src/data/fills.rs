//! Historical fills (sections 2.8 and 4.3), latest first. Each fill is computed from its number
//! when it is requested, so that there can be millions.

use std::{collections::BTreeMap, fmt::Write as _, sync::LazyLock};

use boardlot_service::api::MICROS_PER_DAY;
use serde_json::{json, value::RawValue};

use super::{calendar::weekday, securities::stocks, templates::Basis};
use crate::{
    seeded_rng::SeededRng,
    wire::{
        arguments::Arguments,
        envelope::{Body, HandlerResult, Rejection},
        paging::page,
    },
};

/// The accounts with fills.
pub const ACCOUNTS: &[&str] = &["281756", "281757"];
/// Length of an open range (section 8).
const DEFAULT_DAYS: i64 = 90;
/// Maximum number of fills of an account in each market except Hong Kong.
const FILLS_ELSEWHERE: usize = 300;
/// The number of securities that an account trades.
const TRADED: usize = 36;
/// The weekdays of each half of the fills: how many weekdays before today they begin, and how many
/// there are. The first half is within the default range, and the second reaches back two years.
const RECENT: (i64, i64) = (1, 50);
const EARLIER: (i64, i64) = (66, 455);
/// The markets, each with its opening time in minutes of UTC; `SESSION_MICROS` is how long they are
/// open. A new market comes last, because the ids of fills depend on its index.
const SESSIONS: [(&str, i64); 8] = [
    ("HK", 90),
    ("US", 870),
    ("CN", 90),
    ("SG", 60),
    ("MY", 60),
    ("JP", 0),
    ("AU", 0),
    ("CA", 870),
];
const SESSION_MICROS: i64 = 390 * 60_000_000;
const DEAL_IDS_FROM: u64 = 7_400_000_000_000_000_000;
const ORDER_IDS_FROM: u64 = 6_200_000_000_000_000_000;
/// Number of fills of one order.
const OF_ORDER: usize = 3;
/// One in this many fills is cancelled.
const CANCELLED: u64 = 64;
const BROKERS: [(u32, &str); 4] = [
    (1053, "Harbour Securities"),
    (1127, "Lion Rock Brokerage"),
    (4090, "Hudson Execution Services"),
    (6998, "Straits Brokers"),
];

/// The fills of one account in one market.
struct Fills {
    market: &'static str,
    opens: i64,
    /// Number that makes the ids of accounts and markets differ.
    number: u64,
    /// Number of fills in the default range. There are as many before it.
    half: usize,
    stocks: &'static [Traded],
    noise: u64,
    today: i64,
}

/// A security that accounts trade.
struct Traded {
    code: String,
    /// The code and the name, as JSON.
    code_json: String,
    name_json: String,
    lot: u64,
    price: f64,
}

/// The securities of each market. They are the same for all seeds.
static TRADED_OF: LazyLock<BTreeMap<&'static str, Vec<Traded>>> = LazyLock::new(|| {
    let of = |market: &str| {
        let prefixes: &[&str] = if market == "CN" { &["SH", "SZ"] } else { &[market] };
        let stocks = prefixes.iter().flat_map(|prefix| stocks(prefix, TRADED)).take(TRADED);
        let traded = stocks.filter_map(|words| {
            let word = |name: &str| words.get(name).map_or("", String::as_str);
            Some(Traded {
                code: word("code").to_owned(),
                code_json: json!(word("code")).to_string(),
                name_json: json!(word("name")).to_string(),
                lot: word("lot").parse().ok()?,
                price: word("price").parse().ok()?,
            })
        });
        traded.collect()
    };
    SESSIONS.iter().map(|(market, _)| (*market, of(market))).collect()
});

/// Answers a request.
pub fn history(basis: Basis, arguments: &Arguments) -> HandlerResult {
    let fills = Fills::of(basis, arguments)?;
    let (start, end) = span(arguments)?;
    let latest = fills.older_than(end.saturating_add(1));
    let range = latest..fills.older_than(start).max(latest);
    let (body, code) = (Body::new(&arguments.endpoint), arguments.text("code"));
    // All fills of the range are examined only if there is a code.
    let is_of_code = |place: &usize| fills.stock(*place).is_some_and(|stock| stock.code == code);
    let of_code: Option<Vec<usize>> =
        (!code.is_empty()).then(|| range.clone().filter(is_of_code).collect());
    let count = of_code.as_ref().map_or(range.len(), Vec::len);
    page(body, basis.seed, arguments, count, |part| {
        let place = |index: usize| match &of_code {
            Some(places) => places.get(index).copied(),
            None => Some(range.start + index),
        };
        fills.records(part.filter_map(place))
    })
}

/// Returns the range of update times, including both ends; 90 days long if one of them is open.
fn span(arguments: &Arguments) -> Result<(i64, i64), Rejection> {
    let days = DEFAULT_DAYS * MICROS_PER_DAY;
    let bound = |name: &str| arguments.integer(name).filter(|micros| *micros != 0);
    match (bound("start"), bound("end")) {
        (Some(start), Some(end)) if start >= end => {
            Err(Rejection::invalid(format!("end {end} is not after start {start}")))
        }
        (Some(start), end) => Ok((start, end.unwrap_or(start.saturating_add(days)))),
        (None, end) => {
            let end = end.unwrap_or(arguments.now_ms.saturating_mul(1_000));
            Ok((end.saturating_sub(days), end))
        }
    }
}

impl Fills {
    fn of(basis: Basis, arguments: &Arguments) -> Result<Self, Rejection> {
        let (account, market) = (arguments.text("acc_id"), arguments.text("trd_market"));
        let Some(number) = ACCOUNTS.iter().position(|known| *known == account) else {
            return Err(Rejection::unknown_account(account));
        };
        let session = SESSIONS.iter().enumerate().find(|(_, (known, _))| *known == market);
        let Some((position, (market, opens))) = session else {
            let known = SESSIONS.map(|(market, _)| market).join(", ");
            let text = format!("trd_market is not a known market; expected one of {known}");
            return Err(Rejection::invalid(text));
        };
        let share = if number == 0 { basis.fills } else { basis.fills / 4 };
        let half = if position == 0 { share } else { share.min(FILLS_ELSEWHERE) };
        let mut rng = SeededRng::new(basis.seed, &format!("fills {account} {market}"));
        Ok(Fills {
            market,
            opens: *opens,
            number: (if position < 2 { number * 2 + position } else { position * 2 + number })
                as u64
                + 1,
            half,
            stocks: TRADED_OF.get(market).map_or(&[], Vec::as_slice),
            noise: rng.below(u64::MAX),
            today: basis.midnight / MICROS_PER_DAY,
        })
    }

    /// Returns a random number for a purpose and a number (SplitMix64).
    fn random(&self, what: u64, number: usize) -> u64 {
        let mixed = self.noise ^ (what << 56) ^ number as u64;
        let mixed = mixed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns the time of a fill's update, in microseconds: never later than the time of the fill
    /// before it.
    fn time(&self, place: usize) -> i64 {
        let recent = place < self.half;
        let (first, days) = if recent { RECENT } else { EARLIER };
        let number = if recent { place } else { place - self.half };
        // A few fills have the same microsecond as the one before.
        let repeats = usize::from(number % 32 == 31);
        let (place, number) = (place - repeats, number - repeats);
        // Each fill has a slot of its own in all the time in which the market was open.
        let open = i128::from(days * SESSION_MICROS);
        let slot = |number: usize| (open * number as i128 / self.half.max(1) as i128) as i64;
        let (begin, end) = (slot(number), slot(number + 1));
        let back = begin + (self.random(0, place) % (end - begin).max(1).unsigned_abs()) as i64;
        let day = weekday(self.today - 1, -(first - 1 + back / SESSION_MICROS), true);
        let closes = self.opens * 60_000_000 + SESSION_MICROS;
        day * MICROS_PER_DAY + closes - 1 - back % SESSION_MICROS
    }

    /// Returns the index of the latest fill before a time.
    fn older_than(&self, micros: i64) -> usize {
        let (mut low, mut high) = (0, self.half * 2);
        while low < high {
            let middle = low + (high - low) / 2;
            if self.time(middle) < micros { high = middle } else { low = middle + 1 }
        }
        low
    }

    fn order(&self, place: usize) -> usize {
        (self.half * 2 - 1 - place) / OF_ORDER
    }

    fn stock(&self, place: usize) -> Option<&Traded> {
        let which = self.random(1, self.order(place)) % self.stocks.len().max(1) as u64;
        self.stocks.get(which as usize)
    }

    /// Writes the fills at these indices as a JSON list. No tree of values is built: a page has 50
    /// fills, and clients read thousands of pages a second.
    fn records(&self, places: impl Iterator<Item = usize>) -> Box<RawValue> {
        let mut out = String::with_capacity(1 << 14);
        out.push('[');
        for place in places {
            if out.len() > 1 {
                out.push(',');
            }
            self.record(place, &mut out);
        }
        out.push(']');
        RawValue::from_string(out).unwrap_or_default()
    }

    fn record(&self, place: usize, out: &mut String) {
        let Some(Traded { code_json, name_json, lot, price, .. }) = self.stock(place) else {
            return;
        };
        let order = self.random(2, self.order(place));
        let side = if order.is_multiple_of(2) { "BUY" } else { "SELL" };
        let Some((broker_id, broker)) = BROKERS.get((order / 2 % 4) as usize) else { return };
        let random = self.random(3, place);
        let status = if random.is_multiple_of(CANCELLED) { "CANCELLED" } else { "OK" };
        let most = if *lot == 1 { 500 } else { 20 };
        let qty = lot * (1 + random / CANCELLED % most);
        let decimals = if self.market == "HK" { 3 } else { 2 };
        // The price is within two percent of the rough price, in cents.
        let share = (random >> 20) as i64 % 401 - 200;
        let price = (price * (1.0 + share as f64 / 10_000.0) * 100.0).round() / 100.0;
        let updated = self.time(place);
        let created = updated - ((random >> 30) % 1_500_000) as i64;
        let ids = self.number * 1_000_000_000_000;
        let deal = DEAL_IDS_FROM + ids + (self.half * 2 - place) as u64 * 7;
        let order_id = ORDER_IDS_FROM + ids + self.order(place) as u64;
        // Only text from the file of securities could need escapes, and the other values do not.
        let _ = write!(
            out,
            "{{\"trd_side\":\"{side}\",\"deal_id\":\"{deal}\",\"order_id\":\"{order_id}\",\"code\":{code_json},\
             \"stock_name\":{name_json},\"qty\":\"{qty}\",\"price\":\"{price:.decimals$}\",\
             \"create_time\":{created},\"updated_time\":{updated},\"counter_broker_id\":{broker_id},\
             \"counter_broker_name\":\"{broker}\",\"status\":\"{status}\"}}"
        );
    }
}
