//! The scan held against the general path: the same rows and meta, or both an error.

use ::http::Response;
use bytes::Bytes;
use proptest::prelude::*;

use super::answers::{Node, answer, damage, key, records, spaces, value};
use crate::{
    api::Envelope,
    decode::{
        Page, RowsAt, Value,
        envelope::{parse_slow_path, scanned},
        parse_page,
    },
    error::ErrorKind,
};

fn fills() -> RowsAt {
    RowsAt::Path(vec!["d".into(), "order_fills".into()])
}

/// Checks an answer on both paths; whether the scan took it.
fn agree(at: &RowsAt, body: impl Into<Vec<u8>>) -> Result<bool, TestCaseError> {
    let answer = Response::new(Bytes::from(body.into()));
    let scanned = scanned(Envelope::Status, at, &answer);
    let general = parse_slow_path(Envelope::Status, at, &answer);
    let taken = scanned.is_some();
    match (scanned, &general) {
        (Some(ours), Ok(theirs)) => equal(&ours, theirs)?,
        (Some(_), Err(error)) => prop_assert!(false, "the scan takes what is an error: {}", error),
        (None, _) => {}
    }
    match (parse_page(Envelope::Status, at, &answer), &general) {
        (Ok(ours), Ok(theirs)) => equal(&ours, theirs)?,
        (Err(ours), Err(theirs)) => prop_assert_eq!(ours.to_string(), theirs.to_string()),
        (ours, theirs) => prop_assert!(false, "{:?}, not {:?}", ours, theirs),
    }
    Ok(taken)
}

fn equal(ours: &Page, theirs: &Page) -> Result<(), TestCaseError> {
    prop_assert_eq!(ours.len(), theirs.len());
    for index in 0..ours.len() {
        let parts = |page: &Page| -> Vec<(String, String)> {
            let members = page.row(index).expect("a row");
            members.into_iter().map(|(key, raw)| (key.into(), raw.get().into())).collect()
        };
        prop_assert_eq!(parts(ours), parts(theirs));
        prop_assert_eq!(walked(ours, index).expect("a valid row"), parts(theirs));
        if let Some(cut) = cut(ours, index) {
            prop_assert_eq!(cut, parts(theirs));
        }
    }
    let meta = |page: &Page| -> Vec<(String, String)> {
        page.meta().map(|(key, value)| (key.to_owned(), format!("{value:?}"))).collect()
    };
    prop_assert_eq!(meta(ours), meta(theirs));
    Ok(())
}

/// A record's members as the page's grid has them, if it has one.
fn cut(page: &Page, index: usize) -> Option<Vec<(String, String)>> {
    let name = |token: &str| token.strip_prefix('"')?.strip_suffix("\":").map(str::to_owned);
    let names = page.keys()?.map(|token| name(token).expect("a key with its colon"));
    let cells = page.cells(index).expect("each record has its cells");
    let values = (0..).map_while(|place| {
        let value = cells.get(place)?;
        assert_eq!(
            value.plain().is_none(),
            !value.json.starts_with('"') || value.json.contains('\\')
        );
        Some(value.json.to_owned())
    });
    Some(names.zip(values).collect())
}

/// A record's members as a cursor finds them.
fn walked(page: &Page, index: usize) -> Option<Vec<(String, String)>> {
    let mut reader = page.reader(index);
    let mut members = Vec::new();
    let mut more = reader.begin_container(b'{', b'}')?;
    while more {
        let name = reader.key()?.name.string()?.into_owned();
        let value = reader.value(1)?.of(reader.text())?;
        let text = match Value::parse(value.json).expect("valid") {
            Value::Text(text) => Some(text.into_owned()),
            _ => None,
        };
        assert_eq!(value.string().map(String::from), text);
        members.push((name, value.json.to_owned()));
        more = reader.more(b'}')?;
    }
    Some(members)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_answer_gives_the_same_page_or_the_same_error(
        answer in answer(records(value())), spaces in spaces(), damage in damage(),
    ) {
        agree(&fills(), damage.done_to(answer.written(&spaces)))?;
    }

    #[test]
    fn a_list_whose_place_is_not_shown_is_found_alike(
        answer in answer(records(value())), spaces in spaces(), damage in damage(),
    ) {
        let body = damage.done_to(answer.written(&spaces));
        agree(&RowsAt::OnlyListOf("d".into()), body.clone())?;
        agree(&RowsAt::Path(vec!["d".into()]), body.clone())?;
        agree(&RowsAt::OnlyListOf("list".into()), body)?;
    }

    #[test]
    fn any_json_and_any_bytes_give_the_same_page_or_the_same_error(
        node in value(), bytes in proptest::collection::vec(any::<u8>(), 0..40), key in key(),
    ) {
        agree(&fills(), node.written(&[""]))?;
        agree(&fills(), bytes)?;
        let listed = Node::Object(vec![("s".into(), Node::text("ok")), (key, node)]);
        for at in ["list", "d", "a"] {
            agree(&RowsAt::OnlyListOf(at.into()), listed.written(&[" "]))?;
        }
    }

    #[test]
    fn an_ordinary_answer_is_never_left_to_the_general_path(
        rows in proptest::collection::vec("[ -!#-\\[\\]-~\u{4e2d}]{0,30}", 0..20),
        spaces in spaces(),
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
        let body = Node::Object(top).written(&spaces);
        prop_assert!(agree(&fills(), body.clone())?, "not taken: {}", body);
        prop_assert!(agree(&RowsAt::OnlyListOf("d".into()), body)?);
    }
}

