//! Pages to the end: every row once, in order, with cursors sent back unchanged.

use std::collections::HashSet;

use serde_json::Value;

use crate::{
    Options,
    testing::{Rig, encoded},
};

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_else(|| unreachable!("{value}"))
}

fn fills_target(query: &str, flag: &str) -> String {
    let flag = encoded(flag);
    format!("/api/v1.0/accounts/281756/fills_history?trd_market=HK&page_flag={flag}{query}")
}

/// Returns all fills of a query, and the cursors.
fn all_fills(rig: &Rig, query: &str) -> (Vec<Value>, Vec<String>) {
    let (mut fills, mut flags, mut flag) = (Vec::new(), Vec::new(), String::new());
    loop {
        let response = rig.get(&fills_target(query, &flag)).json();
        let data = &response["d"];
        fills.extend(data["order_fills"].as_array().expect("a list").iter().cloned());
        flag = text(&data["page_flag"]).to_owned();
        if data["completed"] == true {
            return (fills, flags);
        }
        assert!(!flags.contains(&flag));
        flags.push(flag.clone());
    }
}

fn times(fills: &[Value]) -> Vec<i64> {
    fills.iter().map(|fill| fill["updated_time"].as_i64().expect("a time")).collect()
}

#[test]
fn every_fill_once_latest_first() {
    let rig = Rig::new(Options { fills: 1_003, ..Options::default() });
    let (fills, flags) = all_fills(&rig, "");
    assert_eq!((fills.len(), flags.len()), (1_003, 20));
    let ids: HashSet<&str> = fills.iter().map(|fill| text(&fill["deal_id"])).collect();
    assert_eq!(ids.len(), 1_003);
    let times = times(&fills);
    assert!(times.is_sorted_by(|a, b| a >= b));
    assert!(times.windows(2).any(|pair| pair[0] == pair[1]), "some at the same time");
    let now = jiff::Timestamp::now().as_microsecond();
    assert!(fills.iter().any(|fill| fill["status"] == "CANCELLED"));
    assert!(times[0] < now && times[1_002] > now - 90 * 86_400_000_000);
    let days: HashSet<i64> = times.iter().map(|time| time / 86_400_000_000).collect();
    assert!(days.len() > 40);
    for odd in "+/=& ".chars() {
        assert!(flags.iter().all(|flag| flag.contains(odd)));
    }
    let (small, _) = all_fills(&rig, "&page_size=10");
    assert_eq!(small, fills);
    for fill in &fills {
        let quantity: i64 = text(&fill["qty"]).parse().expect("whole");
        assert!(quantity > 0 && text(&fill["code"]).starts_with("HK."));
        assert!(fill["create_time"].as_i64() <= fill["updated_time"].as_i64());
    }
}

#[test]
fn ranges_and_codes_are_filters_with_both_ends_included() {
    let rig = Rig::new(Options { fills: 700, ..Options::default() });
    let (fills, _) = all_fills(&rig, "");
    let times = times(&fills);
    let (late, early) = (times[100], times[400]);
    let expected: Vec<&Value> = fills
        .iter()
        .filter(|fill| (early..=late).contains(&fill["updated_time"].as_i64().expect("a time")))
        .collect();
    let (some, _) = all_fills(&rig, &format!("&start={early}&end={late}"));
    assert_eq!(some.iter().collect::<Vec<_>>(), expected);
    // If the range is split in two, each fill is in one part.
    let middle = times[250];
    let (upper, _) = all_fills(&rig, &format!("&start={}&end={late}", middle + 1));
    let (lower, _) = all_fills(&rig, &format!("&start={early}&end={middle}"));
    assert_eq!([upper, lower].concat(), some);

    let code = text(&fills[0]["code"]);
    let expected: Vec<&Value> = fills.iter().filter(|fill| fill["code"] == code).collect();
    let (some, _) = all_fills(&rig, &format!("&code={code}&page_size=10"));
    assert_eq!(some.iter().collect::<Vec<_>>(), expected);
    assert!(all_fills(&rig, "&code=HK.99998").0.is_empty());
}

