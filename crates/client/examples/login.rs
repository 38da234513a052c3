//! Logs in by OAuth 2.1 with PKCE, and calls the service with the tokens. The sandbox's demo user
//! plays the person at the browser.
//!
//! ```text
//! cargo run -p boardlot-client --example login
//! ```
#![expect(clippy::print_stdout, reason = "it shows what it received")]

use std::sync::Arc;

use boardlot_client::{
    BaseUrl, Client, ClientOptions, Credentials, LoginFlow, LoginOptions, MemoryStore, Result,
    endpoints::DIVIDENDS,
};
use boardlot_sandbox::{Options, Sandbox};

#[tokio::main]
async fn main() -> Result<()> {
    let runtime = tokio::runtime::Handle::current();
    let sandbox = Sandbox::start(Options::default(), &runtime)?;
    let base_url = BaseUrl::parse(sandbox.base_url())?;

    // `KeychainStore` and `EncryptedFileStore` keep the tokens for the next run.
    let mut options = LoginOptions::new(Arc::new(MemoryStore::default()));
    options.client_name = "example".to_owned();
    let flow = LoginFlow::begin(base_url, options).await?;
    println!("Log in at {}", flow.url());

    // For a person: `flow.open_browser()`, then `flow.wait().await`.
    let callback_url = sandbox.authorize_demo_user(flow.url(), None)?;
    let oauth = flow.finish(&callback_url).await?;
    println!("scopes: {}", oauth.stored_token().await?.scopes.join(" "));

    let options = ClientOptions::of(Credentials::OAuth(oauth));
    let client = Client::new(sandbox.base_url(), options)?;
    let dividends = client.call(DIVIDENDS, &[("symbol", "US.AAPL".into())]).await?;
    println!("{} dividends", dividends.len());
    Ok(())
}
