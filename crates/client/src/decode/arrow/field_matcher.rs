//! Assigns the members of records to the fields they belong to.

use std::{collections::HashMap, sync::Arc};

use crate::decode::{records::field_name, selection::Selection};

/// Maximum number of undeclared fields: no library can show or store a table with more.
pub(super) const MAX_UNDECLARED: usize = 100_000;
/// Index of every field that is not selected.
pub(super) const UNSELECTED: usize = usize::MAX;

/// Finds the field of each member of an object by its name. A member nearly always has the same
/// name as the member at its index in the previous object, so that name is compared first.
#[derive(Debug)]
pub(super) struct FieldMatcher {
    /// The declared fields, then all others in the order of their first appearance.
    names: Vec<Arc<str>>,
    fields: HashMap<Arc<str>, usize>,
    declared: usize,
    /// The fields of the previous object's members.
    previous: Vec<usize>,
    /// The fields that are selected, and the name of the key column next to them.
    selection: Option<(Selection, Option<String>)>,
}

impl FieldMatcher {
    /// Creates a matcher for these declared fields and all others that are selected.
    pub fn new<'a>(
        names: impl Iterator<Item = &'a str>,
        key_name: Option<&str>,
        selection: Option<&Selection>,
    ) -> Self {
        let key_name = key_name.map(str::to_owned);
        let names: Vec<Arc<str>> = names.map(Arc::from).collect();
        FieldMatcher {
            declared: names.len(),
            previous: Vec::new(),
            // The first of duplicate fields gets the values.
            fields: names.iter().cloned().enumerate().rev().map(|(at, name)| (name, at)).collect(),
            names,
            selection: selection.map(|selection| (selection.clone(), key_name)),
        }
    }

    /// Returns the names of the undeclared fields so far.
    pub fn undeclared_names(&self) -> &[Arc<str>] {
        self.names.get(self.declared..).unwrap_or_default()
    }

    /// Returns the field of the member with this index and name; see `field`.
    pub fn field_at(&mut self, index: usize, name: &str) -> Option<usize> {
        let known = self.previous.get(index).copied().unwrap_or(UNSELECTED);
        if self.names.get(known).is_some_and(|known| known.as_ref() == name) {
            return Some(known);
        }
        let field = self.field(name)?;
        match self.previous.get_mut(index) {
            Some(previous) => *previous = field,
            None => self.previous.push(field),
        }
        Some(field)
    }

    /// Returns the field with this name, added if it is new and selected; `None` if there are too
    /// many.
    pub fn field(&mut self, name: &str) -> Option<usize> {
        if let Some(field) = self.fields.get(name) {
            return Some(*field);
        }
        if let Some((selection, key_name)) = &self.selection
            && !selection.contains(&field_name(key_name.as_deref(), name))
        {
            return Some(UNSELECTED);
        }
        if self.names.len() - self.declared >= MAX_UNDECLARED {
            return None;
        }
        let (name, field) = (Arc::<str>::from(name), self.names.len());
        self.names.push(name.clone());
        self.fields.insert(name, field);
        Some(field)
    }
}
