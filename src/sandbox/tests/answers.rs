//! Each endpoint: its success, its records held against the table, each documented code.

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    api::{Field, Kind, Record},
    sandbox::{
        Options,
        testing::{Got, Rig},
    },
};

const HK_DIVIDENDS: &str = "/api/v1.0/quote/HK.00700/corporate-actions/dividends";

fn rig() -> Rig {
    Rig::new(Options { seed: 7, fills: 300, plate_stocks: 120, ..Options::default() })
}

fn rows<'a>(answer: &'a Value, place: &str) -> &'a Vec<Value> {
    answer.pointer(place).and_then(Value::as_array).unwrap_or_else(|| unreachable!("{answer}"))
}

/// The record of an endpoint, by its name in the table.
fn record(name: &str) -> &'static Record {
    crate::api::ENDPOINTS
        .iter()
        .filter_map(|endpoint| match endpoint.answer {
            crate::api::ResponseShape::Rows(_, schema) => Some(schema.records()),
            _ => None,
        })
        .flatten()
        .find(|record| record.name == name)
        .expect("a record")
}

/// Whether a row has the declared fields, of the declared kinds, and no other.
fn assert_fields(row: &Value, fields: &mut dyn Iterator<Item = &'static Field>, left_out: &[&str]) {
    let row = row.as_object().expect("an object");
    let mut declared = HashSet::new();
    for field in fields {
        declared.insert(field.name);
        let Some(value) = row.get(field.name) else {
            assert!(left_out.contains(&field.name), "{} is missing: {row:?}", field.name);
            continue;
        };
        assert!(!left_out.contains(&field.name), "{} is there: {row:?}", field.name);
        let fits = match field.kind {
            Kind::Text | Kind::Date => value.is_string(),
            Kind::Integer => value.is_i64() || value.is_u64(),
            Kind::Number => value.is_number(),
            Kind::Flag => value.is_boolean(),
            Kind::Decimal => {
                value.is_null()
                    || value.as_str().is_some_and(|v| v.is_empty() || v.parse::<f64>().is_ok())
            }
            Kind::Timestamp(_, crate::api::Wire::Integer) => value.is_i64() || value.is_u64(),
            Kind::Timestamp(_, crate::api::Wire::Text) => {
                value.as_str().is_some_and(|v| v.parse::<i64>().is_ok())
            }
            Kind::Object(members) => {
                assert_fields(value, &mut members.iter(), &[]);
                true
            }
        };
        assert!(fits, "{} is {value}", field.name);
        if let Some(set) = field.values {
            let known = set.members.iter().any(|member| match member.value {
                crate::api::Value::Integer(number) => value.as_i64() == Some(number),
                crate::api::Value::Text(text) => value.as_str() == Some(text),
            });
            assert!(known, "{} is {value}", field.name);
        }
    }
    for name in row.keys() {
        assert!(declared.contains(name.as_str()), "{name} is not declared");
    }
}

fn assert_rows(answer: &Value, place: &str, name: &str, left_out: &[&str]) {
    for row in rows(answer, place) {
        assert_fields(row, &mut record(name).fields(), left_out);
    }
}

/// Whether the keys of the first row stand in the order of the document.
fn assert_key_order(got: &Got, name: &str) {
    let text = String::from_utf8(got.body.clone()).expect("text");
    let mut from = text.find("[{").expect("a row");
    for field in record(name).fields() {
        let key = format!("\"{}\":", field.name);
        let rest = text.get(from..).expect("the rest");
        let Some(place) = rest.find(&key) else { continue };
        assert!(place < 1500, "{} is out of order", field.name);
        from += place;
    }
}

fn code(got: &Got, member: &str) -> i64 {
    let answer = got.json();
    answer[member].as_i64().unwrap_or_else(|| unreachable!("{answer}"))
}

#[test]
fn the_time_needs_no_credentials_and_has_no_envelope() {
    let rig = rig();
    let got = rig.send("GET", "/api/v1.0/server-time", "", b"").expect("an answer");
    assert_eq!(got.status, 200);
    let answer = got.json();
    assert_eq!(answer.as_object().expect("an object").len(), 1);
    let millis: i64 = answer["server_time_ms"].as_str().expect("text").parse().expect("a number");
    assert!((millis - jiff::Timestamp::now().as_millisecond()).abs() < 5_000);
}

