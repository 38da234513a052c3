//! The fast path compared with the slow one: the same rows and metadata, or both an error.

use ::http::Response;
use bytes::Bytes;
use proptest::prelude::*;

use super::responses::{Node, corruption, key, records, response, spaces, value};
use crate::{
    api::{Envelope, RecordsLocation},
    decode::{
        Page, Value, parse_page,
        parse_page::{parse_fast_path, parse_slow_path},
    },
    error::ErrorKind,
};

fn fills() -> RecordsLocation {
    RecordsLocation::at("d.order_fills")
}

/// Parses a response on both paths. Returns true if the fast path accepted it.
fn compare(at: &RecordsLocation, body: impl Into<Vec<u8>>) -> Result<bool, TestCaseError> {
    let response = Response::new(Bytes::from(body.into()));
    let fast = parse_fast_path(Envelope::Status, at, &response);
    let slow = parse_slow_path(Envelope::Status, at, &response);
    let accepted = fast.is_some();
    match (fast, &slow) {
        (Some(ours), Ok(theirs)) => equal(&ours, theirs)?,
        (Some(_), Err(error)) => prop_assert!(false, "accepted in spite of: {}", error),
        (None, _) => {}
    }
    match (parse_page(Envelope::Status, at, &response), &slow) {
        (Ok(ours), Ok(theirs)) => equal(&ours, theirs)?,
        (Err(ours), Err(theirs)) => prop_assert_eq!(ours.to_string(), theirs.to_string()),
        (ours, theirs) => prop_assert!(false, "{:?}, not {:?}", ours, theirs),
    }
    Ok(accepted)
}

fn equal(ours: &Page, theirs: &Page) -> Result<(), TestCaseError> {
    prop_assert_eq!(ours.len(), theirs.len());
    for index in 0..ours.len() {
        let parts = |page: &Page| -> Vec<(String, String)> {
            let members = page.row(index).expect("a row");
            members.into_iter().map(|(key, raw)| (key.into(), raw.get().into())).collect()
        };
        prop_assert_eq!(parts(ours), parts(theirs));
        if let Some(members) = by_grid(ours, index) {
            prop_assert_eq!(members, parts(theirs));
        }
    }
    let meta = |page: &Page| -> Vec<(String, String)> {
        page.meta().map(|(key, value)| (key.to_owned(), format!("{value:?}"))).collect()
    };
    prop_assert_eq!(meta(ours), meta(theirs));
    Ok(())
}

/// A record's members from the page's grid, if it has one.
fn by_grid(page: &Page, index: usize) -> Option<Vec<(String, String)>> {
    let values = page.row_values(index)?;
    let names = values.names().map(str::to_owned);
    let json = (0..).map_while(|key| {
        let value = values.get(key)?;
        assert_eq!(
            value.plain_text().is_none(),
            !value.json.starts_with('"') || value.json.contains('\\')
        );
        Some(value.json.to_owned())
    });
    Some(names.zip(json).collect())
}

/// Returns the same JSON in which some members are preceded by another value under the same name.
fn doubled(node: &Node, others: &mut impl Iterator<Item = Option<Node>>) -> Node {
    match node {
        Node::Plain(_) => node.clone(),
        Node::List(items) => Node::List(items.iter().map(|item| doubled(item, others)).collect()),
        Node::Object(members) => {
            let mut all = Vec::new();
            for (name, value) in members {
                all.extend(others.next().flatten().map(|other| (name.clone(), other)));
                all.push((name.clone(), doubled(value, others)));
            }
            Node::Object(all)
        }
    }
}

