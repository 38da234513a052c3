//! The columns of a record's fields, or of the members of an object within a record.

use std::{collections::HashMap, sync::Arc};

use arrow_array::{Array, ArrayRef, StructArray};
use arrow_schema::{ArrowError, Field as ArrowField, Fields};

use super::{
    field_matcher::{FieldMatcher, UNSELECTED},
    options::ColumnOptions,
    scalar_builder::{Capacity, ScalarBuilder},
    undeclared::UndeclaredValues,
};
use crate::{
    api::{Field, Kind},
    decode::{
        json::{Members, Raw, parse_members},
        records::{RowValues, field_name},
        scalars::{PushError, is_null},
        selection::Selection,
    },
};

/// The columns of the declared fields, and the values of all other fields.
#[derive(Debug)]
pub(super) struct FieldColumns {
    matcher: FieldMatcher,
    pub columns: Vec<Column>,
    pub undeclared: UndeclaredValues,
    pub rows: usize,
}

/// The column of one field.
#[derive(Debug)]
pub(super) struct Column {
    pub name: String,
    pub kind: Kind,
    /// The metadata of a declared field.
    metadata: Option<Metadata>,
    builder: ColumnBuilder,
}

/// Unit, kind and description of a field, as in the schema of records.
type Metadata = [(&'static str, &'static str); 3];

#[derive(Debug)]
enum ColumnBuilder {
    Scalar(ScalarBuilder),
    Object(Box<ObjectBuilder>),
}

/// The columns of an object's members, and a flag for each row that is not null.
#[derive(Debug)]
struct ObjectBuilder {
    fields: FieldColumns,
    valid: Vec<bool>,
}

/// Maps values to fields, for records of one layout.
#[derive(Debug)]
pub(super) struct Layout {
    /// The index of each declared field's value in the record.
    declared: Vec<Option<usize>>,
    /// The fields of the other values, and their indices in the record.
    undeclared: Vec<(usize, usize)>,
}

/// Appends a value to a column, or null for none. A string with escapes is marked.
///
/// The arguments are the parts of a `Raw`, which fit into registers. A whole `Raw` goes through
/// memory, and waiting for that took a third of the time of a frame.
pub(super) trait PushValue<'t>: FnMut(&mut Column, Option<&'t str>, bool) {}

impl<'t, F: FnMut(&mut Column, Option<&'t str>, bool)> PushValue<'t> for F {}

