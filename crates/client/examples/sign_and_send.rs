//! Signs requests with an API key: a typed call, and a request to any path.
//!
//! ```text
//! cargo run -p boardlot-client --example sign_and_send
//! ```
#![expect(clippy::print_stdout, reason = "it shows what it received")]

use ::http::{HeaderMap, Method};
use boardlot_client::{
    Algorithm, Body, Client, ClientOptions, Credentials, KeyPair, RequestPlan, Result,
    endpoints::DIVIDENDS, generate_key,
};
use boardlot_sandbox::{Options, Sandbox};
use serde::Deserialize;

/// Some fields of a dividend, as the service sends them.
#[derive(Deserialize)]
struct Dividend {
    statement: String,
    dividend_per_share: f64,
    ex_date: String,
}

#[tokio::main]
async fn main() -> Result<()> {
    let sandbox = Sandbox::start(Options::default(), &tokio::runtime::Handle::current())?;

    // A new key, whose public half is uploaded to the service.
    let (private_pem, public_pem) = generate_key(Algorithm::Ed25519, 0)?;
    let key = KeyPair::read(private_pem.as_bytes(), None)?;
    let key_id = sandbox.upload_key(&public_pem)?;
    let options = ClientOptions::of(Credentials::api_key(key_id, key)?);
    let client = Client::new(sandbox.base_url(), options)?;

    let rows = client.call(DIVIDENDS, &[("symbol", "HK.00700".into())]).await?;
    println!("{} dividends", rows.len());
    for row in rows.iter().take(3) {
        let Dividend { statement, dividend_per_share, ex_date } = row.deserialize()?;
        println!("{ex_date}: {dividend_per_share} ({statement})");
    }

    // Any other path is signed and sent in the same way; its response is returned unchanged.
    let path = "/api/v1.0/quote/HK.00700/corporate-actions/dividends";
    let plan = RequestPlan::custom(Method::GET, path, Vec::new(), Body::None, HeaderMap::new());
    let response = client.request(&plan).await?;
    println!("{}: {} bytes", response.status(), response.body().len());
    Ok(())
}
