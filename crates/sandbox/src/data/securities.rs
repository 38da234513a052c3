//! The securities that the sandbox knows: public names with rough prices, and invented stocks in Hong
//! Kong if a plate has more constituents than there are names.

use std::{collections::BTreeMap, sync::LazyLock};

/// Code, English, Simplified and Traditional Chinese name, lot, rough price, kind.
type Listed = (String, String, String, String, u32, f64, String);

static LISTED: LazyLock<BTreeMap<String, Vec<Listed>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("securities.json")).unwrap_or_default());

/// The first code of an invented stock.
const INVENTED_FROM: usize = 100_001;

/// A security of a market.
#[derive(Debug, Clone)]
pub struct Security {
    pub market: String,
    /// The code with its market: `HK.00700`.
    pub code: String,
    pub name: String,
    pub sc_name: String,
    pub tc_name: String,
    pub lot_size: u32,
    pub price: f64,
    /// `stock`, `reit`, `etf`, `index` or `warrant`.
    pub kind: String,
}

/// The security with this code; `hong_kong` is how many stocks that market has.
pub fn security(code: &str, hong_kong: usize) -> Option<Security> {
    let (market, own) = code.split_once('.')?;
    let rows = LISTED.get(market)?;
    if let Some(row) = rows.iter().find(|row| row.0 == own) {
        return Some(listed(market, row));
    }
    let number = own.parse::<usize>().ok()?.checked_sub(INVENTED_FROM)?;
    (market == "HK" && number < invented_count(hong_kong)).then(|| invented(number))
}

/// The stocks of a market, in Hong Kong this many; the listed names first.
pub fn stocks(market: &str, hong_kong: usize) -> impl Iterator<Item = Security> + use<'_> {
    let (most, more) = match market {
        "HK" => (hong_kong, invented_count(hong_kong)),
        _ => (usize::MAX, 0),
    };
    let rows = LISTED.get(market).into_iter().flatten();
    let names = rows.filter(|row| is_stock(row)).map(move |row| listed(market, row));
    names.take(most).chain((0..more).map(invented))
}

fn is_stock(row: &Listed) -> bool {
    ["stock", "reit"].contains(&row.6.as_str())
}

fn invented_count(hong_kong: usize) -> usize {
    let names = LISTED.get("HK").map_or(0, |rows| rows.iter().filter(|row| is_stock(row)).count());
    hong_kong.saturating_sub(names)
}

fn listed(market: &str, row: &Listed) -> Security {
    let (code, name, sc_name, tc_name, lot_size, price, kind) = row.clone();
    let code = format!("{market}.{code}");
    Security { market: market.to_owned(), code, name, sc_name, tc_name, lot_size, price, kind }
}

fn invented(number: usize) -> Security {
    Security {
        market: "HK".to_owned(),
        code: format!("HK.{}", INVENTED_FROM + number),
        name: format!("EXAMPLE {}", number + 1),
        sc_name: format!("示例{}", number + 1),
        tc_name: format!("範例{}", number + 1),
        lot_size: 500,
        price: 10.0,
        kind: "stock".to_owned(),
    }
}
