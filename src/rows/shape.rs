//! The declared fields of `Records`.

use std::sync::Arc;

use super::schema_field::SchemaField;
use crate::arguments::caller_arguments::field_names;
use crate::prelude::*;
use boardlot_client::extension::{
    api::{ENDPOINTS, Field, ResponseShape, declared_field},
    decode::{KEY_DOC, Rows as CoreRows, Selection, field_name},
};

/// The declared fields of a list's rows; none for a list of the caller's own.
#[pyclass(frozen, name = "_Shape", module = "boardlot._core")]
#[derive(Default)]
pub struct Shape {
    /// The fields, including the column of keys if the rows are those of many keys.
    pub fields: Arc<[Field]>,
    /// The fields that the rows are restricted to.
    pub selection: Option<Selection>,
}

/// Name, kind, unit and description.
type PickledField = (String, String, String, String);
type PickledShape = (Vec<PickledField>, Option<Vec<String>>);

impl Shape {
    pub fn of(rows: &CoreRows) -> Self {
        let fields = match rows.key_name() {
            None => rows.fields().clone(),
            Some(key) => {
                let text = Field { name: key.to_owned().into(), ..Field::text("", KEY_DOC) };
                let own = rows.fields().iter().map(|field| {
                    let name = field_name(Some(key), &field.name).into_owned().into();
                    Field { name, ..field.clone() }
                });
                std::iter::once(text).chain(own).collect()
            }
        };
        Shape { fields, selection: rows.selection().cloned() }
    }
}

#[pymethods]
impl Shape {
    #[new]
    #[pyo3(signature = (fields = Vec::new(), names = None))]
    fn new(
        py: Python<'_>,
        fields: Vec<PickledField>,
        names: Option<Vec<String>>,
    ) -> PyResult<Self> {
        let fields = fields_of(&fields).or_raise(py)?;
        // If no names are known, any name can be selected.
        let selection = names.map(|names| Selection::new(names, [])).transpose().or_raise(py)?;
        Ok(Shape { fields, selection })
    }

    /// Pickles the fields by their names and kinds, so that another version of boardlot can read
    /// the pickle. `__getnewargs__` would not do, as protocols 0 and 1 lack it.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> (Bound<'py, PyType>, PickledShape) {
        let Shape { fields, selection } = this.get();
        let fields = fields.iter().map(|field| {
            let name = field.name.to_string();
            (name, field.declared_kind().into(), field.unit.into(), field.doc.into())
        });
        let names = selection.as_ref();
        let names = names.map(|selection| selection.names().map(str::to_owned).collect());
        (this.get_type(), (fields.collect(), names))
    }

    /// Name, kind, unit and description of each declared field.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let rows = CoreRows::new(Vec::new(), self.fields.clone());
        PyTuple::new(py, SchemaField::of_rows(&rows.restricted_to(self.selection.clone())))
    }

    /// The shape restricted to these fields, in this order; `found` are the names in the dicts;
    /// `None` if the list is empty. Raises `ConfigError` for a name that is neither declared nor
    /// found.
    fn select(
        &self,
        py: Python<'_>,
        names: &Bound<'_, PyTuple>,
        found: Option<Vec<String>>,
        undeclared: bool,
    ) -> PyResult<Self> {
        let names = field_names(names)?;
        let is_empty = found.is_none();
        let known: Vec<String> = match &self.selection {
            Some(selection) => selection.names().map(str::to_owned).collect(),
            None if undeclared && is_empty => Vec::new(),
            None => {
                let mut known: Vec<String> =
                    self.fields.iter().map(|field| field.name.to_string()).collect();
                let found = found.unwrap_or_default().into_iter();
                known.extend(found.filter(|name| !self.is_declared(name)));
                known
            }
        };
        let known = known.iter().map(String::as_str);
        let selection = match is_empty && self.selection.is_none() {
            true => Selection::of_declared(names, known),
            false => Selection::new(names, known),
        };
        Ok(Shape { fields: self.fields.clone(), selection: Some(selection.or_raise(py)?) })
    }
}

impl Shape {
    fn is_declared(&self, name: &str) -> bool {
        self.fields.iter().any(|field| field.name == name)
    }
}

/// Returns the fields of a pickle, with everything that is known of those that the service
/// declares.
fn fields_of(pickled: &[PickledField]) -> Result<Arc<[Field]>> {
    let known = ENDPOINTS.iter().filter_map(|endpoint| match &endpoint.response {
        ResponseShape::Rows(_, schema) => Some(schema.records()),
        _ => None,
    });
    let known: Vec<&Field> = known.flatten().flat_map(|record| record.fields()).collect();
    let field = |(name, kind, unit, doc): &PickledField| {
        let is_same = |field: &&&Field| {
            // A field with the same name as the column of keys has underscores at the end of its
            // name.
            let own = name.trim_end_matches('_');
            (field.name == name.as_str() || field.name == own)
                && (field.declared_kind(), field.unit, field.doc) == (kind, unit, doc)
        };
        match known.iter().find(is_same) {
            Some(field) => Ok(Field { name: name.clone().into(), ..(*field).clone() }),
            None if doc == KEY_DOC => {
                Ok(Field { name: name.clone().into(), ..Field::text("", KEY_DOC) })
            }
            None => declared_field(name, kind)
                .map_err(|_| Error::config(format!("'{kind}' is not a kind of a field"))),
        }
    };
    pickled.iter().map(field).collect()
}
