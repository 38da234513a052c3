//! Compact JSON that is safe to print, with every number as it was sent.

use std::fmt::Write;

use super::value::Value;
use crate::error::is_unprintable;

/// Appends a value as compact JSON.
pub(in crate::decode) fn write_value(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(text) => out.push_str(text),
        Value::Text(text) => write_text(text, out),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write_value(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            write_object(members.iter().map(|(name, value)| (name.as_ref(), value)), out);
        }
    }
}

/// Appends an object with these members.
pub(in crate::decode) fn write_object<'v>(
    members: impl Iterator<Item = (&'v str, &'v Value<'v>)>,
    out: &mut String,
) {
    out.push('{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        write_text(name, out);
        out.push(':');
        write_value(value, out);
    }
    out.push('}');
}

/// Appends a text as a JSON string.
pub fn write_text(text: &str, out: &mut String) {
    out.push('"');
    if text.bytes().all(|byte| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\') {
        out.push_str(text);
        out.push('"');
        return;
    }
    for character in text.chars() {
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            // A terminal would obey the character. Its escape is the same JSON value.
            _ if is_unprintable(character) => {
                // Writing to a `String` never fails.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

/// Returns a text that is the same for all ways to write a value: members sorted by name, few
/// escapes, numbers without zeros that change nothing. A text that is not JSON is returned
/// unchanged.
pub fn canonical_json(json: &str) -> String {
    let Ok(value) = Value::parse(json) else { return json.to_owned() };
    let mut out = String::new();
    write_canonical(&value, &mut out);
    out
}

fn write_canonical(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Number(text) => out.push_str(&canonical_number(text)),
        Value::List(items) => {
            out.push('[');
            for item in items {
                write_canonical(item, out);
                out.push(',');
            }
            out.push(']');
        }
        Value::Object(members) => {
            let mut members: Vec<_> = members.iter().collect();
            members.sort_by(|(one, _), (other, _)| one.cmp(other));
            out.push('{');
            for (name, value) in members {
                write_text(name, out);
                out.push(':');
                write_canonical(value, out);
                out.push(',');
            }
            out.push('}');
        }
        Value::Null | Value::Bool(_) | Value::Text(_) => write_value(value, out),
    }
}

/// Maximum number of zeros that are written after the digits of a number.
const ZEROS_MAX: usize = 40;

/// Returns the significant digits of a number, with an exponent if it is not a whole number or very
/// large.
fn canonical_number(text: &str) -> String {
    let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
    let (sign, mantissa) = mantissa.strip_prefix('-').map_or(("", mantissa), |rest| ("-", rest));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let Ok(exponent) = exponent.parse::<i64>() else { return text.to_owned() };
    let all = format!("{whole}{fraction}");
    let digits = all.trim_end_matches('0');
    let zeros = (all.len() - digits.len()) as i64 - fraction.len() as i64;
    let exponent = exponent.saturating_add(zeros);
    match (digits.trim_start_matches('0'), usize::try_from(exponent)) {
        ("", _) => "0".to_owned(),
        (digits, Ok(zeros)) if zeros <= ZEROS_MAX => format!("{sign}{digits}{}", "0".repeat(zeros)),
        (digits, _) => format!("{sign}{digits}e{exponent}"),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_value_has_one_canonical_form_however_it_is_written() {
        for (written, canonical) in [
            (r#""\u0041\/é""#, "\"A/é\""),
            (
                r#"{ "b": [1.50, -0], "a": {"d":1,"c":null} }"#,
                r#"{"a":{"c":null,"d":1,},"b":[15e-1,0,],}"#,
            ),
            ("100", "100"),
            ("1e2", "100"),
            ("1.0E+2", "100"),
            ("-0.0150", "-15e-3"),
            ("9223372036854775808", "9223372036854775808"),
            ("1e999", "1e999"),
            ("not JSON", "not JSON"),
        ] {
            assert_eq!(canonical_json(written), canonical, "{written}");
        }
    }

    fn compact(json: &str) -> String {
        let mut out = String::new();
        write_value(&Value::parse(json).expect("json"), &mut out);
        out
    }

    #[test]
    fn numbers_are_copied_and_white_space_is_dropped() {
        let json = "{ \"a\" : [ 1e400 , -0, 1.10,\n null, true ], \"b\": {} }";
        assert_eq!(compact(json), r#"{"a":[1e400,-0,1.10,null,true],"b":{}}"#);
    }

    proptest! {
        #[test]
        fn any_text_becomes_valid_json_that_is_safe_to_print(text in any::<String>(), name in any::<String>()) {
            let sent = serde_json::json!({ name: [text] });
            let written = compact(&sent.to_string());
            prop_assert!(!written.contains(is_unprintable));
            let read: serde_json::Value = serde_json::from_str(&written).expect("json");
            prop_assert_eq!(read, sent);
        }
    }
}
