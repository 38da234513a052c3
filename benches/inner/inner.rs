//! Micro-benchmarks of the core without Python, with Criterion; benches/README.md has the command.

use std::{hint::black_box, sync::Arc};

use boardlot_client::extension::{
    api::{Argument, ResponseShape, Schema, endpoint},
    auth::{Algorithm, KeyPair, generate, payload, signed_headers},
    decode::{ColumnOptions, Columns, Decimals, PageSlice, Value},
    http::{BaseUrl, RequestPlan},
    shared_limit::{Allowance, SharedLimit},
};
use boardlot_inner_benches::{ROWS, parsed, response_body};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use http::HeaderMap;

fn signing(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("signing a canonical request");
    for algorithm in Algorithm::ALL {
        let (pem, _) = generate(algorithm, 2048).expect("a key");
        let key = KeyPair::read(pem.as_bytes(), None).expect("the same key");
        let line = ("GET", "/api/v1.0/accounts/281756/fills_history", "trd_market=HK&page_flag=");
        group.bench_function(algorithm.as_str(), |bencher| {
            bencher.iter(|| {
                signed_headers("key-id", &key, 1_790_000_000_000, black_box(line), b"")
                    .expect("a signature")
            });
        });
    }
    group.bench_function("the canonical request alone", |bencher| {
        bencher.iter(|| payload(1_790_000_000_000, "GET", black_box("/api/v1.0/x"), "a=b", b""));
    });
    group.finish();
}

fn requests(criterion: &mut Criterion) {
    let base = BaseUrl::parse("https://api.example.com").expect("a base URL");
    let fills = endpoint("fills_history").expect("an endpoint");
    let text = |text: &str| Argument::Text(text.to_owned());
    let arguments = [("acc_id", text("281756")), ("trd_market", text("HK"))];
    criterion.bench_function("preparing a request from arguments", |bencher| {
        bencher.iter(|| {
            let plan = RequestPlan::new(fills, black_box(&arguments)).expect("a plan");
            plan.request(&base, &HeaderMap::new(), None, None).expect("a request")
        });
    });
}

fn decoding(criterion: &mut Criterion) {
    let body = response_body();
    let Some(ResponseShape::Rows(_, Schema::One(record))) =
        endpoint("fills_history").map(|row| row.response.clone())
    else {
        unreachable!("fills have one record")
    };
    let mut group = criterion.benchmark_group("a page of 50 fills");
    group.throughput(Throughput::Bytes(body.len() as u64));
    group.bench_function("scan", |bencher| {
        bencher.iter(|| parsed(black_box(&body)).expect("a page"))
    });
    group.bench_function("parse all values", |bencher| {
        let text = std::str::from_utf8(&body).expect("text");
        bencher.iter(|| drop(black_box(Value::parse(black_box(text)).expect("JSON"))));
    });
    let fields: Vec<_> = record.fields().collect();
    let page = Arc::new(parsed(&body).expect("a page"));
    for (name, decimals) in [("float64", Decimals::Float64), ("decimal", Decimals::Decimal)] {
        let mut options = ColumnOptions::default();
        options.decimals = decimals;
        group.bench_function(format!("page to columns, {name}"), |bencher| {
            bencher.iter(|| {
                let mut columns = Columns::new(fields.iter().copied(), None, None, options);
                let slice = PageSlice { page: page.clone(), range: 0..ROWS, key: None };
                columns.push_slice(&slice).expect("columns");
                columns.finish().expect("a batch")
            });
        });
    }
    group.finish();
}

/// The cost that a limit which is never reached adds to a request.
fn limits(criterion: &mut Criterion) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    let runtime = runtime.expect("a runtime");
    let allowance = Allowance { rate: 1e9, burst: 1 };
    let file = SharedLimit::on_machine(allowance, "bench").expect("a limit");
    let mut group = criterion.benchmark_group("a request's wait for a shared limit");
    for (name, limit) in [("of a process", SharedLimit::in_process(allowance)), ("of a machine", file)] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| runtime.block_on(limit.wait()).expect("no wait"));
        });
    }
    group.finish();
}

criterion_group!(inner, signing, requests, decoding, limits);
criterion_main!(inner);
