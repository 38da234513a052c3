//! Records as a stream: it borrows nothing, and is the same list as that of pages.

use boardlot_client::{
    Client, ClientOptions, Credentials, Endpoint, ErrorKind, OwnedRecord, RecordStream, Result,
    endpoints::{DIVIDENDS, PLATE_STOCKS},
};
use boardlot_sandbox::{Options, Sandbox};
use futures_util::{StreamExt, TryStreamExt};

fn client(sandbox: &Sandbox) -> Client {
    let credentials = Credentials::bearer(sandbox.add_bearer_token()).expect("a token");
    Client::new(sandbox.base_url(), ClientOptions::of(credentials)).expect("a client")
}

fn sandbox() -> Sandbox {
    Sandbox::start(Options::default(), &tokio::runtime::Handle::current()).expect("a sandbox")
}

/// A stream whose client and arguments are gone.
fn stream(sandbox: &Sandbox, endpoint: &Endpoint) -> RecordStream {
    let name = endpoint.arguments().next().expect("an argument").name.to_string();
    let value = if name == "symbol" { "HK.00700" } else { "HK.BK1001" };
    client(sandbox).records(endpoint, &[(name, value.into())]).expect("a stream")
}

async fn collected(stream: RecordStream) -> Result<Vec<OwnedRecord>> {
    // It can be moved into a task, and its records out of it.
    tokio::spawn(stream.try_collect()).await.expect("a task")
}

#[tokio::test]
async fn a_stream_has_the_records_of_the_call_in_their_order() {
    let sandbox = sandbox();
    for (endpoint, name, value) in
        [(DIVIDENDS, "symbol", "HK.00700"), (PLATE_STOCKS, "plate_code", "HK.BK1001")]
    {
        let rows = client(&sandbox).call(endpoint, &[(name, value.into())]).await.expect("rows");
        let records = collected(stream(&sandbox, endpoint)).await.expect("records");
        assert!(records.len() > 20);
        let texts = records.iter().map(OwnedRecord::text);
        assert!(texts.eq(rows.iter().map(|record| record.text())), "{}", endpoint.name);
    }
}

#[tokio::test]
async fn a_record_is_read_as_a_type_and_outlives_its_stream() {
    #[derive(serde::Deserialize)]
    struct Stock {
        code: String,
    }
    let sandbox = sandbox();
    let first = stream(&sandbox, PLATE_STOCKS).try_next().await.expect("a record");
    let stock: Stock = first.expect("a record").deserialize().expect("a stock");
    assert!(stock.code.starts_with("HK."));
}

#[tokio::test]
async fn a_record_knows_the_checkpoint_after_it() {
    let sandbox = sandbox();
    let all = collected(stream(&sandbox, PLATE_STOCKS)).await.expect("records");
    let arguments = [("plate_code", "HK.BK1001".into())];
    for received in [1, 50, 51, all.len()] {
        let checkpoint = all[received - 1].checkpoint().expect("a checkpoint").expect("of pages");
        let client = client(&sandbox);
        let rest = client.pages(PLATE_STOCKS, &arguments, None, Some(&checkpoint)).expect("pages");
        let rest = collected(rest.into_records()).await.expect("records");
        let texts = rest.iter().map(OwnedRecord::text);
        assert!(texts.eq(all[received..].iter().map(OwnedRecord::text)), "after {received}");
    }
    let single = collected(stream(&sandbox, DIVIDENDS)).await.expect("records");
    assert_eq!(single[0].checkpoint().expect("no error"), None);
}

#[tokio::test]
async fn arguments_are_checked_before_the_stream_and_an_error_ends_it() {
    let sandbox = sandbox();
    let refused = client(&sandbox).records(DIVIDENDS, &[("stock", "HK.00700".into())]);
    assert!(matches!(*refused.expect_err("no such argument").kind, ErrorKind::Config(_)));
    assert_eq!(sandbox.requests().len(), 0, "nothing is sent before the first record is asked for");

    let mut broken = client(&sandbox)
        .records(DIVIDENDS, &[("symbol", "HK.99999".into())])
        .expect("a valid argument");
    assert!(matches!(
        *broken.next().await.expect("an error").expect_err("unknown").kind,
        ErrorKind::Api(_)
    ));
    assert!(broken.next().await.is_none());
}
