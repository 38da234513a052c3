//! JSON objects split into their members by serde, each value left as JSON text.

use std::{borrow::Cow, collections::HashMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{Error as _, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{raw::Raw, reader::MAX_NESTING};

/// The members of a JSON object in their order, each name once and each value as its own JSON text.
pub type Members<'a> = Vec<(Cow<'a, str>, &'a RawValue)>;

/// Splits a JSON object into its members.
pub fn parse_members(json: &str) -> serde_json::Result<Members<'_>> {
    serde_json::from_str(json).map(|Object(members)| members)
}

/// Returns the names and the values of an object's members as they were sent, including repeated
/// names; none if a name has escapes. Costs less than `parse_members`, which also looks for
/// repeated names.
pub fn split_members(json: &str) -> Option<(Vec<&str>, Vec<Raw<'_>>)> {
    let mut reader = super::JsonReader::new(json, 0);
    let (mut names, mut values) = (Vec::with_capacity(32), Vec::with_capacity(32));
    let mut has_next = reader.begin_container(b'{', b'}')?;
    while has_next {
        names.push(reader.read_key()?.plain_text()?);
        values.push(reader.read_value(1)?.of(json)?);
        has_next = reader.has_next(b'}')?;
    }
    reader.peek().is_none().then_some((names, values))
}

/// Returns the member with this name.
pub fn find_member<'a>(members: &Members<'a>, name: &str) -> Option<&'a RawValue> {
    members.iter().find(|(key, _)| key == name).map(|(_, value)| *value)
}

/// Returns true if brackets are nested deeper than in any response. Checked before any recursion.
pub(in crate::decode) fn is_too_deep(json: &str) -> bool {
    let (mut depth, mut in_string, mut escaped) = (0_usize, false, false);
    for byte in json.bytes() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            _ if in_string => {}
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

struct Object<'a>(Members<'a>);

/// Members as they are read. This is the one rule for repeated names: each has the position of its
/// first occurrence and the value of its last.
pub(super) struct UniqueMembers<'a, V> {
    pub list: Vec<(Cow<'a, str>, V)>,
    /// The index of each name in the list, once there are many.
    indices: HashMap<Cow<'a, str>, usize>,
}

impl<'a, V> UniqueMembers<'a, V> {
    /// Number of names from which hashing a name is faster than comparing it.
    const MANY: usize = 32;

    pub fn new() -> Self {
        UniqueMembers { list: Vec::new(), indices: HashMap::new() }
    }

    pub fn set(&mut self, name: Cow<'a, str>, value: V) {
        let is_long = self.list.len() >= Self::MANY;
        if is_long && self.indices.is_empty() {
            let names = self.list.iter().map(|(name, _)| name.clone());
            self.indices = names.zip(0..).collect();
        }
        let index = match is_long {
            true => self.indices.get(&name).copied(),
            false => self.list.iter().position(|(known, _)| *known == name),
        };
        if let Some((_, known)) = index.and_then(|index| self.list.get_mut(index)) {
            *known = value;
            return;
        }
        if is_long {
            self.indices.insert(name.clone(), self.list.len());
        }
        self.list.push((name, value));
    }
}

impl<'de> Deserialize<'de> for Object<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ObjectVisitor;
        impl<'de> Visitor<'de> for ObjectVisitor {
            type Value = Object<'de>;
            fn expecting(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                out.write_str("an object")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut members = UniqueMembers::new();
                // Reads the names as JSON: serde would not accept a name with a lone surrogate.
                while let Some((name, value)) = map.next_entry::<&RawValue, &RawValue>()? {
                    let name = Raw::new(name.get()).text();
                    members.set(name.ok_or_else(|| A::Error::custom("expected a string"))?, value);
                }
                Ok(Object(members.list))
            }
        }
        deserializer.deserialize_map(ObjectVisitor)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_brackets_outside_strings_count() {
        assert!(!is_too_deep(&format!("[\"{}\"]", "[".repeat(1000))));
        assert!(!is_too_deep(&format!("{}{}", "[".repeat(64), "]".repeat(64))));
        assert!(is_too_deep(&"[".repeat(65)));
        assert!(!is_too_deep(
            r#"["\"[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[["]"#
        ));
    }
}