#[test]
fn trading_days_of_the_new_year() {
    let rig = rig();
    let target = "/api/v1.0/quote/trading-days?market=HK&start=2026-01-01&end=2026-01-05";
    let answer = rig.get(target).json();
    assert_eq!(answer["ret_code"], 0);
    let days: Vec<&str> = rows(&answer, "/data/trading_days")
        .iter()
        .map(|day| day["time"].as_str().expect("text"))
        .collect();
    assert_eq!(days, ["2026-01-02", "2026-01-05"]);
    assert_eq!(rows(&answer, "/data/trading_days")[0]["trade_date_type"], "WHOLE");
    for query in [
        "market=XX&start=2026-01-01&end=2026-01-05",
        "market=HK&start=2026-01-05&end=2026-01-01",
        "market=HK&start=2026-1-1&end=2026-01-05",
        "market=HK&start=2026-02-30&end=2026-03-05",
        "market=HK&start=2026-01-01",
        "",
    ] {
        let got = rig.get(&format!("/api/v1.0/quote/trading-days?{query}"));
        assert_eq!((got.status, code(&got, "ret_code")), (200, -3), "{query}");
    }
}

#[test]
fn reference_futures_with_each_code() {
    let rig = rig();
    let target = |symbol: &str| format!("/api/v1.0/quote/{symbol}/reference-future");
    for symbol in ["HK.HSImain", "HK.HTImain", "US.ESmain", "SG.CNmain", "JP.NK225main"] {
        let got = rig.get(&target(symbol));
        let answer = got.json();
        assert_rows(&answer, "/data/reference_list", "RelatedFuture", &[]);
        assert_key_order(&got, "RelatedFuture");
        let list = rows(&answer, "/data/reference_list");
        assert!(list.len() >= 3, "{symbol}");
        assert_eq!(list[0]["code"], symbol);
        assert_eq!(list[0]["future_last_trade_time"], "");
        assert!(list[1]["future_last_trade_time"].as_str().expect("text").len() == 10);
        let expiry = list[1]["code"].as_str().expect("text");
        assert!(rows(&rig.get(&target(expiry)).json(), "/data/reference_list").is_empty());
    }
    for symbol in ["HK.00700", "SH.600519", "AU.BHP", "MY.1155", "US.BRK.B"] {
        let answer = rig.get(&target(symbol)).json();
        assert_eq!(answer["ret_code"], 0);
        assert!(rows(&answer, "/data/reference_list").is_empty());
    }
    let long = format!("HK.{}", "0".repeat(30));
    for (symbol, expected, error_code) in [
        ("HK.99999", -7, "invalid_symbol"),
        ("XX.1", -7, "invalid_symbol"),
        ("", -3, "invalid_parameter"),
        ("00700", -3, "invalid_parameter"),
        ("HK.a%20b", -3, "invalid_parameter"),
        (&long, -3, "invalid_parameter"),
    ] {
        let got = rig.get(&target(symbol));
        assert_eq!((got.status, code(&got, "ret_code")), (200, expected), "{symbol}");
        assert_eq!(got.json()["error"]["code"], error_code);
        assert!(!got.json()["ret_msg"].as_str().expect("text").is_empty());
    }
}

