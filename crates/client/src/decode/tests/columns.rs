//! Compares the columns of a page that the scan accepts with the columns of the same page through
//! serde.

use std::sync::Arc;

use ::http::Response;
use arrow_array::RecordBatch;
use bytes::Bytes;
use proptest::{prelude::*, sample::select};

use super::responses::{Node, key, records, spaces, value};
use crate::{
    api::{Envelope, Field, RecordsLocation},
    decode::{
        BatchBuilder, ColumnOptions, Columns, Decimals, InvalidValues, Page, PageSlice, Rows,
        Strings, parse_page,
        parse_page::{parse_fast_path, parse_slow_path},
    },
    error::Result,
};

const PAIR: &[Field] = &[Field::text("a", ""), Field::number("n", "")];
const FIELDS: &[Field] = &[
    Field::text("code", ""),
    Field::decimal("price", ""),
    Field::micros("time", ""),
    Field::date("day", ""),
    Field::object("pair", PAIR, ""),
    Field::flag("flag", ""),
    Field::integer("n", ""),
    Field::number("number", ""),
];

/// Generates values, most of which are valid for some field.
fn valid_value() -> BoxedStrategy<Node> {
    let plain = select(vec![
        "null",
        "true",
        "false",
        "0",
        "1780000000123456",
        "\"1780000000123456\"",
        "\"\"",
        "\"--\"",
        "\"12.50\"",
        "\"-0.000000000000000001\"",
        "\"2024-02-29\"",
        "\"2024/01/31\"",
        "\"2024-02-30\"",
        "{\"a\":\"x\",\"n\":1.5}",
        "{\"n\":null,\"b\":1}",
        "{\"a\":1,\"a\":\"2\"}",
        "-1.5e3",
        "9223372036854775808",
        "\"HK.00700\"",
        "\"\\u4e2d\\ud83d\\ude00\"",
        "[1,2]",
    ]);
    prop_oneof![3 => plain.prop_map(|text| Node::Plain(text.to_owned())), 1 => value()].boxed()
}

fn options() -> impl Strategy<Value = ColumnOptions> {
    let decimals = select(vec![Decimals::Float64, Decimals::Decimal, Decimals::Text]);
    let strings = select(vec![Strings::Utf8, Strings::Large, Strings::View]);
    (decimals, strings, prop::bool::weighted(0.8)).prop_map(|(decimals, strings, lenient)| {
        let invalid = if lenient { InvalidValues::Null } else { InvalidValues::Raise };
        ColumnOptions { decimals, invalid, strings, ..ColumnOptions::default() }
    })
}

fn response(rows: Vec<Node>, spaces: &[&str]) -> Response<Bytes> {
    let top = Node::Object(vec![
        ("code".into(), Node::Plain("0".into())),
        ("data".into(), Node::List(rows)),
    ]);
    Response::new(Bytes::from(top.to_json(spaces)))
}

const LIST: RecordsLocation = RecordsLocation::OnlyListOf("data");

fn page(rows: Vec<Node>, spaces: &[&str]) -> Option<Arc<Page>> {
    parse_page(Envelope::Code, &LIST, &response(rows, spaces)).ok().map(Arc::new)
}

fn columns(page: &Arc<Page>, key: Option<&str>, options: ColumnOptions) -> Result<RecordBatch> {
    let mut columns = Columns::new(FIELDS.iter(), key.map(|_| "symbol"), None, options);
    columns.push_slice(&PageSlice {
        page: page.clone(),
        range: 0..page.len(),
        key: key.map(Arc::from),
    })?;
    columns.finish()
}

#[test]
fn an_error_says_which_records_its_number_counts() {
    let row = |price: &str| Node::Object(vec![("price".into(), Node::text(price))]);
    let options = ColumnOptions::default();
    let rows = || vec![row("1"), row("2"), row("much"), row("3")];
    let whole = page(rows(), &[""]).expect("a page");
    let error = columns(&whole, None, options).expect_err("invalid").to_string();
    assert!(error.contains("price of record 2 is"), "{error}");

    let mut windowed = Arc::into_inner(page(rows(), &[""]).expect("a page")).expect("the only one");
    windowed.retain(&[false, true, true, false]);
    let windowed = Arc::new(windowed);
    let slice = PageSlice { page: windowed.clone(), range: 0..2, key: None };
    let mut parts = BatchBuilder::new(|| Columns::new(FIELDS.iter(), None, None, options));
    let error = parts.push_slice(&slice).expect_err("invalid").to_string();
    assert!(error.contains("price of record 1 of its window is"), "{error}");
    // In a sequence, records are counted from its beginning.
    let fields: Vec<Field> = FIELDS.to_vec();
    let before = PageSlice { page: whole, range: 0..2, key: None };
    let records = Rows::new(vec![before, slice], fields.into());
    let error = records.columns(options, || true).expect_err("invalid").to_string();
    assert!(error.contains("price of record 3 is"), "{error}");
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1500, ..ProptestConfig::default() })]

    #[test]
    fn any_records_give_the_same_columns_or_the_same_error(
        rows in records(valid_value()), spaces in spaces(), options in options(), keyed in any::<bool>(),
    ) {
        let response = response(rows, &spaces);
        let Some(fast) = parse_fast_path(Envelope::Code, &LIST, &response) else { return Ok(()) };
        let slow = parse_slow_path(Envelope::Code, &LIST, &response).expect("a page");
        let key = keyed.then_some("HK.00700");
        match (columns(&Arc::new(fast), key, options), columns(&Arc::new(slow), key, options)) {
            (Ok(ours), Ok(theirs)) => prop_assert_eq!(ours, theirs),
            (Err(ours), Err(theirs)) => prop_assert_eq!(ours.to_string(), theirs.to_string()),
            (ours, theirs) => prop_assert!(false, "{:?}, not {:?}", ours, theirs),
        }
    }

    #[test]
    fn parts_have_one_schema_and_together_all_rows(
        rows in records(valid_value()), more in records(value()), name in key(), text in valid_value(),
    ) {
        let options = ColumnOptions { invalid: InvalidValues::Null, ..ColumnOptions::default() };
        let odd = vec![Node::Object(vec![(name, text)])];
        let pages: Vec<_> = [rows, more, Vec::new(), odd].into_iter().filter_map(|r| page(r, &[""])).collect();
        let mut whole = Columns::new(FIELDS.iter(), None, None, options);
        let mut parts = vec![Columns::new(FIELDS.iter(), None, None, options)];
        for page in &pages {
            let slice = PageSlice { page: page.clone(), range: 0..page.len(), key: None };
            whole.push_slice(&slice).expect("no error");
            let mut part = Columns::new(FIELDS.iter(), None, None, options);
            part.push_slice(&slice).expect("no error");
            parts.push(part);
        }
        let whole = whole.finish().expect("a batch");
        let (schema, batches) = Columns::finish_parts(parts).expect("batches");
        prop_assert_eq!(&schema, &whole.schema());
        let mut row = 0;
        for batch in batches {
            prop_assert_eq!(&whole.slice(row, batch.num_rows()), &batch);
            row += batch.num_rows();
        }
        prop_assert_eq!(row, whole.num_rows());
    }
}
