//! The columns of a stream of pages: the columns of its first page, whatever fields the later pages
//! have.

use std::sync::Arc;

use super::{
    errors::{missing_column, other_kind, too_sparse},
    field_columns::{Column, FieldColumns},
    options::ColumnOptions,
    scalar_builder::Capacity,
    undeclared::{FieldValues, infer_kind, loses_digits},
    undeclared_columns::{filled, is_too_sparse},
};
use crate::{
    api::Kind,
    decode::{json::Raw, selection::Selection},
    error::Result,
};

/// The columns of undeclared fields that every batch of a stream has, with their kinds.
#[derive(Debug, Clone, Default)]
pub struct StreamColumns {
    fields: Vec<(Arc<str>, Kind)>,
    /// The same, for the members of each declared field that is an object.
    objects: Vec<StreamColumns>,
}

/// A page of a stream, for errors.
#[derive(Debug, Clone, Copy)]
pub(super) struct StreamPage {
    pub number: usize,
    /// The length of the page's records.
    pub bytes: usize,
}

impl StreamColumns {
    /// Returns the columns of a stream that begins with these records. A selected field that none
    /// of the records has is text.
    pub(super) fn of(fields: &mut FieldColumns, selection: Option<&Selection>) -> Self {
        let known = |name: &Arc<str>, index: usize| {
            let values = fields.undeclared.get(index)?;
            let kind = infer_kind(|| values.iter().filter_map(|(_, json)| json));
            Some((name.clone(), kind))
        };
        let names = fields.undeclared_names().iter().enumerate();
        let mut known: Vec<_> = names.filter_map(|(index, name)| known(name, index)).collect();
        for name in selection.iter().flat_map(|selection| selection.names()) {
            let is_declared = fields.columns.iter().any(|column| column.name == name);
            if !is_declared && known.iter().all(|(other, _)| other.as_ref() != name) {
                known.push((name.into(), Kind::Text));
            }
        }
        let objects = fields.columns.iter_mut().filter_map(Column::members_mut);
        let objects = objects.map(|members| StreamColumns::of(members, None)).collect();
        StreamColumns { fields: known, objects }
    }

    /// Adds these columns to the records of a page.
    pub(super) fn add_to(
        &self,
        fields: &mut FieldColumns,
        options: ColumnOptions,
        page: StreamPage,
    ) -> Result<()> {
        let objects = fields.columns.iter_mut().filter_map(Column::members_mut);
        for (members, columns) in objects.zip(&self.objects) {
            columns.add_to(members, options, page)?;
        }
        let rows = fields.rows;
        if is_too_sparse(self.fields.len(), rows, page.bytes) {
            return Err(too_sparse(self.fields.len(), rows));
        }
        let names = fields.undeclared_names().to_vec();
        for (name, kind) in &self.fields {
            let index = names.iter().position(|other| other == name);
            let values = index.map(|index| fields.undeclared.take(index));
            let column = column_of(&values.unwrap_or_default(), name, *kind, rows, options, page)?;
            fields.columns.push(column);
        }
        for (index, name) in names.iter().enumerate() {
            // A field that is always null tells no more than a missing field.
            let values = fields.undeclared.get(index);
            if values.is_some_and(|values| values.iter().any(|(_, json)| json.is_some())) {
                return Err(missing_column(name, page.number));
            }
        }
        Ok(())
    }
}

fn column_of(
    values: &FieldValues,
    name: &str,
    kind: Kind,
    rows: usize,
    options: ColumnOptions,
    page: StreamPage,
) -> Result<Column> {
    let capacity = Capacity { rows, bytes: values.byte_length() };
    let column = Column::new(name.to_owned(), kind, options, capacity);
    filled(column, values, rows, |column, row, json| {
        let is_held = json.is_none_or(|json| holds(kind, json));
        match is_held && column.push(json.map(Raw::new)).is_ok() {
            true => Ok(()),
            false => Err(other_kind(name, kind, (page.number, row), json.unwrap_or_default())),
        }
    })
}

/// Returns true if a column of this inferred kind keeps the value as it is. Text of a decimal is
/// not a number here, because its kind would not have been inferred as a number.
fn holds(kind: Kind, json: &str) -> bool {
    match infer_kind(|| std::iter::once(json)) {
        Kind::Flag => matches!(kind, Kind::Flag | Kind::Text),
        Kind::Integer if matches!(kind, Kind::Number) => !loses_digits(json),
        Kind::Integer => matches!(kind, Kind::Integer | Kind::Text),
        Kind::Number => matches!(kind, Kind::Number | Kind::Text),
        _ => matches!(kind, Kind::Text),
    }
}