#[test]
fn ipo_lists_of_all_markets_and_request_types() {
    let rig = rig();
    let list =
        |market: &str, query: &str| rig.get(&format!("/api/v1.0/quote/ipo-list/{market}{query}"));
    let codes = |got: &Got| -> Vec<String> {
        let answer = got.json();
        rows(&answer, "/data/list")
            .iter()
            .map(|ipo| ipo["code"].as_str().expect("text").to_owned())
            .collect()
    };
    for (market, name, all) in [
        ("hk", "HkIpo", 11),
        ("us", "UsIpo", 11),
        ("cn", "CnIpo", 5),
        ("sg", "SgIpo", 11),
        ("my", "MyIpo", 11),
    ] {
        let got = list(market, &format!("?request_type={all}"));
        assert_rows(&got.json(), "/data/list", name, &[]);
        assert_key_order(&got, name);
        let everything = codes(&got);
        assert!(everything.len() >= 4, "{market}");
        let parts: &[i64] = if market == "cn" { &[1, 2, 3, 4] } else { &[9, 10] };
        let mut seen = HashSet::new();
        for part in parts {
            let some = codes(&list(market, &format!("?request_type={part}")));
            assert!(!some.is_empty() && some.len() < everything.len(), "{market} {part}");
            for code in some {
                assert!(everything.contains(&code) && seen.insert(code));
            }
        }
        let default = if market == "cn" { "?request_type=4" } else { "?request_type=11" };
        assert_eq!(codes(&list(market, "")), codes(&list(market, default)));
        let wrong = if market == "cn" { "9" } else { "4" };
        for wrong in [wrong, "0", "x", "9.0", "", "99999999999999999999"] {
            let got = list(market, &format!("?request_type={wrong}"));
            assert_eq!(code(&got, "ret_code"), -3, "{market} {wrong}");
            assert_eq!(got.json()["error"]["code"], "invalid_parameter");
        }
    }
    assert_eq!(code(&list("jp", ""), "ret_code"), -3);
}

#[test]
fn dividends_vary_by_market() {
    let rig = rig();
    let target = |symbol: &str| format!("/api/v1.0/quote/{symbol}/corporate-actions/dividends");
    let got = rig.get(HK_DIVIDENDS);
    assert_key_order(&got, "Dividend");
    assert_eq!(rows(&got.json(), "/data/dividend_list")[0]["currency"], "HKD");
    for (symbol, left_out) in [
        ("HK.00700", &["payout_ratio", "dividend_type"][..]),
        ("US.O", &["fiscal_year", "payout_ratio", "dividend_type"]),
        ("SH.600519", &["currency", "dividend_type"]),
        ("SZ.000333", &["currency", "dividend_type"]),
        ("SG.D05", &["fiscal_year", "currency", "payout_ratio"]),
        ("CA.RY", &["fiscal_year", "currency", "payout_ratio"]),
        ("AU.BHP", &["fiscal_year", "currency", "payout_ratio"]),
        ("JP.7203", &["fiscal_year", "currency", "payout_ratio"]),
    ] {
        let answer = rig.get(&target(symbol)).json();
        assert_rows(&answer, "/data/dividend_list", "Dividend", left_out);
        let list = rows(&answer, "/data/dividend_list");
        assert!((1..=100).contains(&list.len()), "{symbol}");
        let count = answer["data"]["total_dividend_count"].as_u64().expect("a count") as usize;
        assert!(count >= list.len() && answer["data"]["total_dividend_money"].is_number());
        let dates: Vec<&str> = list.iter().filter_map(|row| row["ex_date"].as_str()).collect();
        assert!(dates.is_sorted_by(|a, b| a >= b), "{symbol}: newest first");
        assert!(dates.iter().all(|date| date.len() == 10 && date.matches('/').count() == 2));
    }
    let monthly = rig.get(&target("US.O")).json();
    assert_eq!(rows(&monthly, "/data/dividend_list").len(), 100);
    assert!(monthly["data"]["total_dividend_count"].as_u64().expect("a count") > 100);
    for symbol in ["HK.02800", "HK.800000", "HK.13579", "HK.HSImain", "MY.1155"] {
        let answer = rig.get(&target(symbol)).json();
        assert!(rows(&answer, "/data/dividend_list").is_empty(), "{symbol}");
        assert_eq!(answer["data"]["total_dividend_count"], 0);
    }
    for (symbol, expected) in [("HK.99999", -7), ("HK", -3), ("hk.00700", -3)] {
        assert_eq!(code(&rig.get(&target(symbol)), "ret_code"), expected, "{symbol}");
    }
}

