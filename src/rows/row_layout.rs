//! The layout of records with the same keys: which value becomes which part of the object.

use std::{collections::HashMap, sync::atomic::Ordering};

use super::row_spec::{ClassField, Construction, FieldDefault, RowClass, RowSpec, Target};
use crate::prelude::*;
use crate::values::{
    converter::{Conversion, Converter},
    hit_rate::HitRate,
};
use boardlot_client::extension::decode::field_name;

/// The parts of the objects that records with the same keys become.
pub struct Layout {
    key_name: Option<String>,
    /// The names of the records' members, each once.
    names: Vec<Box<str>>,
    pub columns: Vec<Column>,
    /// The dict to fill and copy: the object itself, or the keywords of a constructor. No other
    /// code can reach it.
    pub template: Option<Py<PyDict>>,
    pub construction: Option<Construction>,
}

/// One part of the objects.
pub struct Column {
    pub source: Source,
    pub name: Py<PyString>,
    pub converter: Converter,
    /// The rate at which values equal those of the previous record.
    pub repeats: HitRate,
    /// True if a value that is null becomes `None`.
    pub is_nullable: bool,
    /// The field of the class.
    pub field: Option<usize>,
}

/// The source of a value.
pub enum Source {
    /// The key of `fetch_many`.
    Key,
    /// The value with this index in the record.
    Value(usize),
    Default(Py<PyAny>),
    Factory(Py<PyAny>),
}

/// Reasons why there is no layout.
pub enum LayoutError {
    /// The records lack this required field of the class.
    MissingField(usize),
    /// The row is not an object in JSON.
    Invalid(serde_json::Error),
    Python(PyErr),
}

impl From<PyErr> for LayoutError {
    fn from(error: PyErr) -> Self {
        LayoutError::Python(error)
    }
}

impl Layout {
    /// Makes the layout of records whose members have these names.
    pub fn new<'k>(
        py: Python<'_>,
        spec: &RowSpec,
        key_name: Option<&str>,
        own_names: impl Iterator<Item = &'k str>,
    ) -> Result<Self, LayoutError> {
        let own_names: Vec<Box<str>> = own_names.map(Box::from).collect();
        let key = key_name.map(|name| (name.to_owned(), Source::Key));
        let values = own_names.iter().enumerate();
        let values = values
            .map(|(index, name)| (field_name(key_name, name).into_owned(), Source::Value(index)));
        let mut names: Vec<(String, Source)> = key.into_iter().chain(values).collect();
        if let Some(selection) = &spec.selection {
            names.retain(|(name, _)| selection.contains(name));
            names.sort_by_key(|(name, _)| selection.position(name));
        }
        let mut layout = Layout {
            key_name: key_name.map(str::to_owned),
            names: own_names,
            columns: Vec::with_capacity(names.len()),
            template: None,
            construction: None,
        };
        match &spec.target {
            Target::Dict => layout.add_columns(py, names, |_| Conversion::AsSent),
            Target::TypedDict => {
                let declared: HashMap<_, _> = spec
                    .fields
                    .iter()
                    .rev()
                    .map(|field| (field_name(key_name, &field.name), field.kind))
                    .collect();
                layout.add_columns(py, names, |name| match declared.get(name) {
                    Some(kind) => Conversion::of_kind(*kind),
                    None => Conversion::AsSent,
                });
            }
            Target::Class(class) => layout.add_fields(py, class, names)?,
        }
        if matches!(layout.construction, None | Some(Construction::Keywords)) {
            let template = PyDict::new(py);
            for column in &layout.columns {
                template.set_item(column.name.bind(py), py.None())?;
            }
            layout.template = Some(template.unbind());
        }
        Ok(layout)
    }

    fn add_columns(
        &mut self,
        py: Python<'_>,
        names: Vec<(String, Source)>,
        conversion: impl Fn(&str) -> Conversion,
    ) {
        self.columns.extend(names.into_iter().map(|(name, source)| Column {
            source,
            name: PyString::intern(py, &name).unbind(),
            converter: Converter::new(conversion(&name)),
            repeats: HitRate::default(),
            is_nullable: true,
            field: None,
        }));
    }

    fn add_fields(
        &mut self,
        py: Python<'_>,
        class: &RowClass,
        names: Vec<(String, Source)>,
    ) -> Result<(), LayoutError> {
        let mut sources: HashMap<String, Source> = names.into_iter().collect();
        let mut construction = class.construction;
        for (index, field) in class.fields.iter().enumerate() {
            // Two fields of a class have the same source only if its names are mistaken.
            let source = match (sources.remove(&field.name), &field.default) {
                (Some(source), _) => source,
                (None, FieldDefault::Required) => return Err(LayoutError::MissingField(index)),
                (None, FieldDefault::Value(value)) => Source::Default(value.clone_ref(py)),
                (None, FieldDefault::Factory(factory)) => Source::Factory(factory.clone_ref(py)),
                (None, FieldDefault::OfConstructor) => {
                    construction = Construction::Keywords;
                    continue;
                }
            };
            self.columns.push(Column::of_field(py, field, index, source));
        }
        class.fits_records.store(true, Ordering::Relaxed);
        self.construction = Some(construction);
        Ok(())
    }

    /// Returns true if records whose members have these names have this layout.
    pub fn matches<'k>(
        &self,
        key_name: Option<&str>,
        mut names: impl ExactSizeIterator<Item = &'k str>,
    ) -> bool {
        self.key_name.as_deref() == key_name
            && names.len() == self.names.len()
            && self.names.iter().all(|name| names.next() == Some(name))
    }

    /// The number of keys of each record.
    pub fn width(&self) -> usize {
        self.names.len()
    }
}

impl Column {
    fn of_field(py: Python<'_>, field: &ClassField, index: usize, source: Source) -> Self {
        Column {
            source,
            name: field.attribute.clone_ref(py),
            converter: Converter::new(field.conversion.clone()),
            repeats: HitRate::default(),
            is_nullable: field.is_nullable,
            field: Some(index),
        }
    }
}