/// Members that a caller or the paging loop reads.
fn read_members(page: &Page) -> Vec<Option<String>> {
    let shown = |value: Option<Value<'_>>| value.map(|value| format!("{value:?}"));
    let names = ["page_flag", "completed", "has_more", "next_key", "total", "pagination"];
    let mut read: Vec<_> = names.iter().map(|name| shown(page.meta_member(name))).collect();
    read.extend(names.iter().map(|name| shown(page.pagination(name))));
    read.push(page.text_at(&["extra".to_owned(), "next_time".to_owned()]));
    for index in 0..page.len() {
        read.push(page.integer(index, "updated_time").expect("a row").map(|time| time.to_string()));
    }
    read
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_response_gives_the_same_page_or_the_same_error(
        response in response(records(value())), spaces in spaces(), corruption in corruption(),
    ) {
        compare(&fills(), corruption.apply(response.to_json(&spaces)))?;
    }

    #[test]
    fn an_undocumented_location_gives_the_same_list(
        response in response(records(value())), spaces in spaces(), corruption in corruption(),
    ) {
        let body = corruption.apply(response.to_json(&spaces));
        compare(&RecordsLocation::OnlyListOf("d"), body.clone())?;
        compare(&RecordsLocation::at("d"), body.clone())?;
        compare(&RecordsLocation::OnlyListOf("list"), body)?;
    }

    #[test]
    fn of_a_name_that_is_repeated_the_last_value_counts_wherever_it_is(
        others in proptest::collection::vec(proptest::option::of(proptest::sample::select(vec![
            "0", "1", "-3", "\"ok\"", "\"error\"", "\"x\"", "true", "false", "null", "[]", "[{}]", "{}",
            "{\"order_fills\":[{}],\"completed\":true,\"has_more\":false}",
        ])), 40),
        (success, many) in any::<(bool, bool)>(),
    ) {
        let object = |members: &[(&str, Node)]| {
            Node::Object(members.iter().map(|(name, value)| ((*name).into(), value.clone())).collect())
        };
        let plain = |text: &str| Node::Plain(text.into());
        let row = object(&[("deal_id", Node::text("7")), ("updated_time", plain("12"))]);
        let mut data = vec![
            ("order_fills".to_owned(), Node::List(vec![row.clone(), row])),
            ("page_flag".to_owned(), Node::text("f")),
            ("completed".to_owned(), plain("false")),
        ];
        if many {
            // Enough members for the names to be hashed.
            data.extend((0..70).map(|number| (format!("m{number}"), plain("1"))));
        }
        let pagination = object(&[
            ("has_more", plain("true")), ("next_key", Node::text("k")), ("total", plain("7")),
        ]);
        let marks = if success { ["\"ok\"", "0", "0"] } else { ["\"error\"", "-3", "-3"] };
        let body = object(&[
            ("s", plain(marks[0])), ("ret_code", plain(marks[1])), ("code", plain(marks[2])),
            ("error", object(&[("code", Node::text("invalid_parameter"))])),
            ("d", Node::Object(data)), ("pagination", pagination),
            ("extra", object(&[("next_time", plain("9"))])),
        ]);
        let others = others.iter().map(|text| text.map(|text| Node::Plain(text.to_owned())));
        let other = doubled(&body, &mut others.chain(std::iter::repeat(None)));
        for envelope in [Envelope::Status, Envelope::RetCode, Envelope::Code] {
            for at in [fills(), RecordsLocation::OnlyListOf("d")] {
                let parsed = |node: &Node| {
                    parse_page(envelope, &at, &Response::new(node.to_json(&[""]).into()))
                };
                match (parsed(&body), parsed(&other)) {
                    (Ok(once), Ok(twice)) => {
                        equal(&once, &twice)?;
                        prop_assert_eq!(read_members(&once), read_members(&twice));
                    }
                    (Err(once), Err(twice)) => {
                        let api = |error: &crate::error::Error| {
                            error.api_failure().map(|failure| (failure.class, failure.code))
                        };
                        prop_assert!(!success && api(&once).is_some());
                        prop_assert_eq!(api(&once), api(&twice));
                    }
                    (once, twice) => prop_assert!(false, "{:?}, not {:?}", twice, once),
                }
            }
        }
    }

    #[test]
    fn any_json_and_any_bytes_give_the_same_page_or_the_same_error(
        node in value(), bytes in proptest::collection::vec(any::<u8>(), 0..40), key in key(),
    ) {
        compare(&fills(), node.to_json(&[""]))?;
        compare(&fills(), bytes)?;
        let listed = Node::Object(vec![("s".into(), Node::text("ok")), (key, node)]);
        for at in ["list", "d", "a"] {
            compare(&RecordsLocation::OnlyListOf(at), listed.to_json(&[" "]))?;
        }
    }

    #[test]
    fn records_with_the_keys_of_earlier_ones_are_read_like_any_others(
        layouts in proptest::collection::vec(proptest::sample::subsequence(
            vec!["a", "code", "sixteen_bytes_xx", "a_key_of_exactly_29_bytes_abcd",
                 "a_key_that_is_far_longer_than_thirty_two_bytes"], 1..=5,
        ), 1..4),
        order in proptest::collection::vec(any::<proptest::sample::Index>(), 9),
        rows in proptest::collection::vec(
            proptest::collection::vec(proptest::sample::select(vec![
                "1", "12", "1787000000000000", "17870000000000001", "12345678901234567890123", "0", "-1",
                "1.5", "2e9", "null", "true", "[1,\"x\"]", "{\"a\":1}", "\"\"", "\"HK.00700\"",
                "\"\u{4e2d}\u{56fd}\"", "\"\\u4e2d\"", "\"a text of more than fifty-seven bytes, so that the \
                 next special byte is not near\"", "\"fifty-six bytes up to the closing quote of this long text\"",
                // Values that are not valid JSON, or not at this position.
                "01", "1x", "12}", "12]", "1\"", "1,", "1 ", "\t1", "12\\", "\"a\tb\"", "\"\\x\"", "\"", "\"a\"b", "\"ab\\", "\"ab\t", "",
            ]), 5), 2..9,
        ),
        is_valid in proptest::bool::weighted(0.7),
        corruption in corruption(),
    ) {
        let invalid = ["01", "1x", "12}", "12]", "1\"", "1,", "12\\", "\"a\tb\"", "\"\\x\"", "\"", "\"a\"b", "\"ab\\", "\"ab\t", ""];
        let keys = |index: usize| &layouts[order[index].index(layouts.len())];
        let row = |(index, values): (usize, &Vec<&str>)| {
            let value = |value: &str| match is_valid && invalid.contains(&value) {
                true => "7".to_owned(),
                false => value.to_owned(),
            };
            let members = keys(index).iter().zip(values);
            let members: Vec<_> =
                members.map(|(key, json)| format!("\"{key}\":{}", value(json))).collect();
            format!("{{{}}}", members.join(","))
        };
        let taken = |(index, row): (usize, &'_ Vec<&'static str>)| row[..keys(index).len()].to_vec();
        let mut values = rows.iter().enumerate().flat_map(taken);
        let has_spaces = values.any(|value| value.trim() != value);
        let rows: Vec<_> = rows.iter().enumerate().map(row).collect();
        let body = format!(
            r#"{{"s":"ok","d":{{"order_fills":[{}],"page_flag":"and more than enough text after it"}}}}"#,
            rows.join(",")
        );
        let accepted = compare(&fills(), body.clone())?;
        prop_assert!(accepted || !is_valid || has_spaces, "not accepted: {}", body);
        compare(&fills(), corruption.apply(body))?;
    }

    #[test]
    fn an_ordinary_response_takes_the_fast_path(
        rows in proptest::collection::vec("[ -!#-\\[\\]-~\u{4e2d}]{0,30}", 0..20),
        space in proptest::sample::select(vec!["", " ", "\n", "\r\n  "]),
        pagination in any::<bool>(),
    ) {
        let rows = rows.iter().map(|text| {
            Node::Object(vec![("code".into(), Node::text(text)), ("n".into(), Node::text("\\u4e2d"))])
        });
        let inner = Node::Object(vec![
            ("page_flag".into(), Node::text("\\/")),
            ("order_fills".into(), Node::List(rows.collect())),
        ]);
        let mut top = vec![("s".into(), Node::text("ok")), ("d".into(), inner)];
        if pagination {
            top.push(("pagination".into(), Node::Object(vec![("total".into(), Node::text("1"))])));
        }
        let body = Node::Object(top).to_json(&[space]);
        prop_assert!(compare(&fills(), body.clone())?, "not accepted: {}", body);
        prop_assert!(compare(&RecordsLocation::OnlyListOf("d"), body)?);
    }
}

