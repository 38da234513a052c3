//! Records as text, with every number as the service wrote it: for files, which other programs
//! read, and which no detour through a float may change.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
    fmt::Write,
};

use super::{RowAt, Rows, Value};
use crate::error::Result;

/// The fields of a record in their order; of doubled names the last value.
struct Record<'a> {
    fields: Vec<(Cow<'a, str>, Value<'a>)>,
    places: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Record<'a> {
    fn read(rows: &Rows, row: RowAt<'a>) -> Result<Self> {
        let mut record = Record { fields: Vec::new(), places: HashMap::new() };
        if let (Some(name), Some(key)) = (rows.key_name(), row.key) {
            record.put(name.into(), Value::Text(key.into()));
        }
        for (name, raw) in row.members()? {
            let value = Value::parse(raw.get()).map_err(|error| row.broken(&error))?;
            record.put(name, value);
        }
        Ok(record)
    }

    fn put(&mut self, name: Cow<'a, str>, value: Value<'a>) {
        let place = *self.places.entry(name.clone()).or_insert(self.fields.len());
        match self.fields.get_mut(place) {
            Some(field) => field.1 = value,
            None => self.fields.push((name, value)),
        }
    }

    fn get(&self, name: &str) -> &Value<'a> {
        let place = self.places.get(name);
        place.and_then(|place| self.fields.get(*place)).map_or(&Value::Null, |(_, value)| value)
    }
}

impl Rows {
    /// Each record as compact JSON: all its fields, or those of these names, null where one is
    /// missing.
    pub fn json(&self, names: Option<&[String]>) -> Result<Vec<String>> {
        let json = |row| {
            let record = Record::read(self, row)?;
            let mut out = String::new();
            match names {
                Some(names) => {
                    object(names.iter().map(|name| (name.as_str(), record.get(name))), &mut out);
                }
                None => {
                    let fields = record.fields.iter();
                    object(fields.map(|(name, value)| (name.as_ref(), value)), &mut out);
                }
            }
            Ok(out)
        };
        self.iter().map(json).collect()
    }

    /// The values of these names in each record, as text without quotes; nothing for null and for
    /// what is missing. Lists and objects are compact JSON.
    pub fn texts(&self, names: &[String]) -> Result<Vec<Vec<Option<String>>>> {
        let texts = |row| {
            let record = Record::read(self, row)?;
            Ok(names.iter().map(|name| text(record.get(name))).collect())
        };
        self.iter().map(texts).collect()
    }

    /// The names of the declared fields, then the others in the order of their appearance.
    pub fn names(&self) -> Result<Vec<String>> {
        let declared = self.fields().iter().map(|field| Cow::Borrowed(field.name));
        let mut names: Vec<String> = Vec::new();
        let mut known = HashSet::new();
        let mut add = |name: Cow<'_, str>| {
            if !known.contains(name.as_ref()) {
                known.insert(name.to_string());
                names.push(name.into_owned());
            }
        };
        self.key_name().into_iter().map(Cow::Borrowed).chain(declared).for_each(&mut add);
        for row in self.iter() {
            row.members()?.into_iter().for_each(|(name, _)| add(name));
        }
        Ok(names)
    }
}

fn text(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Text(text) => Some(text.to_string()),
        value => {
            let mut out = String::new();
            write(value, &mut out);
            Some(out)
        }
    }
}

/// Writes compact JSON.
fn write(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(flag) => out.push_str(if *flag { "true" } else { "false" }),
        Value::Number(text) => out.push_str(text),
        Value::Text(text) => quoted(text, out),
        Value::List(items) => {
            out.push('[');
            for (index, item) in items.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(item, out);
            }
            out.push(']');
        }
        Value::Object(members) => {
            object(members.iter().map(|(name, value)| (name.as_ref(), value)), out);
        }
    }
}

fn object<'v>(members: impl Iterator<Item = (&'v str, &'v Value<'v>)>, out: &mut String) {
    out.push('{');
    for (index, (name, value)) in members.enumerate() {
        if index > 0 {
            out.push(',');
        }
        quoted(name, out);
        out.push(':');
        write(value, out);
    }
    out.push('}');
}

fn quoted(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if moves_a_terminal(c) => {
                // Nothing fails when it is written to a text.
                let _ = write!(out, "\\u{:04x}", u32::from(c));
            }
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Whether a terminal obeys it, or turns the text around it: the same JSON value with an escape.
const fn moves_a_terminal(c: char) -> bool {
    matches!(
        c,
        '\0'..='\x1f'
            | '\x7f'..='\u{9f}'
            | '\u{61c}'
            | '\u{200e}'
            | '\u{200f}'
            | '\u{2028}'..='\u{202e}'
            | '\u{2066}'..='\u{2069}'
    )
}
