use super::*;
use crate::api::NEXT_KEY;

fn kline() -> Declaration {
    Declaration {
        name: "kline".to_owned(),
        method: "GET".to_owned(),
        path: "/api/v1.0/quote/{symbol}/history-kline".to_owned(),
        rows: Some("data.kline_list".to_owned()),
        paging: Some(Paging::Cursor(NEXT_KEY)),
        record: vec![declared_field("time", "seconds").expect("a field")],
        arguments: vec![("start".to_owned(), "seconds".to_owned())],
        doc: String::new(),
    }
}

fn mistake(change: fn(&mut Declaration)) -> String {
    let mut declaration = kline();
    change(&mut declaration);
    let mistake = declaration.endpoint().expect_err("a mistake");
    format!("{} {}", mistake.place(), mistake.message)
}

#[test]
fn a_declaration_becomes_a_row() {
    let row = kline().endpoint().expect("a row");
    let parameters: Vec<(&str, ParameterLocation, bool)> =
        row.parameters.iter().map(|p| (p.name.as_ref(), p.place, p.required)).collect();
    let expected =
        [("symbol", ParameterLocation::Path, true), ("start", ParameterLocation::Query, false)];
    assert_eq!(parameters, expected);
    assert_eq!(row.undeclared, Some(ParameterLocation::Query));
    assert!(row.idempotent);
}

#[test]
fn a_mistake_names_its_key_and_what_is_expected() {
    for (change, expected) in [
        ((|d| d.name = "k line".into()) as fn(&mut Declaration), "name is 'k line'"),
        (|d| d.method = "PUT".into(), "method is 'PUT'; expected 'GET' or 'POST'"),
        (|d| d.rows = Some("data..x".into()), "rows is 'data..x'"),
        (|d| d.path = "api".into(), "does not begin with /"),
        (|d| d.path = "/a/../b".into(), "segment '..'"),
        (|d| d.path = "/a?b=1".into(), "segment 'a?b=1'"),
        (|d| d.path = "/a//b".into(), "empty segment"),
        (|d| d.path = "/{a}/{a}".into(), "{a} twice"),
        (|d| d.path = "/{a b}".into(), "path has the argument 'a b'"),
        (|d| d.path = "/{next_key}".into(), "which the pager sets"),
        (|d| d.path = "/x%2f".into(), "segment 'x%2f'"),
        (
            |d| d.arguments[0].1 = "second".into(),
            "arguments.start is 'second'; expected one of text",
        ),
        (|d| d.arguments[0].1 = "object".into(), "only the body of a POST"),
        (|d| d.arguments[0].0 = "resume".into(), "rename it"),
        (|d| d.record.push(d.record[0].clone()), "record.time is declared twice"),
    ] {
        let message = mistake(change);
        assert!(message.contains(expected), "{message}");
    }
    let message = Paging::declared("next-key").expect_err("a mistake");
    assert!(message.ends_with("DateRange; did you mean 'next_key'?"), "{message}");
    let message = declared_field("time", "decimals").expect_err("a mistake").message;
    assert!(message.ends_with("object; did you mean 'decimal'?"), "{message}");
}