impl FieldColumns {
    /// Creates columns for the selected ones of these fields, next to a key column with this name.
    pub fn new<'a>(
        fields: impl Iterator<Item = &'a Field> + Clone,
        key_name: Option<&str>,
        selection: Option<&Selection>,
        options: ColumnOptions,
    ) -> Self {
        let is_selected = |field: &&Field| {
            selection.is_none_or(|all| all.contains(&field_name(key_name, &field.name)))
        };
        let fields = fields.filter(is_selected);
        let column = |field: &Field| {
            let name = field_name(key_name, &field.name).into_owned();
            let column = Column::new(name, field.kind, options, Capacity::default());
            column.with_metadata(field.unit_name(), field.doc)
        };
        FieldColumns {
            matcher: FieldMatcher::new(
                fields.clone().map(|field| field.name.as_ref()),
                key_name,
                selection,
            ),
            columns: fields.map(column).collect(),
            undeclared: UndeclaredValues::default(),
            rows: 0,
        }
    }

    /// Returns the names of the undeclared fields so far.
    pub fn undeclared_names(&self) -> &[Arc<str>] {
        self.matcher.undeclared_names()
    }

    /// Returns the layout of records with these keys; `None` if there are too many fields.
    pub fn layout<'k>(&mut self, names: impl Iterator<Item = &'k str>) -> Option<Layout> {
        let declared = self.columns.len();
        let mut layout = Layout { declared: vec![None; declared], undeclared: Vec::new() };
        for (index, name) in names.enumerate() {
            let field = self.matcher.field(name)?;
            match layout.declared.get_mut(field) {
                Some(value) => *value = Some(index),
                None if field == UNSELECTED => {}
                None => layout.undeclared.push((field - declared, index)),
            }
        }
        Some(layout)
    }

    /// Appends a record with this layout.
    #[inline(always)]
    pub fn push_by_layout<'t>(
        &mut self,
        values: &RowValues<'t>,
        layout: &Layout,
        push: impl PushValue<'t>,
    ) {
        let declared = layout.declared.iter().map(|index| values.get((*index)?));
        let undeclared =
            layout.undeclared.iter().map(|(field, index)| (*field, values.get(*index)));
        self.push_row(declared, undeclared, push);
    }

    /// Appends a record by its members.
    pub fn push_members<'t>(
        &mut self,
        members: &'t Members<'t>,
        push: impl PushValue<'t>,
    ) -> Result<(), PushError> {
        let mut declared = vec![None; self.columns.len()];
        let mut undeclared = Vec::new();
        for (index, (name, json)) in members.iter().enumerate() {
            let field = self.matcher.field_at(index, name).ok_or(PushError::TooManyFields)?;
            let value = Some(Raw::new(json.get()));
            match declared.get_mut(field) {
                Some(declared) => *declared = value,
                None if field == UNSELECTED => {}
                None => undeclared.push((field - declared.len(), value)),
            }
        }
        self.push_row(declared.into_iter(), undeclared.into_iter(), push);
        Ok(())
    }

    /// Appends records without any values.
    fn push_nulls(&mut self, count: usize) {
        self.columns.iter_mut().for_each(|column| column.push_nulls(count));
        self.rows += count;
    }

    /// Appends a record: `push` appends a value, or null for none, to each declared column.
    #[inline(always)]
    fn push_row<'t>(
        &mut self,
        declared: impl Iterator<Item = Option<Raw<'t>>>,
        undeclared: impl Iterator<Item = (usize, Option<Raw<'t>>)>,
        mut push: impl PushValue<'t>,
    ) {
        for (column, value) in self.columns.iter_mut().zip(declared) {
            push(column, value.map(|raw| raw.json), value.is_some_and(Raw::is_escaped));
        }
        for (field, value) in undeclared {
            if let Some(value) = value {
                self.undeclared.push(field, value.json, self.rows);
            }
        }
        self.rows += 1;
    }
}

impl Column {
    pub fn new(name: String, kind: Kind, options: ColumnOptions, capacity: Capacity) -> Self {
        let builder = match kind {
            Kind::Object(fields) => ColumnBuilder::Object(Box::new(ObjectBuilder {
                fields: FieldColumns::new(fields.iter(), None, None, options),
                valid: Vec::new(),
            })),
            _ => ColumnBuilder::Scalar(ScalarBuilder::new(kind, options, capacity)),
        };
        Column { name, kind, metadata: None, builder }
    }

    /// Sets the declared unit and description of the column's field.
    pub fn with_metadata(self, unit: &'static str, doc: &'static str) -> Self {
        let metadata = [("unit", unit), ("kind", self.kind.name()), ("description", doc)];
        Column { metadata: Some(metadata), ..self }
    }

    /// Returns the columns of an object's members.
    pub fn members_mut(&mut self) -> Option<&mut FieldColumns> {
        match &mut self.builder {
            ColumnBuilder::Object(object) => Some(&mut object.fields),
            ColumnBuilder::Scalar(_) => None,
        }
    }

    /// Reserves as much memory in an empty column as another one of the same kind uses.
    pub fn reserve_like(&mut self, other: &Column, rows: usize, options: ColumnOptions) {
        if let ColumnBuilder::Scalar(other) = &other.builder {
            let bytes = other.text_length();
            // The texts may be a little longer.
            let capacity = Capacity { rows, bytes: bytes + bytes / 16 };
            self.builder = ColumnBuilder::Scalar(ScalarBuilder::new(self.kind, options, capacity));
        }
    }

