//! JSON values that keep what was sent: numbers as their own text, members in their order.

use std::{borrow::Cow, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::json_reader::{JsonReader, deeper};

/// Deeper nesting is refused: no documented answer has more than a handful of levels.
pub const MAX_NESTING: usize = 64;

/// A JSON value that borrows from the answer.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    Null,
    Bool(bool),
    /// The number's own text, so that no digit is lost.
    Number(&'a str),
    Text(Cow<'a, str>),
    List(Vec<Value<'a>>),
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// In one pass, however deep its parts are.
    pub fn parse(json: &'a str) -> serde_json::Result<Self> {
        let mut reader = JsonReader::new(json, 0);
        let value = Value::read(&mut reader, 0).filter(|_| reader.peek().is_none());
        value.ok_or_else(|| match serde_json::from_str::<IgnoredAny>(json) {
            Err(error) => error,
            // It takes half a surrogate pair, and more brackets.
            Ok(_) => serde_json::Error::custom("a lone surrogate, or too many brackets"),
        })
    }

    fn read(reader: &mut JsonReader<'a>, depth: usize) -> Option<Self> {
        match reader.peek()? {
            b'[' => {
                let depth = deeper(depth)?;
                let mut items = Vec::new();
                let mut more = reader.begin_container(b'[', b']')?;
                while more {
                    items.push(Value::read(reader, depth)?);
                    more = reader.more(b']')?;
                }
                Some(Value::List(items))
            }
            b'{' => {
                let depth = deeper(depth)?;
                let mut members = Vec::new();
                let mut more = reader.begin_container(b'{', b'}')?;
                while more {
                    let name = reader.key()?.name.string()?;
                    members.push((name, Value::read(reader, depth)?));
                    more = reader.more(b'}')?;
                }
                Some(Value::Object(members))
            }
            first => {
                let raw = reader.value(depth)?.of(reader.text())?;
                match first {
                    b'"' => raw.string().map(Value::Text),
                    b'n' => Some(Value::Null),
                    b't' | b'f' => Some(Value::Bool(first == b't')),
                    _ => Some(Value::Number(raw.json)),
                }
            }
        }
    }

    /// The member of an object; of doubled names the last one, as everywhere in JSON.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        match self {
            Value::Object(members) => {
                members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// The number where it is a whole one: `1.0` is none.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Number(text) => text.parse().ok(),
            _ => None,
        }
    }
}

/// The members of a JSON object in their order, each value as its own JSON text.
pub type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// Splits a JSON object into its members.
pub fn members(json: &str) -> serde_json::Result<Members<'_>> {
    serde_json::from_str(json).map(|Object(members)| members)
}

/// The member of that name; of doubled names the last one.
pub fn member<'a>(members: &Members<'a>, name: &str) -> Option<&'a RawValue> {
    members.iter().rev().find(|(key, _)| key == name).map(|(_, value)| *value)
}

/// Whether brackets nest deeper than any answer should: looked at before anything recurses.
pub fn nests_too_deeply(json: &str) -> bool {
    let (mut depth, mut in_text, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_text => escaped = true,
            b'"' => in_text = !in_text,
            _ if in_text => {}
            b'[' | b'{' => {
                depth += 1;
                if depth > MAX_NESTING {
                    return true;
                }
            }
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    false
}

/// Text that borrows where it has no escapes; serde's own `Cow` always copies.
struct Text<'a>(Cow<'a, str>);

impl<'de> Deserialize<'de> for Text<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct TextVisitor;
        impl<'de> Visitor<'de> for TextVisitor {
            type Value = Text<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("a string")
            }
            fn visit_borrowed_str<E>(self, text: &'de str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Borrowed(text)))
            }
            fn visit_str<E>(self, text: &str) -> Result<Self::Value, E> {
                Ok(Text(Cow::Owned(text.to_owned())))
            }
        }
        deserializer.deserialize_str(TextVisitor)
    }
}

struct Object<'a>(Members<'a>);

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = Vec::new();
                while let Some((Text(key), value)) = map.next_entry::<Text<'de>, &RawValue>()? {
                    members.push((key, value));
                }
                Ok(Object(members))
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn numbers_keep_their_digits() {
        for text in ["18446744073709551616", "-0", "0.10", "1e400", "-9223372036854775808"] {
            assert_eq!(Value::parse(text).expect(text), Value::Number(text));
        }
    }

    #[test]
    fn what_is_no_json_is_no_value() {
        for text in
            ["", "NaN", "Infinity", "01", "1.", "+1", "nul", "\"\\ud800\"", "\"\t\"", "[1,]"]
        {
            assert!(Value::parse(text).is_err(), "{text}");
        }
    }

    #[test]
    fn nesting_counts_brackets_outside_text_only() {
        assert!(!nests_too_deeply(&format!("[\"{}\"]", "[".repeat(1000))));
        assert!(!nests_too_deeply(&format!("{}{}", "[".repeat(64), "]".repeat(64))));
        assert!(nests_too_deeply(&"[".repeat(65)));
        assert!(!nests_too_deeply(
            r#"["\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["]"#
        ));
    }

    fn any_json() -> impl Strategy<Value = serde_json::Value> {
        let leaf = prop_oneof![
            Just(serde_json::Value::Null),
            any::<bool>().prop_map(Into::into),
            any::<i64>().prop_map(Into::into),
            any::<u64>().prop_map(Into::into),
            any::<String>().prop_map(Into::into),
        ];
        leaf.prop_recursive(4, 48, 6, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..6).prop_map(Into::into),
                proptest::collection::btree_map(any::<String>(), inner, 0..6)
                    .prop_map(|map| serde_json::Value::Object(map.into_iter().collect())),
            ]
        })
    }

    fn same(ours: &Value<'_>, theirs: &serde_json::Value) -> bool {
        match (ours, theirs) {
            (Value::Null, serde_json::Value::Null) => true,
            (Value::Bool(a), serde_json::Value::Bool(b)) => a == b,
            (Value::Number(a), serde_json::Value::Number(b)) => *a == b.to_string(),
            (Value::Text(a), serde_json::Value::String(b)) => a == b,
            (Value::List(a), serde_json::Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
            }
            (Value::Object(a), serde_json::Value::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(k, v)| b.get(&**k).is_some_and(|w| same(v, w)))
            }
            _ => false,
        }
    }

    proptest! {
        #[test]
        fn any_json_is_read_as_serde_reads_it(json in any_json(), pretty in any::<bool>()) {
            let text = if pretty {
                serde_json::to_string_pretty(&json)
            } else {
                serde_json::to_string(&json)
            }.expect("text");
            prop_assert!(same(&Value::parse(&text).expect("value"), &json));
        }
    }
}
