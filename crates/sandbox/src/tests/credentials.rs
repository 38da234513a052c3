//! Signatures over the wire: accepted ones, rejected ones, and one nonce for many requests.

use std::sync::Barrier;

use crate::{
    Options,
    testing::{Rig, key, read, write},
};

const TARGET: &str = "/api/v1.0/quote/trading-days?end=2026-01-05&start=2026-01-01&market=%48K";
const PLATE: &str = "/api/v1.0/quote/plate/HK.BK1001/stock";

#[test]
fn security_34_both_algorithms_pass_over_the_raw_query_and_body() {
    let mut rig = Rig::new(Options::default());
    for name in ["ed25519", "rsa2048_pkcs8"] {
        let (pair, public) = key(name);
        rig.pair = pair;
        rig.id = rig.sandbox.upload_key(&public).expect("uploaded");
        assert_eq!(rig.signed("GET", TARGET, b"", 0).json()["ret_code"], 0, "{name}");
        let body = b"{ \"limit\" : 10,\n \"next_key\":\"\"}";
        assert_eq!(rig.signed("POST", PLATE, body, 0).json()["code"], 0, "{name}");
    }
}

#[test]
fn security_34_the_clock_is_held_both_ways_and_moves_with_its_offset() {
    let rig = Rig::new(Options::default());
    for (offset, status) in [(-5_300, 401), (-4_000, 200), (4_000, 200), (6_000, 401)] {
        let got = rig.signed("GET", TARGET, b"", offset);
        assert_eq!(got.status, status, "{offset}");
        let code = if status == 401 { -12006 } else { 0 };
        assert_eq!(got.json()["ret_code"], code);
    }
    let rig = Rig::new(Options { clock_offset: 3_600.0, ..Options::default() });
    let got = rig.signed("GET", "/api/v1/crypto/accounts/1001001/orders", b"", 0);
    assert_eq!((got.status, &got.json()["code"]), (401, &(-12006).into()));
    let target = "/api/v1.0/accounts/281756/fills_history?trd_market=HK&page_flag=";
    let got = rig.signed("GET", target, b"", 0);
    assert_eq!((got.status, &got.json()["errcode"]), (401, &(-12006).into()));
    assert_eq!(rig.signed("GET", target, b"", 3_600_000).status, 200);
}

#[test]
fn security_34_what_was_signed_is_what_counts() {
    let rig = Rig::new(Options::default());
    let signature = |nonce: &str| rig.signature("GET", TARGET, b"", 0, nonce);
    let refused = |method: &str, target: &str, headers: &str, body: &[u8]| {
        let got = rig.send(method, target, headers, body).expect("a response");
        assert_eq!(got.status, 401, "{target}");
        assert_eq!(got.json()["ret_code"].as_i64().or(got.json()["code"].as_i64()), Some(-1));
    };
    refused("GET", &TARGET.replace("%48K", "HK"), &signature("a"), b"");
    refused("GET", &TARGET.replace("01-05", "01-06"), &signature("b"), b"");
    refused("GET", TARGET, &signature("c").replace(&rig.id, "app-unknown"), b"");
    refused("GET", TARGET, &signature("d").replace("x-nonce: d", "x-nonce: d/"), b"");
    refused("GET", TARGET, "", b"");
    refused("GET", TARGET, "Authorization: Bearer nothing\r\n", b"");
    let signed = rig.signature("POST", PLATE, b"{}", 0, "e");
    refused("POST", PLATE, &signed, b"{ }");
    // A nonce of a failed request is not used up.
    let got = rig.send("GET", TARGET, &signature("b"), b"").expect("a response");
    assert_eq!(got.status, 200);
}

#[test]
fn security_34_a_nonce_works_once_also_for_64_at_a_time() {
    let rig = Rig::new(Options::default());
    let headers = rig.signature("GET", TARGET, b"", 0, "one-for-all");
    let start = Barrier::new(64);
    let passed: usize = std::thread::scope(|scope| {
        let racers: Vec<_> = (0..64)
            .map(|_| {
                scope.spawn(|| {
                    let mut stream = rig.connect();
                    start.wait();
                    write(&mut stream, "GET", TARGET, &headers, b"");
                    usize::from(read(&mut stream).expect("a response").status == 200)
                })
            })
            .collect();
        racers.into_iter().map(|racer| racer.join().expect("no panic")).sum()
    });
    assert_eq!(passed, 1);
    assert_eq!(rig.send("GET", TARGET, &headers, b"").expect("a response").status, 401);
    rig.sandbox.reset();
    assert_eq!(rig.send("GET", TARGET, &headers, b"").expect("a response").status, 200);
}

#[test]
fn small_and_foreign_keys_are_rejected() {
    let rig = Rig::new(Options::default());
    for pem in ["", "no key", include_str!("../../../../tests/vectors/signing.json")] {
        assert!(rig.sandbox.upload_key(pem).is_err());
    }
    let (_, public) = key("ed25519");
    let first = rig.sandbox.upload_key(&public).expect("uploaded");
    assert_ne!(first, rig.sandbox.upload_key(&public).expect("uploaded"));
}
