//! Faults, the record of requests, reset, stop, and equal data for equal seeds.

use std::time::{Duration, Instant};

use crate::{
    Faults, Options, RecordedRequest,
    testing::{Rig, read, try_write, write},
};

const DIVIDENDS: &str = "/api/v1.0/quote/HK.00700/corporate-actions/dividends";
const IPOS: &str = "/api/v1.0/quote/ipo-list/hk";
const SIM: &str = "/api/v1.0/sim-trade/5001/orders";
const TIME: &str = "/api/v1.0/server-time";

fn faulty(faults: Faults) -> Rig {
    let rig = Rig::new(Options { fills: 100, ..Options::default() });
    rig.sandbox.set_faults(faults).expect("set");
    rig
}

#[test]
fn internal_errors_are_the_documented_ones_or_503() {
    let rig = faulty(Faults { error_rate: 1.0, ..Faults::default() });
    assert_eq!(rig.get(IPOS).json()["ret_code"], -5);
    let mut seen = std::collections::BTreeSet::new();
    for _ in 0..60 {
        let response = rig.get(DIVIDENDS).json();
        assert_eq!(response["error"]["code"], "internal_error");
        seen.insert(response["ret_code"].as_i64().expect("a code"));
    }
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), [-6, -4, -2]);
    assert_eq!(rig.get(SIM).status, 503);
    rig.sandbox.set_faults(Faults::default()).expect("set");
    assert_eq!(rig.get(SIM).status, 200);
}

#[test]
fn throttling_html_and_latency() {
    let rig = faulty(Faults { throttle_rate: 1.0, ..Faults::default() });
    let got = rig.get(SIM);
    assert_eq!(got.status, 429);
    assert!(got.head.contains("retry-after: 1\r\n"), "{}", got.head);
    rig.sandbox.set_faults(Faults { html_rate: 1.0, ..Faults::default() }).expect("set");
    let got = rig.get(SIM);
    assert_eq!(got.status, 200);
    assert!(got.head.contains("text/html") && got.body.starts_with(b"<!DOCTYPE html>"));
    rig.sandbox.set_faults(Faults { latency: 0.2, ..Faults::default() }).expect("set");
    let start = Instant::now();
    assert_eq!(rig.get(TIME).status, 200);
    // time: what is set is a time
    assert!(start.elapsed() >= Duration::from_millis(200));
}

#[test]
fn connections_are_closed_before_or_in_the_middle_of_a_body() {
    let rig = faulty(Faults { drop_rate: 1.0, ..Faults::default() });
    assert!(rig.send("GET", TIME, "", b"").is_none());
    assert_eq!(rig.sandbox.requests().last().expect("a request").status, 0);
    rig.sandbox.set_faults(Faults { truncate_rate: 1.0, ..Faults::default() }).expect("set");
    let got = rig.get(DIVIDENDS);
    assert_eq!(got.status, 200);
    let length = got.head.split("content-length: ").nth(1).expect("a length");
    let length: usize = length.lines().next().expect("a line").parse().expect("a number");
    assert_eq!(got.body.len(), length / 2);
}

#[test]
fn a_connection_is_kept() {
    let rig = faulty(Faults::default());
    let mut stream = rig.connect();
    for target in [TIME, "/nothing", SIM, TIME] {
        write(&mut stream, "GET", target, "", b"");
        assert!(read(&mut stream).is_some(), "{target}");
    }
}

/// More bytes than the buffers of a connection hold.
const LARGE: usize = 48 << 20;

#[test]
fn a_client_that_sends_on_for_ever_does_not_keep_a_sandbox_from_stopping() {
    let stops_at_once = || {
        let rig = faulty(Faults::default());
        let mut stream = rig.connect();
        // On a slow machine, the sandbox is done with this client before everything is sent.
        let _ = try_write(&mut stream, "POST", TIME, "", &vec![b'x'; LARGE]);
        let start = Instant::now();
        rig.sandbox.stop();
        // time: that the sandbox stops by itself, before it would give up
        start.elapsed() < Duration::from_secs(2)
    };
    // The sandbox gives up the wait for its own end after two seconds; a busy machine can make it
    // late.
    assert!((0..5).any(|_| stops_at_once()));
}

