//! Makes columns of the values of undeclared fields.

use std::{collections::HashMap, sync::Arc};

use super::{
    errors::too_sparse,
    field_columns::{Column, FieldColumns},
    options::ColumnOptions,
    scalar_builder::Capacity,
    undeclared::{FieldValues, infer_kind},
};
use crate::{
    api::Kind,
    decode::{json::Raw, records::field_name},
    error::Result,
};

/// Number of cells that the undeclared fields may have beyond the bytes of the records. A table of
/// nearly always empty cells would take far longer to create than the records take to read.
const SPARE_CELLS: usize = 1 << 20;

/// Adds to each part a column for every undeclared field of any part, of the same kind in all
/// parts, in the order of first appearance. `bytes` is the length of all records.
pub(super) fn add_undeclared_columns(
    parts: &mut [&mut FieldColumns],
    bytes: usize,
    key_name: Option<&str>,
    options: ColumnOptions,
) -> Result<()> {
    let declared = parts.first().map_or(0, |part| part.columns.len());
    for index in 0..declared {
        let columns = parts.iter_mut().filter_map(|part| part.columns.get_mut(index));
        let mut objects: Vec<&mut FieldColumns> = columns.filter_map(Column::members_mut).collect();
        if !objects.is_empty() {
            add_undeclared_columns(&mut objects, bytes, None, options)?;
        }
    }
    let fields = all_undeclared_fields(parts);
    let rows: usize = parts.iter().map(|part| part.rows).sum();
    if is_too_sparse(fields.len(), rows, bytes) {
        return Err(too_sparse(fields.len(), rows));
    }
    for (name, indices) in fields {
        let values = || {
            let parts = parts.iter().zip(&indices);
            let values = parts.filter_map(|(part, index)| part.undeclared.get((*index)?));
            values.flat_map(FieldValues::iter).filter_map(|(_, json)| json)
        };
        let kind = if options.undeclared_as_text { Kind::Text } else { infer_kind(values) };
        let name = field_name(key_name, &name);
        for (part, index) in parts.iter_mut().zip(&indices) {
            // Frees the values of each field once it has its column.
            let values = index.map(|index| part.undeclared.take(index)).unwrap_or_default();
            let capacity = Capacity { rows: part.rows, bytes: values.byte_length() };
            let column = Column::new(name.as_ref().to_owned(), kind, options, capacity);
            // The kind was inferred from these values, so none of them is invalid.
            let filled = filled(column, &values, part.rows, |column, _, json| {
                let _ = column.push(json.map(Raw::new));
                Ok(())
            });
            part.columns.push(filled?);
        }
    }
    Ok(())
}

/// Returns true if this many fields would make a table of nearly always empty cells.
pub(super) fn is_too_sparse(fields: usize, rows: usize, bytes: usize) -> bool {
    fields.saturating_mul(rows) > bytes.saturating_add(SPARE_CELLS)
}

/// Returns every undeclared field that has values, with its index in each part.
fn all_undeclared_fields(parts: &[&mut FieldColumns]) -> Vec<(Arc<str>, Vec<Option<usize>>)> {
    let mut fields: Vec<(Arc<str>, Vec<Option<usize>>)> = Vec::new();
    let mut known: HashMap<Arc<str>, usize> = HashMap::new();
    for (number, part) in parts.iter().enumerate() {
        for (index, name) in part.undeclared_names().iter().enumerate() {
            if part.undeclared.get(index).is_none() {
                continue;
            }
            let field = *known.entry(name.clone()).or_insert_with(|| {
                fields.push((name.clone(), vec![None; parts.len()]));
                fields.len() - 1
            });
            let slot = fields.get_mut(field).and_then(|(_, indices)| indices.get_mut(number));
            slot.into_iter().for_each(|slot| *slot = Some(index));
        }
    }
    fields
}

/// Returns a column with the values of a field; rows without one are null.
pub(super) fn filled(
    mut column: Column,
    values: &FieldValues,
    rows: usize,
    push: impl Fn(&mut Column, usize, Option<&str>) -> Result<()>,
) -> Result<Column> {
    let mut filled = 0;
    for (row, json) in values.iter() {
        column.push_nulls(row - filled);
        push(&mut column, row, json)?;
        filled = row + 1;
    }
    column.push_nulls(rows - filled);
    Ok(column)
}
