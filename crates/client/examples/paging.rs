//! Iterates over an endpoint that returns pages, and resumes from a checkpoint.
//!
//! ```text
//! cargo run -p boardlot-client --example paging
//! ```
#![expect(clippy::print_stdout, reason = "it shows what it received")]

use std::pin::pin;

use boardlot_client::{Client, ClientOptions, Credentials, Error, Result, endpoints::PLATE_STOCKS};
use boardlot_sandbox::{Options, Sandbox};
use futures_util::TryStreamExt;

#[tokio::main]
async fn main() -> Result<()> {
    let sandbox = Sandbox::start(Options::default(), &tokio::runtime::Handle::current())?;
    let options = ClientOptions::of(Credentials::bearer(sandbox.add_bearer_token())?);
    let client = Client::new(sandbox.base_url(), options)?;

    let arguments = [("plate_code", "HK.BK1001".into())];
    let pages = client.pages(PLATE_STOCKS, &arguments, None, None)?;
    let first = pages.after(None).await?.ok_or_else(|| Error::pagination("there is no page"))?;
    let mut received = 40;
    let checkpoint = first.checkpoint(received)?;
    println!("{received} records, then stopped at {checkpoint}");

    // Another process can resume from there, within the page.
    let pages = client.pages(PLATE_STOCKS, &arguments, None, Some(&checkpoint))?;
    let mut stream = pin!(pages.stream());
    while let Some(page) = stream.try_next().await? {
        received += page.len() - page.first();
        println!("{} more records", page.len() - page.first());
    }
    println!("{received} records in all");
    if received == Options::default().plate_stocks {
        Ok(())
    } else {
        Err(Error::pagination("records are missing"))
    }
}
