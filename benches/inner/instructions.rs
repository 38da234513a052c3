//! Counts the instructions that the hot parts of the core take, by callgrind: `tools/instructions`.
//!
//! Times differ from run to run and from machine to machine. Counts hardly do, so CI can compare
//! the counts of a change with the counts of the commit before it.

use std::{hint::black_box, sync::Arc};

use boardlot_client::extension::{
    api::{Argument, ResponseShape, Schema, endpoint},
    auth::{Algorithm, Credentials, KeyPair, generate, signed_headers},
    client::{Client, ClientOptions},
    decode::{BatchBuilder, ColumnOptions, Columns, Page, PageSlice},
    http::{BaseUrl, RequestPlan},
    pages::{Limits, Pages},
};
use boardlot_inner_benches::{
    ROWS, parsed, response_body,
    server::{self, PAGES},
};
use bytes::Bytes;
use gungraun::{library_benchmark, library_benchmark_group, main};
use http::HeaderMap;
use tokio::runtime::{Builder, Runtime};

fn page() -> Arc<Page> {
    Arc::new(parsed(&response_body()).expect("a page"))
}

fn key() -> KeyPair {
    let (pem, _) = generate(Algorithm::Ed25519, 0).expect("a key");
    KeyPair::read(pem.as_bytes(), None).expect("the same key")
}

#[library_benchmark]
#[bench::of_50_fills(response_body())]
fn scan_a_page(body: Bytes) -> Page {
    parsed(black_box(&body)).expect("a page")
}

fn columns() -> Columns {
    let Some(ResponseShape::Rows(_, Schema::One(record))) =
        endpoint("fills_history").map(|row| row.response.clone())
    else {
        unreachable!("fills have one record")
    };
    let fields: Vec<_> = record.fields().collect();
    Columns::new(fields.iter().copied(), None, None, ColumnOptions::default())
}

#[library_benchmark]
#[bench::of_50_fills(page())]
fn page_to_columns(page: Arc<Page>) -> usize {
    let mut columns = columns();
    let slice = PageSlice { page, range: 0..ROWS, key: None };
    columns.push_slice(&slice).expect("columns");
    columns.finish().expect("a batch").num_rows()
}

#[library_benchmark]
#[bench::with_ed25519(key())]
fn sign_a_request(key: KeyPair) -> usize {
    let line = ("GET", "/api/v1.0/accounts/281756/fills_history", "trd_market=HK&page_flag=");
    let headers = signed_headers("key-id", &key, 1_790_000_000_000, black_box(line), b"");
    size_of_val(&black_box(headers).expect("a signature"))
}

#[library_benchmark]
#[bench::of_fills(BaseUrl::parse("https://api.example.com").expect("a base URL"))]
fn build_a_request(base: BaseUrl) -> usize {
    let fills = endpoint("fills_history").expect("an endpoint");
    let text = |text: &str| Argument::Text(text.to_owned());
    let arguments = [("acc_id", text("281756")), ("trd_market", text("HK"))];
    let plan = RequestPlan::new(fills, black_box(&arguments)).expect("a plan");
    let request = plan.request(&base, &HeaderMap::new(), None, None);
    size_of_val(&black_box(request).expect("a request"))
}

/// A client with an open connection, on a runtime of this thread alone: only its own instructions count.
struct Connected {
    runtime: Runtime,
    client: Client,
}

impl Connected {
    fn new() -> Self {
        let runtime = Builder::new_current_thread().enable_all().build().expect("a runtime");
        let credentials = Credentials::api_key("key-id".to_owned(), Arc::new(key()));
        let options = ClientOptions::of(credentials.expect("credentials"));
        let client = Client::new(&server::start().expect("a server"), options);
        let connected = Connected { runtime, client: client.expect("a client") };
        // Opens the connection, and does all work that is done only once.
        connected.orders();
        connected.frame();
        connected
    }

    fn orders(&self) -> usize {
        let orders = endpoint("sim_orders").expect("an endpoint");
        let arguments = [("acc_id", Argument::Text("1".to_owned()))];
        self.runtime.block_on(self.client.call(orders, &arguments)).expect("orders").len()
    }

    fn frame(&self) -> usize {
        let fills = endpoint("fills_history").expect("an endpoint");
        let text = |text: &str| Argument::Text(text.to_owned());
        let arguments = [
            ("acc_id", text("281756")),
            ("trd_market", text("HK")),
            ("start", Argument::Integer(1_780_000_000_000_000)),
            ("end", Argument::Integer(1_787_000_001_000_000)),
        ];
        let pages: Pages = self.client.pages(fills, &arguments, None, None).expect("a list");
        let progress = Arc::default();
        let sink = || BatchBuilder::new(columns);
        let gathered = self.runtime.block_on(async {
            let mut fetcher = pages.lock().await.expect("a fetcher");
            pages.gather(&mut fetcher, Limits::default(), &progress, sink).await
        });
        let (_, parts) = gathered.expect("all pages");
        let columns = parts.into_iter().flat_map(BatchBuilder::finish);
        columns.map(|columns| columns.finish().expect("a batch").num_rows()).sum()
    }
}

#[library_benchmark]
#[bench::of_50_orders(Connected::new())]
fn whole_request(connected: Connected) -> Connected {
    assert_eq!(black_box(&connected).orders(), ROWS);
    connected
}

#[library_benchmark]
#[bench::of_1000_fills(Connected::new())]
fn whole_frame(connected: Connected) -> Connected {
    assert_eq!(black_box(&connected).frame(), ROWS * PAGES);
    connected
}

library_benchmark_group!(
    name = hot_parts;
    benchmarks = scan_a_page, page_to_columns, sign_a_request, build_a_request, whole_request,
        whole_frame
);

main!(library_benchmark_groups = hot_parts);
