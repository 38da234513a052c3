//! Quote endpoints: a success, its records and each documented code.

use super::records::{assert_key_order, assert_rows, code, rig, rows};
use crate::testing::Got;

const HK_DIVIDENDS: &str = "/api/v1.0/quote/HK.00700/corporate-actions/dividends";

#[test]
fn the_time_needs_no_credentials_and_has_no_envelope() {
    let rig = rig();
    let got = rig.send("GET", "/api/v1.0/server-time", "", b"").expect("a response");
    assert_eq!(got.status, 200);
    let response = got.json();
    assert_eq!(response.as_object().expect("an object").len(), 1);
    let millis: i64 = response["server_time_ms"].as_str().expect("text").parse().expect("a number");
    assert!((millis - jiff::Timestamp::now().as_millisecond()).abs() < 5_000);
}

#[test]
fn trading_days_of_the_new_year() {
    let rig = rig();
    let target = "/api/v1.0/quote/trading-days?market=HK&start=2026-01-01&end=2026-01-05";
    let response = rig.get(target).json();
    assert_eq!(response["ret_code"], 0);
    let days: Vec<&str> = rows(&response, "/data/trading_days")
        .iter()
        .map(|day| day["time"].as_str().expect("text"))
        .collect();
    assert_eq!(days, ["2026-01-02", "2026-01-05"]);
    assert_eq!(rows(&response, "/data/trading_days")[0]["trade_date_type"], "WHOLE");
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
        let response = got.json();
        assert_rows(&response, "/data/reference_list", "RelatedFuture", &[]);
        assert_key_order(&got, "RelatedFuture");
        let list = rows(&response, "/data/reference_list");
        assert_eq!(list.len(), 5, "{symbol}");
        assert_eq!(list[0]["code"], symbol);
        assert_eq!(list[0]["future_last_trade_time"], "");
        assert!(list[1]["future_last_trade_time"].as_str().expect("text").len() == 10);
        let expiry = list[1]["code"].as_str().expect("text");
        assert!(rows(&rig.get(&target(expiry)).json(), "/data/reference_list").is_empty());
    }
    for symbol in ["HK.00700", "SH.600519", "AU.BHP", "MY.1155", "US.BRK.B"] {
        let response = rig.get(&target(symbol)).json();
        assert_eq!(response["ret_code"], 0);
        assert!(rows(&response, "/data/reference_list").is_empty());
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
        let response = got.json();
        rows(&response, "/data/list")
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
        let mut together = Vec::new();
        let parts: &[i64] = if market == "cn" { &[1, 2, 3, 4] } else { &[9, 10] };
        for part in parts {
            let some = codes(&list(market, &format!("?request_type={part}")));
            assert!(!some.is_empty() && some.len() < everything.len(), "{market} {part}");
            together.extend(some);
        }
        // The whole list is exactly the union of its parts.
        assert_eq!(everything, together, "{market}");
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
        let response = rig.get(&target(symbol)).json();
        assert_rows(&response, "/data/dividend_list", "Dividend", left_out);
        let list = rows(&response, "/data/dividend_list");
        assert!((1..=100).contains(&list.len()), "{symbol}");
        let count = response["data"]["total_dividend_count"].as_u64().expect("a count") as usize;
        assert!(count >= list.len() && response["data"]["total_dividend_money"].is_number());
        let dates: Vec<&str> = list.iter().filter_map(|row| row["ex_date"].as_str()).collect();
        assert!(dates.is_sorted_by(|a, b| a >= b), "{symbol}: newest first");
        assert!(dates.iter().all(|date| date.len() == 10 && date.matches('/').count() == 2));
    }
    let monthly = rig.get(&target("US.O")).json();
    assert_eq!(rows(&monthly, "/data/dividend_list").len(), 100);
    assert!(monthly["data"]["total_dividend_count"].as_u64().expect("a count") > 100);
    for symbol in ["HK.02800", "HK.800000", "HK.13579", "HK.HSImain", "MY.1155"] {
        let response = rig.get(&target(symbol)).json();
        assert!(rows(&response, "/data/dividend_list").is_empty(), "{symbol}");
        assert_eq!(response["data"]["total_dividend_count"], 0);
    }
    for (symbol, expected) in [("HK.99999", -7), ("HK", -3), ("hk.00700", -3)] {
        assert_eq!(code(&rig.get(&target(symbol)), "ret_code"), expected, "{symbol}");
    }
}

#[test]
fn plates_and_their_refusals() {
    let rig = rig();
    let got = rig.post("/api/v1.0/quote/plate/HK.BK1001/stock", r#"{"next_key":"","limit":20}"#);
    let response = got.json();
    assert_eq!(response["code"], 0);
    assert_eq!(rows(&response, "/data/stock_list").len(), 20);
    assert_eq!(response["pagination"]["total"], 120);
    assert_eq!(response["pagination"]["has_more"], true);
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
        ("HK.BK1001", r#"{"limit":1001}"#, -3),
        ("HK.BK1001", r#"{"limit":0}"#, -3),
        ("HK.BK1001", r#"{"next_key":"x"}"#, -3),
        ("HK.BK1001", r#"{"next_key":"-1"}"#, -3),
        ("HK.BK1001", "{", -3),
    ] {
        let got = rig.post(&format!("/api/v1.0/quote/plate/{plate}/stock"), body);
        assert_eq!((got.status, code(&got, "code")), (200, expected), "{plate} {body}");
    }
}