    /// Appends a value, or null if there is none or it cannot be appended.
    #[inline(always)]
    pub fn push(&mut self, value: Option<Raw<'_>>) -> Result<(), PushError> {
        let outcome = match value {
            Some(raw) if !is_null(raw) => match &mut self.builder {
                ColumnBuilder::Scalar(builder) => builder.push(raw),
                ColumnBuilder::Object(object) => object.push(raw),
            },
            _ => Err(PushError::Missing),
        };
        match outcome {
            Ok(()) | Err(PushError::InvalidMember) => outcome,
            Err(PushError::Missing) => {
                self.push_nulls(1);
                Ok(())
            }
            Err(PushError::Invalid | PushError::TooManyFields) => {
                self.push_nulls(1);
                outcome
            }
        }
    }

    pub fn push_text(&mut self, text: &str) {
        match &mut self.builder {
            ColumnBuilder::Scalar(builder) => builder.push_text(text),
            ColumnBuilder::Object(object) => object.push_nulls(1),
        }
    }

    pub fn push_nulls(&mut self, count: usize) {
        match &mut self.builder {
            ColumnBuilder::Scalar(builder) => builder.push_nulls(count),
            ColumnBuilder::Object(object) => object.push_nulls(count),
        }
    }

    fn finish(self) -> Result<(ArrowField, ArrayRef), ArrowError> {
        let array = match self.builder {
            ColumnBuilder::Scalar(builder) => builder.finish(),
            ColumnBuilder::Object(object) => object.finish()?,
        };
        let metadata = self.metadata.into_iter().flatten();
        let metadata: HashMap<_, _> =
            metadata.map(|(key, value)| (key.to_owned(), value.to_owned())).collect();
        let field = ArrowField::new(self.name, array.data_type().clone(), true);
        Ok((field.with_metadata(metadata), array))
    }
}

impl ObjectBuilder {
    /// Appends an object. Every member gets a cell, so that all columns have the same length.
    fn push(&mut self, raw: Raw<'_>) -> Result<(), PushError> {
        if !raw.starts_with(b'{') {
            return Err(PushError::Invalid);
        }
        let mut outcome = Ok(());
        let push = |column: &mut Column, json: Option<&str>, escaped| match column
            .push(json.map(|json| Raw::scanned(json, escaped)))
        {
            Err(PushError::TooManyFields) => outcome = Err(PushError::TooManyFields),
            Err(_) if outcome.is_ok() => outcome = Err(PushError::InvalidMember),
            _ => {}
        };
        let members = parse_members(raw.json).map_err(|_| PushError::Invalid)?;
        self.fields.push_members(&members, push)?;
        self.valid.push(true);
        outcome
    }

    fn push_nulls(&mut self, count: usize) {
        self.fields.push_nulls(count);
        self.valid.resize(self.valid.len() + count, false);
    }

    fn finish(self) -> Result<ArrayRef, ArrowError> {
        let rows = self.valid.len();
        let (fields, arrays) = finish_all(self.fields.columns)?;
        let nulls = Some(self.valid.into());
        Ok(Arc::new(StructArray::try_new_with_length(Fields::from(fields), arrays, nulls, rows)?))
    }
}

/// Returns the Arrow fields and arrays of these columns.
pub(super) fn finish_all(
    columns: impl IntoIterator<Item = Column>,
) -> Result<(Vec<ArrowField>, Vec<ArrayRef>), ArrowError> {
    let mut columns: Vec<_> = columns.into_iter().collect();
    replace_nuls(&mut columns);
    let finished: Vec<_> = columns.into_iter().map(Column::finish).collect::<Result<_, _>>()?;
    Ok(finished.into_iter().unzip())
}

/// Replaces each NUL in the names of columns by U+FFFD, which replaces it in PostgreSQL's texts,
/// too: the C data interface ends a name at its first NUL. A name that another column has gets a
/// trailing underscore.
fn replace_nuls(columns: &mut [Column]) {
    for index in 0..columns.len() {
        let Some(name) = columns.get(index).map(|column| &column.name) else { return };
        if !name.contains('\0') {
            continue;
        }
        let mut name = name.replace('\0', "\u{FFFD}");
        while columns.iter().any(|column| column.name == name) {
            name.push('_');
        }
        if let Some(column) = columns.get_mut(index) {
            column.name = name;
        }
    }
}
