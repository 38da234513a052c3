//! The values of fields that no schema declares: a field's kind shows when all of them are there.

use std::{collections::HashMap, sync::Arc};

use super::{
    column_builder::Column,
    columns::ColumnOptions,
    fields::FieldColumns,
    numbers::{float, integer},
    raw::Raw,
};
use crate::{
    api::Kind,
    error::{Error, Result},
};

/// Cells that a table of undeclared fields may have beyond the bytes of its records: where nearly
/// all cells are empty, making them would take far longer than reading the records did.
const SPARE_CELLS: usize = 1 << 20;

/// The values of undeclared fields, by the fields' places.
#[derive(Debug, Default)]
pub struct Undeclared(Vec<Values>);

/// The values of one field that are there, none of them for most records of a sparse one.
#[derive(Debug, Default)]
struct Values {
    /// Their JSON, one behind the other; nothing for null.
    json: String,
    /// The row of each, and where its JSON ends.
    cells: Vec<(usize, usize)>,
}

impl Undeclared {
    pub fn push(&mut self, place: usize, json: &str, row: usize) {
        if place >= self.0.len() {
            self.0.resize_with(place + 1, Values::default);
        }
        let Some(values) = self.0.get_mut(place) else { return };
        if values.cells.last().is_some_and(|(last, _)| *last == row) {
            // A doubled name overwrites the value before it.
            values.cells.pop();
            values.json.truncate(values.end());
        }
        if json != "null" {
            values.json.push_str(json);
        }
        values.cells.push((row, values.json.len()));
    }
}

impl Values {
    fn end(&self) -> usize {
        self.cells.last().map_or(0, |(_, end)| *end)
    }

    /// The values with their rows, null where there is no JSON.
    fn iter(&self) -> impl Iterator<Item = (usize, Option<&str>)> {
        let mut start = 0;
        self.cells.iter().map(move |(row, end)| {
            let json = self.json.get(start..*end).filter(|json| !json.is_empty());
            start = *end;
            (*row, json)
        })
    }

    fn column(&self, name: &str, kind: Kind, rows: usize, options: ColumnOptions) -> Column {
        let mut column = Column::with_room(name, kind, options, (rows, self.json.len()));
        let mut filled = 0;
        for (row, json) in self.iter() {
            column.push_nulls(row - filled);
            if json.is_none_or(|json| column.push(Raw::new(json)).is_err()) {
                column.push_nulls(1);
            }
            filled = row + 1;
        }
        column.push_nulls(rows - filled);
        column
    }
}

/// Gives each part a column for every undeclared field of any part, of the same kind in all, in the
/// order of their first appearance. `bytes` is how long the records are together.
pub fn settle(
    parts: &mut [&mut FieldColumns],
    bytes: usize,
    options: ColumnOptions,
    rename: &dyn Fn(&str) -> String,
) -> Result<()> {
    let within = parts.first().map_or(0, |part| part.declared.len());
    for at in 0..within {
        let mut objects: Vec<&mut FieldColumns> =
            parts.iter_mut().filter_map(|part| part.declared.get_mut(at)?.members_mut()).collect();
        if !objects.is_empty() {
            settle(&mut objects, bytes, options, &str::to_owned)?;
        }
    }
    let union = union(parts);
    let rows: usize = parts.iter().map(|part| part.rows).sum();
    if union.len().saturating_mul(rows) > bytes.saturating_add(SPARE_CELLS) {
        return Err(too_many(union.len(), rows));
    }
    for (name, places) in union {
        let values = || {
            let parts = parts.iter().zip(&places);
            parts.filter_map(|(part, place)| part.undeclared.0.get((*place)?))
        };
        let kind = guessed(|| values().flat_map(Values::iter).filter_map(|(_, json)| json));
        let name = rename(&name);
        for (part, place) in parts.iter_mut().zip(&places) {
            let values = place.and_then(|place| part.undeclared.0.get_mut(place));
            // Its values are let go with the next field.
            let values = values.map(std::mem::take).unwrap_or_default();
            let column = values.column(&name, kind, part.rows, options);
            part.declared.push(column);
        }
    }
    Ok(())
}

/// Every undeclared field with its place in each part.
fn union(parts: &[&mut FieldColumns]) -> Vec<(Arc<str>, Vec<Option<usize>>)> {
    let mut union: Vec<(Arc<str>, Vec<Option<usize>>)> = Vec::new();
    let mut known: HashMap<Arc<str>, usize> = HashMap::new();
    for (number, part) in parts.iter().enumerate() {
        for (place, name) in part.other_names().iter().enumerate() {
            if part.undeclared.0.get(place).is_none_or(|values| values.cells.is_empty()) {
                continue;
            }
            let at = *known.entry(name.clone()).or_insert_with(|| {
                union.push((name.clone(), vec![None; parts.len()]));
                union.len() - 1
            });
            let slot = union.get_mut(at).and_then(|(_, places)| places.get_mut(number));
            slot.into_iter().for_each(|slot| *slot = Some(place));
        }
    }
    union
}

/// The error for records that make no table.
pub fn too_many(fields: usize, rows: usize) -> Error {
    Error::protocol(
        format!(
            "{rows} records with {fields} or more fields that are not declared, nearly all of them \
             empty, are too sparse for columns; read the records as dicts"
        ),
        b"",
    )
}

/// A kind that holds all of these JSON values; text where there is no other.
fn guessed<'a, V: Iterator<Item = &'a str>>(values: impl Fn() -> V) -> Kind {
    if values().next().is_none() {
        Kind::Text
    } else if values().all(|json| json == "true" || json == "false") {
        Kind::Flag
    } else if values().all(|json| integer(json).is_some()) {
        Kind::Integer
    } else if values().any(is_wide_integer) {
        // A float would lose its last digits.
        Kind::Text
    } else if values().all(|json| float(json).is_some()) {
        Kind::Number
    } else {
        Kind::Text
    }
}

fn is_wide_integer(json: &str) -> bool {
    let digits = json.strip_prefix('-').unwrap_or(json);
    digits.bytes().all(|byte| byte.is_ascii_digit()) && integer(json).is_none()
}
