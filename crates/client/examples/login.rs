//! Logs in by OAuth 2.1 with PKCE, and calls the service with the tokens. The sandbox's demo user
//! plays the person at the browser.
//!
//! ```text
//! cargo run -p boardlot-client --example login
//! ```
#![expect(clippy::print_stdout, reason = "it shows what it received")]

use std::sync::Arc;

use boardlot_client::{
    api::{Argument, endpoint},
    auth::{Credentials, store::Memory},
    client::Client,
    error::{Error, Result},
    http::{BaseUrl, TransportOptions},
    login::{Flow, Options},
};
use boardlot_sandbox::{Options as SandboxOptions, Sandbox};

#[tokio::main]
async fn main() -> Result<()> {
    let runtime = tokio::runtime::Handle::current();
    let sandbox = Sandbox::start(SandboxOptions::default(), &runtime)?;
    let base_url = BaseUrl::parse(sandbox.base_url())?;

    // `Keychain` and `EncryptedFile` keep the tokens for the next run.
    let store = Arc::new(Memory::default());
    let options = Options { client_name: "example".to_owned(), ..Options::new(store.into()) };
    let flow = Flow::begin(base_url.clone(), options).await?;
    println!("Log in at {}", flow.url());

    // For a person: `flow.open_browser()`, then `flow.wait().await`.
    let callback_url = sandbox.authorize_demo_user(flow.url(), None)?;
    let oauth = flow.finish(&callback_url).await?;
    println!("scopes: {}", oauth.stored_token().await?.scopes.join(" "));

    let credentials = Credentials::OAuth(oauth);
    let client = Client::new(base_url, Some(credentials), TransportOptions::default())?;
    let dividends =
        endpoint("dividends").ok_or_else(|| Error::config("the table has no such endpoint"))?;
    let symbol = Argument::Text("US.AAPL".to_owned());
    println!("{} dividends", client.call(dividends, &[("symbol", symbol)]).await?.len());
    Ok(())
}
