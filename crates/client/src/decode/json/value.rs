//! JSON values as they were sent: numbers as their own text, members in their order.

use std::borrow::Cow;

use serde::de::{Error as _, IgnoredAny};

use super::{
    super::scalars::parse_whole,
    object::UniqueMembers,
    reader::{JsonReader, deeper},
};

/// A JSON value that borrows from its text.
#[derive(Debug, Clone, PartialEq)]
pub enum Value<'a> {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// The number's own text, so that no digit is lost.
    Number(&'a str),
    /// A string, unescaped.
    Text(Cow<'a, str>),
    /// The items of an array.
    List(Vec<Value<'a>>),
    /// The members of an object in their order, each name once.
    Object(Vec<(Cow<'a, str>, Value<'a>)>),
}

impl<'a> Value<'a> {
    /// Parses a whole JSON text in one pass.
    pub fn parse(json: &'a str) -> serde_json::Result<Self> {
        let mut reader = JsonReader::new(json, 0);
        let value = Value::read(&mut reader, 0).filter(|_| reader.peek().is_none());
        value.ok_or_else(|| match serde_json::from_str::<IgnoredAny>(json) {
            Err(error) => error,
            // serde accepts deeper nesting.
            Ok(_) => serde_json::Error::custom("nested too deeply"),
        })
    }

    fn read(reader: &mut JsonReader<'a>, depth: usize) -> Option<Self> {
        match reader.peek()? {
            b'[' => {
                let depth = deeper(depth)?;
                let mut items = Vec::new();
                let mut has_next = reader.begin_container(b'[', b']')?;
                while has_next {
                    items.push(Value::read(reader, depth)?);
                    has_next = reader.has_next(b']')?;
                }
                Some(Value::List(items))
            }
            b'{' => {
                let depth = deeper(depth)?;
                let mut members = UniqueMembers::new();
                let mut has_next = reader.begin_container(b'{', b'}')?;
                while has_next {
                    let name = reader.read_key()?.text()?;
                    members.set(name, Value::read(reader, depth)?);
                    has_next = reader.has_next(b'}')?;
                }
                Some(Value::Object(members.list))
            }
            first => {
                let raw = reader.read_value(depth)?.of(reader.text())?;
                match first {
                    b'"' => raw.text().map(Value::Text),
                    b'n' => Some(Value::Null),
                    b't' | b'f' => Some(Value::Bool(first == b't')),
                    _ => Some(Value::Number(raw.json)),
                }
            }
        }
    }

    /// Returns a member of an object.
    pub fn get(&self, name: &str) -> Option<&Value<'a>> {
        match self {
            Value::Object(members) => {
                members.iter().find(|(key, _)| key == name).map(|(_, value)| value)
            }
            _ => None,
        }
    }

    /// Returns the text of a string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of `true` or `false`.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        }
    }

    /// Returns the digits or the opaque text of a cursor or a time; the service may send either as
    /// a number.
    pub fn as_token(&self) -> Option<&str> {
        match self {
            Value::Text(text) => Some(text),
            Value::Number(text) => Some(text),
            _ => None,
        }
    }

    /// Returns the value of a whole number, however it is written.
    pub fn as_integer(&self) -> Option<i64> {
        match self {
            Value::Number(text) => parse_whole(text),
            _ => None,
        }
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
    fn invalid_json_is_rejected() {
        for text in ["", "NaN", "Infinity", "01", "1.", "+1", "nul", "\"\\ud80\"", "\"\t\"", "[1,]"]
        {
            assert!(Value::parse(text).is_err(), "{text}");
        }
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
        fn any_json_matches_serde(json in any_json(), pretty in any::<bool>()) {
            let text = if pretty {
                serde_json::to_string_pretty(&json)
            } else {
                serde_json::to_string(&json)
            }.expect("text");
            prop_assert!(same(&Value::parse(&text).expect("value"), &json));
        }
    }
}
