//! Records as text for files, with every number as the service sent it: no conversion to a float
//! may change a digit.

use std::{
    borrow::Cow,
    collections::{HashMap, HashSet},
};

use super::{
    json::{Value, write_object, write_value},
    records::{RecordRef, field_name},
    rows::Rows,
};
use crate::error::Result;

impl Rows {
    /// Returns each record as compact JSON: with all its fields, or with these fields, null if the
    /// record lacks one.
    #[doc(hidden)]
    pub fn to_json(&self, names: Option<&[String]>) -> Result<Vec<String>> {
        let to_json = |row| {
            let record = Record::read(self, row)?;
            let mut out = String::new();
            match names {
                Some(names) => {
                    write_object(
                        names.iter().map(|name| (name.as_str(), record.get(name))),
                        &mut out,
                    );
                }
                None => {
                    let fields = record.fields.iter();
                    write_object(fields.map(|(name, value)| (name.as_ref(), value)), &mut out);
                }
            }
            Ok(out)
        };
        self.iter().map(to_json).collect()
    }

    /// Returns the fields with these names in each record, as text without quotes; `None` for null
    /// and missing ones. Lists and objects are compact JSON.
    #[doc(hidden)]
    pub fn to_texts(&self, names: &[String]) -> Result<Vec<Vec<Option<String>>>> {
        let to_texts = |row| {
            let record = Record::read(self, row)?;
            Ok(names.iter().map(|name| to_text(record.get(name))).collect())
        };
        self.iter().map(to_texts).collect()
    }

    /// Returns the names of the declared fields, then of all others in the order of their first
    /// appearance.
    #[doc(hidden)]
    pub fn field_names(&self) -> Result<Vec<String>> {
        if let Some(selection) = self.selection() {
            return Ok(selection.names().map(str::to_owned).collect());
        }
        let mut names: Vec<String> = Vec::new();
        let mut known = HashSet::new();
        let mut add = |name: Cow<'_, str>| {
            if !known.contains(name.as_ref()) {
                known.insert(name.to_string());
                names.push(name.into_owned());
            }
        };
        self.declared_names().for_each(&mut add);
        for slice in self.slices() {
            let mut layout = None;
            for index in slice.range.clone() {
                let Some(values) = slice.page.row_values(index) else {
                    for (name, _) in slice.page.row(index)? {
                        add(field_name(self.key_name(), &name));
                    }
                    continue;
                };
                if layout.replace(values.layout()) != Some(values.layout()) {
                    values.names().for_each(|name| add(field_name(self.key_name(), name)));
                }
            }
        }
        Ok(names)
    }
}

/// The fields of a record in their order.
struct Record<'a> {
    fields: Vec<(Cow<'a, str>, Value<'a>)>,
    indices: HashMap<Cow<'a, str>, usize>,
}

impl<'a> Record<'a> {
    fn read(rows: &'a Rows, row: RecordRef<'a>) -> Result<Self> {
        let is_selected = |name: &str| rows.selection().is_none_or(|all| all.contains(name));
        let key = rows.key_name().zip(row.key).filter(|(name, _)| is_selected(name));
        let mut fields: Vec<_> =
            key.map(|(name, key)| (name.into(), Value::Text(key.into()))).into_iter().collect();
        for (name, raw) in row.members()? {
            let name = match field_name(rows.key_name(), &name) {
                Cow::Owned(renamed) => renamed.into(),
                Cow::Borrowed(_) => name,
            };
            if is_selected(&name) {
                fields.push((name, Value::parse(raw.get()).map_err(|error| row.invalid(&error))?));
            }
        }
        if let Some(selection) = rows.selection() {
            fields.sort_by_key(|(name, _)| selection.position(name));
        }
        let indices = fields.iter().enumerate().map(|(index, (name, _))| (name.clone(), index));
        Ok(Record { indices: indices.collect(), fields })
    }

    fn get(&self, name: &str) -> &Value<'a> {
        let index = self.indices.get(name);
        index.and_then(|index| self.fields.get(*index)).map_or(&Value::Null, |(_, value)| value)
    }
}

fn to_text(value: &Value<'_>) -> Option<String> {
    match value {
        Value::Null => None,
        Value::Text(text) => Some(text.to_string()),
        value => {
            let mut out = String::new();
            write_value(value, &mut out);
            Some(out)
        }
    }
}
