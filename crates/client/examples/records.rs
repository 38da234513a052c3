//! Reads the fills of 30 days one after another, in a task of its own, and sums up what was traded.
//!
//! ```text
//! cargo run -p boardlot-client --example records
//! ```
#![expect(clippy::print_stdout, reason = "it shows what it received")]

use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use boardlot_client::{
    Client, ClientOptions, Credentials, Error, RecordStream, Result, endpoints::FILLS_HISTORY,
};
use boardlot_sandbox::{ACCOUNTS, Options, Sandbox};
use futures_util::TryStreamExt;
use serde::Deserialize;

/// The fields that are summed up. Decimal numbers are sent as texts.
#[derive(Deserialize)]
struct Fill {
    code: String,
    qty: String,
    price: String,
}

/// The stream borrows nothing: neither the client nor the arguments.
fn fills(client: &Client, account: &str, days: u64) -> Result<RecordStream> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let start = now.saturating_sub(Duration::from_secs(days * 86_400)).as_micros();
    let start = i64::try_from(start).unwrap_or_default();
    let arguments =
        [("acc_id", account.into()), ("trd_market", "HK".into()), ("start", start.into())];
    client.records(FILLS_HISTORY, &arguments)
}

#[tokio::main]
async fn main() -> Result<()> {
    let sandbox = Sandbox::start(Options::default(), &tokio::runtime::Handle::current())?;
    let options = ClientOptions::of(Credentials::bearer(sandbox.add_bearer_token())?);
    let client = Client::new(sandbox.base_url(), options)?;
    let accounts = ACCOUNTS.iter().find(|(kind, _)| *kind == "trade");
    let account = accounts.and_then(|(_, ids)| ids.first()).copied().unwrap_or_default();

    let mut fills = fills(&client, account, 30)?;
    let summed = tokio::spawn(async move {
        let (mut count, mut turnover) = (0, BTreeMap::<String, f64>::new());
        while let Some(record) = fills.try_next().await? {
            let Fill { code, qty, price } = record.deserialize()?;
            let number = |text: &str| text.parse::<f64>().unwrap_or_default();
            *turnover.entry(code).or_default() += number(&qty) * number(&price);
            count += 1;
        }
        Ok::<_, Error>((count, turnover))
    });
    let (count, turnover) = summed.await.map_err(|error| Error::config(error.to_string()))??;
    println!("{count} fills of {} securities", turnover.len());
    for (code, amount) in turnover.iter().take(3) {
        println!("{code}: {amount:.0}");
    }
    if count > 0 { Ok(()) } else { Err(Error::config("there are no fills")) }
}
