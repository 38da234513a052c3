//! Trading endpoints: a success, its records and each documented code; unknown paths.

use super::records::{assert_key_order, assert_rows, code, rig, rows};

#[test]
fn crypto_orders_are_open_and_newest_first() {
    let rig = rig();
    let got = rig.get("/api/v1/crypto/accounts/9007199254740993/orders");
    let response = got.json();
    assert_eq!((&response["code"], &response["msg"]), (&0.into(), &"success".into()));
    assert_rows(&response, "/data/orders", "CryptoOrder", &[]);
    assert_key_order(&got, "CryptoOrder");
    let orders = rows(&response, "/data/orders");
    assert_eq!(orders.len(), 50);
    let times: Vec<i64> = orders.iter().filter_map(|order| order["create_time"].as_i64()).collect();
    assert!(times.is_sorted_by(|a, b| a >= b));
    for (path, what) in [
        ("1/orders", "unknown account"),
        ("x/orders", "no number"),
        ("18446744073709551616/orders", "no uint64"),
        ("1001001/orders?page_size=51", "page size"),
        ("1001001/orders?page_size=0", "page size"),
        ("1001001/orders?page_flag=x", "page flag"),
    ] {
        let got = rig.get(&format!("/api/v1/crypto/accounts/{path}"));
        assert_eq!((got.status, code(&got, "code")), (200, 1), "{what}");
        assert!(got.json()["msg"].is_string());
    }
}

#[test]
fn simulated_trading() {
    let rig = rig();
    let got = rig.get("/api/v1.0/sim-trade/5001/orders");
    let response = got.json();
    assert_eq!(response["ret_code"], 0);
    assert!(response.get("ret_msg").is_none());
    assert_rows(&response, "/data/orders", "SimOrder", &[]);
    assert_key_order(&got, "SimOrder");
    let orders = rows(&response, "/data/orders");
    for (member, values) in
        [("side", &[1, 2, 3, 4][..]), ("status", &[2, 3, 4, 5, 6]), ("order_type", &[1, 3])]
    {
        for value in values {
            assert!(orders.iter().any(|order| order[member] == *value), "{member} {value}");
        }
    }
    assert!(orders.iter().any(|order| order["aux_price"].is_null()));
    assert!(orders.iter().any(|order| order["aux_price"].is_string()));

    let got = rig.get("/api/v1.0/sim-trade/5001/positions");
    let response = got.json();
    assert_rows(&response, "/data/positions", "SimPosition", &[]);
    assert_key_order(&got, "SimPosition");
    let all = rows(&response, "/data/positions");
    for value in [0, 1] {
        assert!(all.iter().any(|position| position["pstn_type"] == value));
    }
    let some = rig.get("/api/v1.0/sim-trade/5001/positions?market=2").json();
    let some = rows(&some, "/data/positions");
    assert!(!some.is_empty() && some.len() < all.len());
    assert!(some.iter().all(|position| position["market"] == 2));
    let none = rig.get("/api/v1.0/sim-trade/5001/positions?market=77").json();
    assert!(rows(&none, "/data/positions").is_empty());

    for path in ["9/orders", "9/positions", "5001/positions?market=x"] {
        let got = rig.get(&format!("/api/v1.0/sim-trade/{path}"));
        assert_eq!(code(&got, "ret_code"), -3, "{path}");
    }
}

#[test]
fn fills_and_their_refusals() {
    let rig = rig();
    let target = |rest: &str| format!("/api/v1.0/accounts/{rest}");
    let got = rig.get(&target("281756/fills_history?trd_market=HK&page_flag="));
    let response = got.json();
    assert_eq!(response["s"], "ok");
    assert_rows(&response, "/d/order_fills", "Fill", &[]);
    assert_key_order(&got, "Fill");
    assert_eq!(rows(&response, "/d/order_fills").len(), 50);
    for rest in [
        "1/fills_history?trd_market=HK&page_flag=",
        "281756/fills_history?trd_market=HK",
        "281756/fills_history?page_flag=",
        "281756/fills_history?trd_market=XX&page_flag=",
        "281756/fills_history?trd_market=HK&page_flag=x",
        "281756/fills_history?trd_market=HK&page_flag=&page_size=9",
        "281756/fills_history?trd_market=HK&page_flag=&page_size=51",
        "281756/fills_history?trd_market=HK&page_flag=&start=2&end=2",
        "281756/fills_history?trd_market=HK&page_flag=&start=3&end=2",
        "281756/fills_history?trd_market=HK&page_flag=&start=-1",
        "281756/fills_history?trd_market=HK&page_flag=&start=x",
        "281756/fills_history?trd_market=HK&page_flag=&code=700",
    ] {
        let got = rig.get(&target(rest));
        let response = got.json();
        assert_eq!((got.status, &response["s"]), (200, &"error".into()), "{rest}");
        assert_eq!(response["errcode"], -1200, "{rest}");
        assert!(response["errmsg"].is_string());
    }
}

#[test]
fn unknown_paths_and_other_methods() {
    let rig = rig();
    let got = rig.get("/api/v1.0/nothing");
    assert_eq!(got.status, 404);
    assert!(got.json().is_object());
    assert_eq!(rig.post("/api/v1.0/quote/trading-days", "{}").status, 404);
    assert_eq!(rig.get("/api/v1.0/quote/plate/HK.BK1001/stock").status, 404);
}
