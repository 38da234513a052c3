//! Iterates over an endpoint that returns pages, and resumes from a checkpoint.
//!
//! ```text
//! cargo run -p boardlot-client --example paging
//! ```
#![expect(clippy::print_stdout, reason = "it shows what it received")]

use boardlot_client::{
    api::PLATE_STOCKS,
    auth::Credentials,
    client::{Client, ClientOptions},
    error::{Error, Result},
    pages::Pages,
};
use boardlot_sandbox::{Options, Sandbox};
use zeroize::Zeroizing;

#[tokio::main]
async fn main() -> Result<()> {
    let sandbox = Sandbox::start(Options::default(), &tokio::runtime::Handle::current())?;
    let token = Zeroizing::new(sandbox.add_bearer_token());
    let credentials = Some(Credentials::bearer(token)?);
    let options = ClientOptions { credentials, ..ClientOptions::default() };
    let client = Client::new(sandbox.base_url(), options)?;

    let arguments = [("plate_code", "HK.BK1001".into())];
    let pages: Pages = client.pages(&PLATE_STOCKS, &arguments, None, None)?;
    let mut received = 0;
    while received < 120 && pages.next_row().await?.is_some() {
        received += 1;
    }
    let checkpoint = pages.checkpoint()?;
    println!("{received} records, then stopped at {checkpoint}");

    // Another process can resume from there.
    let pages: Pages = client.pages(&PLATE_STOCKS, &arguments, None, Some(&checkpoint))?;
    while let Some(slice) = pages.next_page().await? {
        received += slice.range.len();
        println!("{} more records", slice.range.len());
    }
    println!("{received} records in all");
    if received == Options::default().plate_stocks {
        Ok(())
    } else {
        Err(Error::pagination("records are missing"))
    }
}