#[test]
fn requests_are_recorded_in_bounded_memory_and_forgotten_by_reset() {
    let rig = faulty(Faults::default());
    rig.get("/api/v1.0/sim-trade/5001/positions?market=%31");
    rig.get("/nothing?a=b");
    let received = |path: &str, query: &str, status: u16| RecordedRequest {
        method: "GET".to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        status,
    };
    assert_eq!(
        rig.sandbox.requests(),
        [
            received("/api/v1.0/sim-trade/5001/positions", "market=%31", 200),
            received("/nothing", "a=b", 404)
        ]
    );
    let mut stream = rig.connect();
    for _ in 0..10_050 {
        write(&mut stream, "GET", TIME, "", b"");
        read(&mut stream).expect("a response");
    }
    assert_eq!(rig.sandbox.requests().len(), 10_000);
    rig.sandbox.reset();
    assert!(rig.sandbox.requests().is_empty());
    assert_eq!(rig.get(SIM).status, 200, "the token is kept");
}

#[test]
fn the_same_seed_produces_the_same_data_in_any_order() {
    let targets = [
        DIVIDENDS,
        IPOS,
        SIM,
        "/api/v1.0/quote/ipo-list/my",
        "/api/v1.0/quote/US.ESmain/reference-future",
        "/api/v1.0/sim-trade/5002/positions",
        "/api/v1/crypto/accounts/1001001/orders",
        "/api/v1.0/accounts/281756/fills_history?trd_market=HK&page_flag=",
        "/api/v1.0/accounts/281757/fills_history?trd_market=US&page_flag=",
        "/api/v1.0/quote/HK.00700/history-kline",
    ];
    let options = Options { seed: 11, ..Options::default() };
    let (first, second) = (Rig::new(options.clone()), Rig::new(options));
    let other = Rig::new(Options { seed: 12, ..Options::default() });
    let forward: Vec<_> = targets.iter().map(|target| first.get(target).body).collect();
    let mut backward: Vec<_> = targets.iter().rev().map(|target| second.get(target).body).collect();
    backward.reverse();
    assert_eq!(forward, backward);
    first.sandbox.reset();
    for (target, body) in targets.iter().zip(&forward) {
        assert_eq!(first.get(target).body, *body, "{target}");
        assert_ne!(other.get(target).body, *body, "{target}");
    }
}

#[test]
fn stopping_closes_the_socket_and_its_connections_once_for_all() {
    let rig = faulty(Faults::default());
    let address = rig.sandbox.base_url().replace("http://", "");
    let mut kept = rig.connect();
    write(&mut kept, "GET", TIME, "", b"");
    read(&mut kept).expect("a response");
    rig.sandbox.stop();
    rig.sandbox.stop();
    assert!(std::net::TcpStream::connect(&address).is_err());
    assert!(read(&mut kept).is_none());
    let port = address.rsplit(':').next().expect("a port").parse().expect("a number");
    let again = Rig::new(Options { port, ..Options::default() });
    assert_eq!(again.sandbox.base_url(), rig.sandbox.base_url());
}

#[test]
fn options_out_of_range_are_rejected() {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("one");
    for options in [
        Options { token_lifetime: f64::NAN, ..Options::default() },
        Options { clock_offset: f64::INFINITY, ..Options::default() },
        Options { fills: usize::MAX, ..Options::default() },
        Options { faults: Faults { drop_rate: 2.0, ..Faults::default() }, ..Options::default() },
    ] {
        assert!(crate::Sandbox::start(options, runtime.handle()).is_err());
    }
    let rig = faulty(Faults::default());
    assert!(rig.sandbox.set_faults(Faults { latency: -1.0, ..Faults::default() }).is_err());
}

#[test]
fn a_million_fills_are_no_more_than_a_page_at_once() {
    let rig = Rig::new(Options { fills: 1_000_000, ..Options::default() });
    let target = "/api/v1.0/accounts/281756/fills_history?trd_market=HK&page_flag=";
    assert_eq!(rig.get(target).json()["d"]["completed"], false);
}
