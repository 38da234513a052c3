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
            // A terminal would obey it. An escape is the same JSON value.
            _ if is_unprintable(character) => {
                // Writing to a `String` never fails.
                let _ = write!(out, "\\u{:04x}", u32::from(character));
            }
            _ => out.push(character),
        }
    }
    out.push('"');
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

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