#[test]
fn crypto_orders_are_open_and_newest_first() {
    let rig = rig();
    let got = rig.get("/api/v1/crypto/accounts/9007199254740993/orders");
    let answer = got.json();
    assert_eq!((&answer["code"], &answer["msg"]), (&0.into(), &"success".into()));
    assert_rows(&answer, "/data/orders", "CryptoOrder", &[]);
    assert_key_order(&got, "CryptoOrder");
    let orders = rows(&answer, "/data/orders");
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
    let answer = got.json();
    assert_eq!(answer["ret_code"], 0);
    assert!(answer.get("ret_msg").is_none());
    assert_rows(&answer, "/data/orders", "SimOrder", &[]);
    assert_key_order(&got, "SimOrder");
    let orders = rows(&answer, "/data/orders");
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
    let answer = got.json();
    assert_rows(&answer, "/data/positions", "SimPosition", &[]);
    assert_key_order(&got, "SimPosition");
    let all = rows(&answer, "/data/positions");
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
fn plates_and_their_refusals() {
    let rig = rig();
    let got = rig.post("/api/v1.0/quote/plate/HK.BK1001/stock", r#"{"next_key":"","limit":20}"#);
    let answer = got.json();
    assert_eq!(answer["code"], 0);
    assert_eq!(rows(&answer, "/data/stock_list").len(), 20);
    assert_eq!(answer["pagination"]["total"], 120);
    assert_eq!(answer["pagination"]["has_more"], true);
    let whole = rig.post("/api/v1.0/quote/plate/HK.BK1001/stock", r#"{"limit":200}"#).json();
    assert_eq!(rows(&whole, "/data/stock_list").len(), 120);
    assert_eq!(whole["pagination"]["has_more"], false);
    assert_eq!(whole["pagination"]["next_key"], "-1");
    // Each constituent is a security that the other endpoints know.
    for stock in rows(&whole, "/data/stock_list").iter().skip(110) {
        let code_of = stock["code"].as_str().expect("text");
        let target = format!("/api/v1.0/quote/{code_of}/corporate-actions/dividends");
        assert_eq!(code(&rig.get(&target), "ret_code"), 0);
    }
    for (plate, body, expected) in [
        ("HK.BK1001", "", 0),
        ("HK.BK424242", "{}", -7),
        ("HK.1001", "{}", -3),
        ("HK.BK1001", r#"{"limit":201}"#, -3),
        ("HK.BK1001", r#"{"limit":0}"#, -3),
        ("HK.BK1001", r#"{"next_key":"x"}"#, -3),
        ("HK.BK1001", r#"{"next_key":"-1"}"#, -3),
        ("HK.BK1001", "{", -3),
    ] {
        let got = rig.post(&format!("/api/v1.0/quote/plate/{plate}/stock"), body);
        assert_eq!((got.status, code(&got, "code")), (200, expected), "{plate} {body}");
    }
}

#[test]
fn deals_and_their_refusals() {
    let rig = rig();
    let target = |rest: &str| format!("/api/v1.0/accounts/{rest}");
    let got = rig.get(&target("281756/fills_history?trd_market=HK&page_flag="));
    let answer = got.json();
    assert_eq!(answer["s"], "ok");
    assert_rows(&answer, "/d/order_fills", "Fill", &[]);
    assert_key_order(&got, "Fill");
    assert_eq!(rows(&answer, "/d/order_fills").len(), 50);
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
        let answer = got.json();
        assert_eq!((got.status, &answer["s"]), (200, &"error".into()), "{rest}");
        assert_eq!(answer["errcode"], -1200, "{rest}");
        assert!(answer["errmsg"].is_string());
    }
}

#[test]
fn unknown_paths_and_other_methods() {
    let rig = rig();
    let got = rig.get("/api/v1.0/nothing");
    assert_eq!(got.status, 404);
    assert!(got.json().is_object());
    let got = rig.post("/api/v1.0/quote/trading-days", "{}");
    assert_eq!(got.status, 405);
    assert!(got.head.contains("allow: GET"), "{}", got.head);
    assert_eq!(rig.get("/api/v1.0/quote/plate/HK.BK1001/stock").status, 405);
    let got = rig.get(&format!("/api/v1.0/server-time?{}", "x".repeat(9_000)));
    assert_eq!(got.status, 414);
    assert!(got.head.contains("content-type: application/json"));
    assert_eq!(rig.post("/api/v1.0/server-time", &"x".repeat(1 << 21)).status, 413);
}