#[test]
fn records_of_a_few_layouts_take_the_fast_path() {
    let body = |rows: &str| format!(r#"{{"s":"ok","d":{{"order_fills":{rows}}}}}"#);
    let accepts = |rows: &str| compare(&fills(), body(rows)).expect(rows);
    let page = |rows: &str| {
        parse_page(Envelope::Status, &fills(), &Response::new(body(rows).into())).expect(rows)
    };
    let layouts = |rows: &str| -> Vec<usize> {
        let page = page(rows);
        (0..page.len()).filter_map(|index| Some(page.row_values(index)?.layout())).collect()
    };
    for rows in [
        r#"[{"a":1}]"#,
        r#"[{"a":1,"b":"x"},{"a":"\u4e2d","b":{"c": [1, 2]}}]"#,
        r#"[{"a":1} , {"a":[]}]"#,
        r#"[{"a": 1, "b": "x"}, {"a": null, "b": "y"}]"#,
        "[\n  {\n    \"a\" : 12,\n    \"b\": 345\n  },\n  {\n    \"a\" : 6,\n    \"b\": 78\n  }\n]",
        r#"[{ "a" :1 }, { "a" :"x" }]"#,
    ] {
        assert!(accepts(rows) && layouts(rows) == [0; 2][..page(rows).len()], "{rows}");
    }
    for rows in ["[{}]", r#"[{"a":1,"a":2}]"#, r#"[{"\u0061":1}]"#] {
        assert!(!accepts(rows) && layouts(rows).is_empty(), "{rows}");
    }
    for (rows, expected) in [
        (r#"[{"a":1},{"b":1}]"#, vec![0, 1]),
        (r#"[{"a":1},{"a":1,"b":2}]"#, vec![0, 1]),
        (r#"[{"a":1,"b":2},{"a":1},{"a":3},{"a":1,"b":2}]"#, vec![0, 1, 1, 0]),
        (r#"[{"a":1,"b":2},{"b":1,"a":2}]"#, vec![0, 1]),
        (r#"[{"a":1},{"a": 1},{"a":1 },{"a":2}]"#, vec![0, 1, 2, 0]),
        (r#"[{"a":1,"b":2},{"a":1, "b":2}]"#, vec![0, 1]),
        // A record that cannot be in a grid leaves the whole page with positions alone.
        (r#"[{"a":1},{"a":1,"a":2}]"#, vec![]),
        (r#"[{"a":1},{}]"#, vec![]),
    ] {
        assert!(accepts(rows), "{rows}");
        assert_eq!(layouts(rows), expected, "{rows}");
    }
    let many = |count| (0..count).map(|n| format!("{{\"{n}\":1}}")).collect::<Vec<_>>().join(",");
    assert_eq!(layouts(&format!("[{}]", many(3))).len(), 3);
    assert!(accepts(&format!("[{}]", many(4))) && layouts(&format!("[{}]", many(4))).is_empty());
    assert!(accepts("[]"));
    for second in [r#"{"a":2,"b":"q"}"#, r#"{"a":2}"#] {
        let mut page = page(&format!(r#"[{{"a":1,"b":"p"}},{second},{{"a":3,"b":"r"}}]"#));
        page.retain(&[true, false, true]);
        let values = page.row_values(1).expect("the second record that was kept");
        assert_eq!(values.get(0).map(|raw| raw.json), Some("3"));
        assert_eq!(values.get(1).map(|raw| raw.json), Some(r#""r""#));
        assert!(page.row_values(2).is_none());
    }
}

#[test]
fn duplicate_invalid_or_misplaced_values_take_the_slow_path() {
    let deep = format!(r#"{{"s":"ok","d":{{"order_fills":[{{"a":{}}}]}}}}"#, "[".repeat(80));
    for body in [
        r#"{"s":"ok","d":{"order_fills":[{"a":1}]},"d":{"order_fills":[]}}"#,
        r#"{"s":"ok","d":{"order_fills":[{"a":1}],"order_fills":[{"b":2}]}}"#,
        r#"{"s":"ok","d":{"order_fills":null}}"#,
        r#"{"s":"ok","d":{"order_fills":[{"a":"\ud80"}]}}"#,
        r#"{"s":"ok","d":{"order_fills":[{"a":1},2]}}"#,
        r#"{"s":"ok","d":{"order_fills":[{"a":1}]}} x"#,
        r#"{"s":"ok","d":{"order_fills":{"order_fills":[]}}}"#,
        r#"{"s":"ok","d":[{"order_fills":[]}]}"#,
        "{\"s\":\"ok\",\"d\":{\"order_fills\":[{\"a\":\"\u{0}\"}]}}",
        "\u{feff}\u{feff}{\"s\":\"ok\",\"d\":{\"order_fills\":[]}}",
        "",
        &deep,
    ] {
        let accepted = compare(&fills(), body.as_bytes()).expect(body);
        assert!(!accepted, "{body}");
    }
    let error =
        parse_page(Envelope::Status, &fills(), &Response::new(deep.into())).expect_err("deep");
    assert!(matches!(*error.kind, ErrorKind::Protocol { .. }));
}
