//! The values of fields that no schema declares, kept until their kind is known.

use crate::{
    api::Kind,
    decode::scalars::{parse_float, parse_integer},
};

/// The values of undeclared fields, by the index of the field.
#[derive(Debug, Default)]
pub(super) struct UndeclaredValues(Vec<FieldValues>);

/// The values of one field. Records without the field take no memory.
#[derive(Debug, Default)]
pub(super) struct FieldValues {
    /// The values as JSON text, one after another; empty for null.
    json: String,
    /// The row of each value, and the end of its JSON.
    cells: Vec<(usize, usize)>,
}

impl UndeclaredValues {
    pub fn push(&mut self, field: usize, json: &str, row: usize) {
        if field >= self.0.len() {
            self.0.resize_with(field + 1, FieldValues::default);
        }
        let Some(values) = self.0.get_mut(field) else { return };
        if values.cells.last().is_some_and(|(last, _)| *last == row) {
            // The last value of a duplicate name counts.
            values.cells.pop();
            values.json.truncate(values.cells.last().map_or(0, |(_, end)| *end));
        }
        if json != "null" {
            values.json.push_str(json);
        }
        values.cells.push((row, values.json.len()));
    }

    /// Returns the values of a field, if it has any.
    pub fn get(&self, field: usize) -> Option<&FieldValues> {
        self.0.get(field).filter(|values| !values.cells.is_empty())
    }

    /// Removes the values of a field.
    pub fn take(&mut self, field: usize) -> FieldValues {
        self.0.get_mut(field).map(std::mem::take).unwrap_or_default()
    }
}

impl FieldValues {
    /// Iterates over the rows with a value as JSON text, or `None` for null.
    pub fn iter(&self) -> impl Iterator<Item = (usize, Option<&str>)> {
        let mut start = 0;
        self.cells.iter().map(move |(row, end)| {
            let json = self.json.get(start..*end).filter(|json| !json.is_empty());
            start = *end;
            (*row, json)
        })
    }

    /// Returns the length of all values.
    pub fn byte_length(&self) -> usize {
        self.json.len()
    }
}

/// Infers a kind that can hold all of these JSON values; text if there is no other.
pub(super) fn infer_kind<'a, V: Iterator<Item = &'a str>>(values: impl Fn() -> V) -> Kind {
    if values().next().is_none() {
        Kind::Text
    } else if values().all(|json| json == "true" || json == "false") {
        Kind::Flag
    } else if values().all(|json| parse_integer(json).is_some()) {
        Kind::Integer
    } else if values().any(loses_digits) {
        Kind::Text
    } else if values().all(|json| parse_float(json).is_some()) {
        Kind::Number
    } else {
        Kind::Text
    }
}

/// Returns true if this is an integer whose last digits would be lost in a float.
pub fn loses_digits(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json);
    let is_float = |integer: i64| i128::from(integer) == integer as f64 as i128;
    digits.bytes().all(|byte| byte.is_ascii_digit()) && !parse_integer(json).is_some_and(is_float)
}
