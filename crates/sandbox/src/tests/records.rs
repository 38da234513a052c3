//! Helpers shared by the tests of the endpoints: records checked against the table.

use std::collections::HashSet;

use boardlot_service::api::{self, ENDPOINTS, Field, Kind, Record, ResponseShape, Wire};
use serde_json::Value;

use crate::{
    Options,
    testing::{Got, Rig},
};

pub fn rig() -> Rig {
    Rig::new(Options { seed: 7, fills: 300, plate_stocks: 120, ..Options::default() })
}

pub fn rows<'a>(response: &'a Value, place: &str) -> &'a Vec<Value> {
    response.pointer(place).and_then(Value::as_array).unwrap_or_else(|| unreachable!("{response}"))
}

/// Returns the record of an endpoint, by its name in the table.
pub fn record(name: &str) -> &'static Record {
    ENDPOINTS
        .iter()
        .filter_map(|endpoint| match &endpoint.response {
            ResponseShape::Rows(_, schema) => Some(schema.records()),
            _ => None,
        })
        .flatten()
        .find(|record| record.name == name)
        .expect("a record")
}

/// Asserts that a row has exactly the declared fields, of the declared kinds.
pub fn assert_fields(
    row: &Value,
    fields: &mut dyn Iterator<Item = &'static Field>,
    left_out: &[&str],
) {
    let row = row.as_object().expect("an object");
    let mut declared = HashSet::new();
    for field in fields {
        declared.insert(field.name.as_ref());
        let Some(value) = row.get(field.name.as_ref()) else {
            // Only IPOs of ETFs have these fields.
            let is_left_out =
                left_out.contains(&field.name.as_ref()) || field.name.starts_with("etf_");
            assert!(is_left_out, "{} is missing: {row:?}", field.name);
            continue;
        };
        assert!(!left_out.contains(&field.name.as_ref()), "{} is there: {row:?}", field.name);
        let fits = match field.kind {
            Kind::Text | Kind::Date => value.is_string(),
            Kind::Integer | Kind::IntegerNotZero => value.is_i64() || value.is_u64(),
            Kind::Number => value.is_number(),
            Kind::Flag => value.is_boolean(),
            Kind::Decimal => {
                value.is_null()
                    || value.as_str().is_some_and(|v| v.is_empty() || v.parse::<f64>().is_ok())
            }
            Kind::Timestamp(_, Wire::Integer) => value.is_i64() || value.is_u64(),
            Kind::Timestamp(_, Wire::Text) => {
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
                api::Value::Integer(number) => value.as_i64() == Some(number),
                api::Value::Text(text) => value.as_str() == Some(text),
            });
            assert!(known, "{} is {value}", field.name);
        }
    }
    for name in row.keys() {
        assert!(declared.contains(name.as_str()), "{name} is not declared");
    }
}

pub fn assert_rows(response: &Value, place: &str, name: &str, left_out: &[&str]) {
    for row in rows(response, place) {
        assert_fields(row, &mut record(name).fields(), left_out);
    }
}

/// Asserts that the keys of the first row are in the order of the document.
pub fn assert_key_order(got: &Got, name: &str) {
    let text = String::from_utf8(got.body.clone()).expect("text");
    let rows = text.get(text.find("[{").expect("a row")..).expect("rows");
    let mut rest = rows.split("},{").next().expect("a row");
    for field in record(name).fields() {
        match rest.split_once(&format!("\"{}\":", field.name)) {
            Some((_, after)) => rest = after,
            None => assert!(!field.required, "{} is out of order", field.name),
        }
    }
}

pub fn code(got: &Got, member: &str) -> i64 {
    let response = got.json();
    response[member].as_i64().unwrap_or_else(|| unreachable!("{response}"))
}
