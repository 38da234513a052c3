//! The data of each endpoint: built-in rows, and rows that tests supply.

pub mod calendar;
pub mod fills;
pub mod rows;
mod securities;
mod templates;

use std::sync::{Arc, LazyLock};

use boardlot_service::{
    api::{ENDPOINTS, EndpointRef, midnight},
    endpoint_file,
};
use jiff::civil::Date;
use serde_json::json;

use crate::{
    options::Options,
    wire::{
        arguments::Arguments,
        envelope::{HandlerResult, Rejection},
    },
};
use calendar::trading_days;
use rows::{CustomRows, Lists, Row};
use securities::{Words, security};
use templates::{Basis, expand};

/// Maximum number of dividends (section 8).
const DIVIDENDS_MAX: usize = 100;

/// The accounts of the demo user by their kinds. One id is too large for a 64-bit float to hold
/// exactly.
pub const ACCOUNTS: [(&str, &[&str]); 3] = [
    ("crypto", &["9007199254740993", "1001001"]),
    ("sim", &["5001", "5002"]),
    ("trade", fills::ACCOUNTS),
];

static HISTORIES: LazyLock<Vec<EndpointRef>> = LazyLock::new(|| {
    let file = endpoint_file::parse("histories.toml", include_str!("histories.toml"));
    let endpoints = file.unwrap_or_default().into_values();
    endpoints.map(|(_, endpoint)| EndpointRef::from(Arc::new(endpoint))).collect()
});

/// Returns the table's endpoints, and the endpoints that the service document names without a path.
pub fn endpoints() -> impl Iterator<Item = EndpointRef> {
    ENDPOINTS.iter().map(|endpoint| EndpointRef::from(*endpoint)).chain(HISTORIES.iter().cloned())
}

/// The built-in data, which depend only on the seed and the date.
#[derive(Debug)]
pub struct Data {
    basis: Basis,
    lists: Lists,
}

impl Data {
    pub fn new(options: &Options, today: Date) -> Self {
        let Options { seed, fills, orders, plate_stocks, .. } = *options;
        let basis = Basis { seed, midnight: midnight(today), fills, orders, plate_stocks };
        Data { basis, lists: Lists::default() }
    }

    /// Answers a request with these rows of a test, or with the built-in ones.
    pub fn respond(&self, custom: Option<&CustomRows>, arguments: &Arguments) -> HandlerResult {
        let (seed, name) = (self.basis.seed, &*arguments.endpoint.name);
        match (custom, name) {
            (Some(custom), _) => {
                let (most, of_market) = (usize::MAX, custom.of_market());
                custom.lists.respond(seed, arguments, most, of_market, || Ok(custom.rows.clone()))
            }
            (None, "server_time") => {
                let now_ms = arguments.now_ms.to_string();
                Ok(json!({ "server_time_ms": now_ms }).to_string().into_bytes())
            }
            (None, "fills_history") => fills::history(self.basis, arguments),
            (None, _) => {
                self.lists.respond(seed, arguments, DIVIDENDS_MAX, false, || self.rows(arguments))
            }
        }
    }

    fn rows(&self, arguments: &Arguments) -> Result<Vec<Row>, Rejection> {
        if arguments.endpoint.name == "trading_days" {
            return trading_days(arguments);
        }
        let names = ["symbol", "acc_id", "plate_code", "market", "request_type"];
        let sent = names.iter().filter_map(|name| Some((*name, arguments.get(name)?)));
        let orders = self.basis.orders.to_string();
        let words = sent.chain([("orders", orders.as_str())]);
        let mut words: Words =
            words.map(|(name, text)| (name.to_owned(), text.to_owned())).collect();
        let [symbol, account, plate] =
            ["symbol", "acc_id", "plate_code"].map(|n| arguments.text(n));
        if !symbol.is_empty() {
            let known = security(symbol, self.basis.plate_stocks);
            words.extend(known.ok_or_else(|| Rejection::invalid_symbol(symbol))?);
        }
        if let Some((market, _)) = plate.split_once('.') {
            words.insert("market".to_owned(), market.to_owned());
        }
        match expand(&arguments.endpoint, &words, self.basis) {
            Some(rows) => Ok(rows),
            None if !account.is_empty() => Err(Rejection::unknown_account(account)),
            None if !plate.is_empty() => Err(Rejection::invalid_symbol(plate)),
            // The endpoint has no records for this security.
            None => Ok(Vec::new()),
        }
    }
}
