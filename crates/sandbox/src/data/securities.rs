//! The securities that the sandbox knows: public names with rough prices, continuous futures, and
//! invented stocks in Hong Kong if a plate has more constituents than there are names.

use std::{collections::BTreeMap, iter::zip, sync::LazyLock};

/// The known values of a request or a security, by name.
pub type Words = BTreeMap<String, String>;

/// The columns of the file: the code without its market, the English, Simplified and Traditional
/// Chinese names, the lot, the rough price, and the kind: `stock`, `reit`, `etf`, `index`,
/// `warrant` or `future`.
const COLUMNS: [&str; 7] = ["bare", "name", "sc", "tc", "lot", "price", "kind"];

static LISTED: LazyLock<BTreeMap<String, Vec<[String; 7]>>> =
    LazyLock::new(|| serde_json::from_str(include_str!("securities.json")).unwrap_or_default());

/// Code of the first invented stock.
const INVENTED_FROM: usize = 100_001;

/// Returns the security with this code; `hong_kong` is the number of stocks in that market.
pub fn security(code: &str, hong_kong: usize) -> Option<Words> {
    let (market, bare) = code.split_once('.')?;
    let rows = LISTED.get(market)?;
    if let Some(row) = rows.iter().find(|[own, ..]| own == bare) {
        return Some(words(market, row));
    }
    // A contract with a month belongs to a continuous one.
    let continuous = format!("{}main", bare.get(..bare.len().saturating_sub(4))?);
    if rows.iter().any(|[own, ..]| *own == continuous) {
        return Some(Words::from([("kind".to_owned(), "contract".to_owned())]));
    }
    let number = bare.parse::<usize>().ok()?.checked_sub(INVENTED_FROM)?;
    (market == "HK" && number < invented_count(hong_kong)).then(|| invented(number))
}

/// Returns the stocks of a market, in Hong Kong this many; the listed names first.
pub fn stocks(market: &str, hong_kong: usize) -> impl Iterator<Item = Words> + use<> {
    let (most, more) = match market {
        "HK" => (hong_kong, invented_count(hong_kong)),
        _ => (usize::MAX, 0),
    };
    let rows = LISTED.get(market).into_iter().flatten().filter(|row| is_stock(row));
    let names: Vec<Words> = rows.take(most).map(|row| words(market, row)).collect();
    names.into_iter().chain((0..more).map(invented))
}

fn is_stock([.., kind]: &[String; 7]) -> bool {
    kind == "stock" || kind == "reit"
}

fn invented_count(hong_kong: usize) -> usize {
    let names = LISTED.get("HK").map_or(0, |rows| rows.iter().filter(|row| is_stock(row)).count());
    hong_kong.saturating_sub(names)
}

fn words(market: &str, row: &[String; 7]) -> Words {
    let [bare, ..] = row;
    let root = bare.trim_end_matches("main");
    let known = [
        ("market", market.to_owned()),
        ("code", format!("{market}.{bare}")),
        ("root", format!("{market}.{root}")),
    ];
    let columns = zip(COLUMNS, row.iter().cloned());
    known.into_iter().chain(columns).map(|(name, word)| (name.to_owned(), word)).collect()
}

fn invented(number: usize) -> Words {
    let (code, nth) = (INVENTED_FROM + number, number + 1);
    let row = [
        &*format!("{code}"),
        &format!("EXAMPLE {nth}"),
        &format!("示例{nth}"),
        &format!("範例{nth}"),
        "500",
        "10.0",
        "stock",
    ];
    words("HK", &row.map(str::to_owned))
}
