//! How many instructions the hot parts of the core take, by callgrind: `make instructions`.
//!
//! A time differs from run to run and from machine to machine. A count hardly does, so that CI can
//! compare the counts of a change with those of the commit before it.

use std::{hint::black_box, sync::Arc};

use boardlot::{
    api::{Argument, ResponseShape, Schema, endpoint},
    auth::{Algorithm, KeyPair, SignedHeaders, Stamp, generate},
    decode::{ColumnOptions, Columns, Page, PageSlice},
    http::{BaseUrl, RequestPlan},
};
use boardlot_inner_benches::{ROWS, parsed, response_body};
use bytes::Bytes;
use gungraun::{library_benchmark, library_benchmark_group, main};
use http::HeaderMap;

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

#[library_benchmark]
#[bench::of_50_fills(page())]
fn page_to_columns(page: Arc<Page>) -> usize {
    let Some(ResponseShape::Rows(_, Schema::One(record))) =
        endpoint("fills_history").map(|row| row.response.clone())
    else {
        unreachable!("fills have one record")
    };
    let fields: Vec<_> = record.fields().collect();
    let mut columns = Columns::new(fields.iter().copied(), None, ColumnOptions::default());
    let slice = PageSlice { page, range: 0..ROWS, key: None };
    columns.push_slice(&slice).expect("columns");
    columns.finish().expect("a batch").num_rows()
}

#[library_benchmark]
#[bench::with_ed25519(key())]
fn sign_a_request(key: KeyPair) -> usize {
    let stamp = Stamp::new(1_790_000_000_000).expect("a nonce");
    let line = ("GET", "/api/v1.0/accounts/281756/fills_history", "trd_market=HK&page_flag=");
    let headers = SignedHeaders::sign("key-id", &key, stamp, black_box(line), b"");
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

library_benchmark_group!(
    name = hot_parts;
    benchmarks = scan_a_page, page_to_columns, sign_a_request, build_a_request
);

main!(library_benchmark_groups = hot_parts);