#[test]
fn an_open_end_is_90_days_away() {
    let rig = Rig::new(Options { fills: 700, ..Options::default() });
    // As many fills as in the default range reach back two years.
    let all = times(&all_fills(&rig, "&start=1&end=9999999999999999").0);
    let (days, now) = (90 * 86_400_000_000, jiff::Timestamp::now().as_microsecond());
    assert_eq!(all.len(), 1_400);
    assert!(all[1_399] < now - 700 * 86_400_000_000);
    let (latest, middle, earlier) = (all[0], all[350], all[1_000]);
    for (query, start, end) in [
        ("&start=0&end=0".to_owned(), now - days, now),
        (format!("&start=0&end={middle}"), middle - days, middle),
        (format!("&start={middle}&end=0"), middle, middle + days),
        (format!("&end={latest}"), latest - days, latest),
        (format!("&start={earlier}"), earlier, earlier + days),
        ("&start=1&end=2".to_owned(), 1, 2),
    ] {
        let (some, _) = all_fills(&rig, &query);
        let expected = all.iter().filter(|time| (start..=end).contains(*time)).count();
        assert_eq!(some.len(), expected, "{query}");
    }
    assert_eq!(all_fills(&rig, "").0.len(), 700);
}

#[test]
fn a_flag_of_another_query_is_rejected() {
    let rig = Rig::new(Options::default());
    let (_, flags) = all_fills(&rig, "");
    for query in ["&start=5", "&code=HK.00700", "&end=1999999999999999"] {
        let response = rig.get(&fills_target(query, &flags[0])).json();
        assert_eq!(response["errcode"], -1200, "{query}");
    }
    let altered = flags[0].replace('+', " ");
    assert_eq!(rig.get(&fills_target("", &altered)).json()["errcode"], -1200);
    // Another page size continues at the same position.
    let response = rig.get(&fills_target("&page_size=10", &flags[0])).json();
    assert_eq!(response["s"], "ok");
}

#[test]
fn crypto_orders_and_plates_to_their_ends() {
    let rig = Rig::new(Options { plate_stocks: 333, ..Options::default() });
    let (mut ids, mut times, mut flag) = (HashSet::new(), Vec::new(), String::new());
    loop {
        let path = "/api/v1/crypto/accounts/9007199254740993/orders?page_size=17";
        let response = rig.get(&format!("{path}&page_flag={}", encoded(&flag))).json();
        for order in response["data"]["orders"].as_array().expect("a list") {
            assert!(ids.insert(text(&order["order_id"]).to_owned()));
            times.push(order["create_time"].as_i64().expect("a time"));
        }
        flag = text(&response["data"]["page_flag"]).to_owned();
        if response["data"]["completed"] == true {
            break;
        }
    }
    assert_eq!(ids.len(), 120);
    assert!(times.is_sorted_by(|a, b| a >= b));

    let (mut codes, mut next_key, mut requests) = (HashSet::new(), String::new(), 0);
    loop {
        let body = serde_json::json!({"next_key": next_key}).to_string();
        let response = rig.post("/api/v1.0/quote/plate/HK.BK1001/stock", &body).json();
        for stock in response["data"]["stock_list"].as_array().expect("a list") {
            assert!(codes.insert(text(&stock["code"]).to_owned()));
        }
        requests += 1;
        let pagination = &response["pagination"];
        assert_eq!(pagination["total"], 333);
        next_key = text(&pagination["next_key"]).to_owned();
        if pagination["has_more"] == false {
            break;
        }
    }
    assert_eq!((codes.len(), requests, next_key.as_str()), (333, 7, "-1"));
}

#[test]
fn histories_go_backward_by_their_end() {
    let rig = Rig::new(Options::default());
    for (path, list, by_next_time) in [
        ("history-kline", "kline_list", true),
        ("capital-flow/history", "capital_flow_list", false),
    ] {
        let (mut days, mut end) = (Vec::<String>::new(), String::new());
        loop {
            let end_query = if end.is_empty() { String::new() } else { format!("&end={end}") };
            let target = format!("/api/v1.0/quote/HK.00700/{path}?limit=150{end_query}");
            let response = rig.get(&target).json();
            let rows = response["data"][list].as_array().expect("a list");
            let page: Vec<String> =
                rows.iter().map(|row| text(&row["data_date"]).to_owned()).collect();
            assert!(page.is_sorted());
            end = if by_next_time {
                text(&response["extra"]["next_time"]).to_owned()
            } else {
                let first: jiff::civil::Date = page[0].parse().expect("a date");
                first.yesterday().expect("a day").to_string()
            };
            days.splice(0..0, page);
            if response["pagination"]["has_more"] == false {
                break;
            }
        }
        assert_eq!(days.len(), 520, "{path}");
        assert!(days.is_sorted_by(|a, b| a < b), "each once");
    }
}
