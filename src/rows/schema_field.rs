//! The declared fields of records.

use crate::prelude::*;
use boardlot_client::extension::{
    api::Field,
    decode::{KEY_DOC, Rows, field_name},
};

/// A declared field of records.
#[pyclass(frozen, eq, hash, get_all, module = "boardlot._core")]
#[derive(PartialEq, Eq, Hash)]
pub struct SchemaField {
    /// The name on the wire, in dicts and of the column.
    name: String,
    /// `text`, `integer`, `number`, `flag`, `decimal`, `timestamp`, `date` or `object`.
    kind: &'static str,
    /// The unit, if there is one; of a timestamp `s`, `ms` or `us`.
    unit: &'static str,
    /// The meaning of the field, in one line.
    doc: &'static str,
    /// True if 0 means that there is no value, so that columns have null in its place: for
    /// timestamps, and where the service document says so.
    zero_is_null: bool,
    /// The name of the enum of its values, if the service documents a closed set.
    values: Option<&'static str>,
}

impl SchemaField {
    /// Returns the fields of these rows, with the column of keys first.
    pub fn of_rows(rows: &Rows) -> Vec<Self> {
        let key_name = rows.key_name();
        let fields = rows.fields().iter().map(|field| Self::new(field, key_name));
        let mut fields: Vec<Self> = key_name.map(Self::key).into_iter().chain(fields).collect();
        if let Some(selection) = rows.selection() {
            fields.retain(|field| selection.contains(&field.name));
            fields.sort_by_key(|field| selection.position(&field.name));
        }
        fields
    }

    fn new(field: &Field, key_name: Option<&str>) -> Self {
        SchemaField {
            name: field_name(key_name, &field.name).into_owned(),
            kind: field.kind.name(),
            unit: field.unit_name(),
            doc: field.doc,
            zero_is_null: field.kind.zero_is_null(),
            values: field.values.map(|values| values.name),
        }
    }

    fn key(name: &str) -> Self {
        let (name, zero_is_null) = (name.to_owned(), false);
        SchemaField { name, kind: "text", unit: "", doc: KEY_DOC, zero_is_null, values: None }
    }
}

#[pymethods]
impl SchemaField {
    fn __repr__(&self) -> String {
        let unit = if self.unit.is_empty() { String::new() } else { format!(" [{}]", self.unit) };
        let doc = if self.doc.is_empty() { String::new() } else { format!(" - {}", self.doc) };
        format!("{}: {}{unit}{doc}", self.name, self.kind)
    }
}
