//! Signs requests with an API key: a typed call, and a request to any path.
//!
//! ```text
//! cargo run -p boardlot-client --example sign_and_send
//! ```
#![expect(clippy::print_stdout, reason = "it shows what it received")]

use std::sync::Arc;

use ::http::HeaderMap;
use boardlot_client::{
    api::{Argument, endpoint},
    auth::{Algorithm, Credentials, KeyPair, generate},
    client::Client,
    error::{Error, Result},
    http::{BaseUrl, Body, RequestPlan, TransportOptions, method},
};
use boardlot_sandbox::{Options, Sandbox};

#[tokio::main]
async fn main() -> Result<()> {
    let sandbox = Sandbox::start(Options::default(), &tokio::runtime::Handle::current())?;

    // A new key, whose public half is uploaded to the service.
    let (private_pem, public_pem) = generate(Algorithm::Ed25519, 0)?;
    let key = KeyPair::read(private_pem.as_bytes(), None)?;
    let key_id = sandbox.upload_key(&public_pem)?;
    let credentials = Credentials::api_key(key_id, Arc::new(key))?;

    let base_url = BaseUrl::parse(sandbox.base_url())?;
    let client = Client::new(base_url, Some(credentials), TransportOptions::default())?;

    let dividends =
        endpoint("dividends").ok_or_else(|| Error::config("the table has no such endpoint"))?;
    let symbol = Argument::Text("HK.00700".to_owned());
    let rows = client.call(dividends, &[("symbol", symbol)]).await?;
    println!("{} dividends", rows.len());
    for row in rows.iter().take(3) {
        for (name, value) in row.members()? {
            print!("{name}={} ", value.get());
        }
        println!();
    }

    // Any other path is signed and sent in the same way; its response is returned unchanged.
    let path = "/api/v1.0/quote/HK.00700/corporate-actions/dividends";
    let plan = RequestPlan::custom(method("GET")?, path, Vec::new(), Body::None, HeaderMap::new());
    let response = client.request(&plan).await?;
    println!("{}: {} bytes", response.status(), response.body().len());
    Ok(())
}
