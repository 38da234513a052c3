//! Assigns the members of records to the fields they belong to.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use crate::decode::{
    json::{ByteRange, JsonReader},
    records::field_name,
    selection::Selection,
};

/// Keys beyond this many in a record are not predicted.
const MAX_PREDICTIONS: usize = 1024;
/// No library can show or store a table with more undeclared fields.
pub(super) const MAX_UNDECLARED: usize = 100_000;
/// The index of every field that is not selected.
pub(super) const UNSELECTED: usize = usize::MAX;

/// Finds the field of each member of an object by its name. The next key is nearly always the one
/// that came next in the previous object, so that one is compared first, as its JSON text.
#[derive(Debug)]
pub(super) struct FieldMatcher {
    /// The declared fields, then all others in the order of their first appearance.
    names: Vec<Arc<str>>,
    fields: HashMap<Arc<str>, usize>,
    declared: usize,
    /// The keys of the previous object through their colons, and their fields.
    predictions: Vec<(Box<str>, usize)>,
    declared_values: Vec<Option<ByteRange>>,
    undeclared_values: Vec<(usize, ByteRange)>,
    /// The fields that are selected, and the name of the key column next to them.
    selection: Option<(Selection, Option<String>)>,
}

impl FieldMatcher {
    /// A matcher for these declared fields and any others that are selected.
    pub fn new<'a>(
        names: impl Iterator<Item = &'a str>,
        key_name: Option<&str>,
        selection: Option<&Selection>,
    ) -> Self {
        let key_name = key_name.map(str::to_owned);
        let names: Vec<Arc<str>> = names.map(Arc::from).collect();
        FieldMatcher {
            declared: names.len(),
            declared_values: vec![None; names.len()],
            // Of duplicate fields, the first gets the values.
            fields: names.iter().cloned().enumerate().rev().map(|(at, name)| (name, at)).collect(),
            names,
            predictions: Vec::new(),
            undeclared_values: Vec::new(),
            selection: selection.map(|selection| (selection.clone(), key_name)),
        }
    }

    /// The values of the declared fields in the last object; of duplicate names, the last value.
    pub fn declared_values(&self) -> &[Option<ByteRange>] {
        &self.declared_values
    }

    /// The values of other fields in the last object, each with its index among these fields.
    pub fn undeclared_values(&self) -> &[(usize, ByteRange)] {
        &self.undeclared_values
    }

    /// The names of the undeclared fields so far.
    pub fn undeclared_names(&self) -> &[Arc<str>] {
        self.names.get(self.declared..).unwrap_or_default()
    }

    /// Returns true if there are as many fields as a table can have.
    pub fn is_full(&self) -> bool {
        self.names.len() - self.declared >= MAX_UNDECLARED
    }

    /// Reads an object; `None` if it is not valid, or has more fields than a table can have.
    #[inline(always)]
    pub fn read_object(&mut self, reader: &mut JsonReader<'_>) -> Option<()> {
        self.declared_values.fill(None);
        self.undeclared_values.clear();
        let mut index = 0;
        let mut has_next = reader.begin_container(b'{', b'}')?;
        while has_next {
            let field = match self.predictions.get(index) {
                Some((token, field)) if reader.read_if(token.as_bytes()) => *field,
                _ => self.read_unpredicted_key(index, reader)?,
            };
            index += 1;
            let value = reader.read_value(1)?;
            match self.declared_values.get_mut(field) {
                Some(declared) => *declared = Some(value),
                None if field == UNSELECTED => {}
                None => self.undeclared_values.push((field - self.declared, value)),
            }
            has_next = reader.has_next(b'}')?;
        }
        Some(())
    }

    #[inline(never)]
    fn read_unpredicted_key(&mut self, index: usize, reader: &mut JsonReader<'_>) -> Option<usize> {
        let key = reader.read_key()?;
        let field = self.field(key.name.text()?)?;
        match self.predictions.get_mut(index) {
            Some(prediction) => *prediction = (key.token.into(), field),
            None if index < MAX_PREDICTIONS => self.predictions.push((key.token.into(), field)),
            None => {}
        }
        Some(field)
    }

    /// The fields of keys, given through their colons.
    pub fn fields_of<'k>(&mut self, keys: impl Iterator<Item = &'k str>) -> Option<Vec<usize>> {
        keys.map(|token| self.field(JsonReader::new(token, 0).read_key()?.name.text()?)).collect()
    }

    /// The field with this name, added if it is new and selected; `None` if there are too many.
    pub fn field(&mut self, name: Cow<'_, str>) -> Option<usize> {
        if let Some(field) = self.fields.get(name.as_ref()) {
            return Some(*field);
        }
        if let Some((selection, key_name)) = &self.selection
            && !selection.contains(&field_name(key_name.as_deref(), &name))
        {
            return Some(UNSELECTED);
        }
        if self.is_full() {
            return None;
        }
        let (name, field) = (Arc::<str>::from(name), self.names.len());
        self.names.push(name.clone());
        self.fields.insert(name, field);
        Some(field)
    }
}