#[test]
fn a_page_has_a_grid_where_its_records_are_written_alike() {
    let page = |rows: &str| {
        let body = format!(r#"{{"s":"ok","d":{{"order_fills":{rows}}}}}"#);
        assert!(agree(&fills(), body.as_bytes()).expect(rows), "{rows}");
        parse_page(Envelope::Status, &fills(), &Response::new(body.into())).expect(rows)
    };
    for rows in [
        r#"[{"a":1}]"#,
        r#"[{"a":1,"b":"x"},{"a":"\u4e2d","b":{"c": [1, 2]}}]"#,
        r#"[{"a":1} , {"a":[]}]"#,
    ] {
        assert!(page(rows).keys().is_some(), "{rows}");
    }
    for rows in [
        "[]",
        "[{}]",
        r#"[{"a":1,"a":2}]"#,
        r#"[{"a":1},{"b":1}]"#,
        r#"[{"a":1},{"a":1,"b":2}]"#,
        r#"[{"a":1,"b":2},{"a":1}]"#,
        r#"[{"a":1,"b":2},{"b":1,"a":2}]"#,
        r#"[{"a": 1}]"#,
        r#"[{"a" :1}]"#,
        r#"[{"a":1},{"a":1 }]"#,
        r#"[{"a":1,"b":2},{"a":1, "b":2}]"#,
        r#"[{"\u0061":1}]"#,
    ] {
        assert!(page(rows).keys().is_none(), "{rows}");
    }
    let mut page = page(r#"[{"a":1,"b":"p"},{"a":2,"b":"q"},{"a":3,"b":"r"}]"#);
    page.retain(&[true, false, true]);
    let cells = page.cells(1).expect("the second that was kept");
    assert_eq!(cells.get(0).map(|raw| raw.json), Some("3"));
    assert_eq!(cells.get(1).map(|raw| raw.json), Some(r#""r""#));
    assert!(page.cells(2).is_none());
}

#[test]
fn what_is_doubled_broken_or_misplaced_is_the_general_paths() {
    let deep = format!(r#"{{"s":"ok","d":{{"order_fills":[{{"a":{}}}]}}}}"#, "[".repeat(80));
    for body in [
        r#"{"s":"ok","d":{"order_fills":[{"a":1}]},"d":{"order_fills":[]}}"#,
        r#"{"s":"ok","d":{"order_fills":[{"a":1}],"order_fills":[{"b":2}]}}"#,
        r#"{"s":"ok","d":{"order_fills":[]},"m":"\ud800"}"#,
        r#"{"s":"ok","d":{"order_fills":[{"a":"\ud800"}]}}"#,
        r#"{"s":"ok","d":{"order_fills":[{"a":1},2]}}"#,
        r#"{"s":"ok","d":{"order_fills":[{"a":1}]}} x"#,
        r#"{"s":"ok","d":{"order_fills":{"order_fills":[]}}}"#,
        r#"{"s":"ok","d":[{"order_fills":[]}]}"#,
        "{\"s\":\"ok\",\"d\":{\"order_fills\":[{\"a\":\"\u{0}\"}]}}",
        "\u{feff}{\"s\":\"ok\",\"d\":{\"order_fills\":[]}}",
        "",
        &deep,
    ] {
        let taken = agree(&fills(), body.as_bytes()).expect(body);
        assert!(!taken, "{body}");
    }
    let error =
        parse_page(Envelope::Status, &fills(), &Response::new(deep.into())).expect_err("deep");
    assert!(matches!(*error.kind, ErrorKind::Protocol { .. }));
}
