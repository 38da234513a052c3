//! The columns of the fields of a record, or of an object within one: those that are declared, and
//! those that turn up.

use std::sync::Arc;

use super::{
    column_builder::Column, columns::ColumnOptions, grid::RowValues, json::Members,
    json_reader::JsonReader, members::FieldMatcher, raw::Raw, undeclared::Undeclared,
};
use crate::api::Field;

#[derive(Debug)]
pub struct FieldColumns {
    /// Once `settle` is through, those of the other fields stand behind these.
    pub declared: Vec<Column>,
    splitter: FieldMatcher,
    pub undeclared: Undeclared,
    pub rows: usize,
}

/// A field's value in a record, where it has one.
type Value<'t> = Option<Raw<'t>>;

/// For records that are all written alike: which value goes where.
#[derive(Debug)]
pub struct Places {
    /// Of each declared field, the place of its value in the record.
    declared: Vec<Option<usize>>,
    /// The places in the record of other values, each with that of its field among the others.
    others: Vec<(usize, usize)>,
}

impl FieldColumns {
    /// Columns for these fields, whose names are changed by `rename`.
    pub fn new<'a>(
        fields: impl Iterator<Item = &'a Field> + Clone,
        options: ColumnOptions,
        rename: &dyn Fn(&str) -> String,
    ) -> Self {
        FieldColumns {
            splitter: FieldMatcher::new(fields.clone().map(|field| field.name)),
            declared: fields
                .map(|field| Column::new(&rename(field.name), field.kind, options))
                .collect(),
            undeclared: Undeclared::default(),
            rows: 0,
        }
    }

    pub fn is_full(&self) -> bool {
        self.splitter.is_full()
    }

    /// Finds the members of the object that the cursor stands before; nothing where it is broken.
    #[inline(always)]
    pub fn split(&mut self, reader: &mut JsonReader<'_>) -> Option<()> {
        self.splitter.split(reader)
    }

    /// Appends the object of this text that was split last.
    #[inline(always)]
    pub fn push_split<'t>(&mut self, text: &'t str, push: impl FnMut(&mut Column, Value<'t>)) {
        let known = self.splitter.known().iter().map(|span| span.and_then(|span| span.of(text)));
        let others = self.splitter.others().iter();
        let others = others.map(|(place, span)| (*place, span.of(text)));
        append(&mut self.declared, known, &mut self.undeclared, others, self.rows, push);
        self.rows += 1;
    }

    /// Where the values of records with these keys go; nothing where the keys are too many.
    pub fn places<'k>(&mut self, keys: impl Iterator<Item = &'k str>) -> Option<Places> {
        let mut places = Places { declared: vec![None; self.declared.len()], others: Vec::new() };
        for (at, place) in self.splitter.places(keys)?.into_iter().enumerate() {
            match places.declared.get_mut(place) {
                Some(declared) => *declared = Some(at),
                None => places.others.push((at, place - self.declared.len())),
            }
        }
        Some(places)
    }

    /// Appends a record whose values stand at these places.
    #[inline(always)]
    pub fn push_cells<'t>(
        &mut self,
        cells: &RowValues<'t>,
        places: &Places,
        push: impl FnMut(&mut Column, Value<'t>),
    ) {
        let known = places.declared.iter().map(|at| at.and_then(|at| cells.get(at)));
        let others = places.others.iter().map(|(at, place)| (*place, cells.get(*at)));
        append(&mut self.declared, known, &mut self.undeclared, others, self.rows, push);
        self.rows += 1;
    }

    /// Appends a record by its members: the simple way, which the others are held against. Whether
    /// its keys are not too many.
    pub fn push_members<'t>(
        &mut self,
        record: &'t Members<'t>,
        push: impl FnMut(&mut Column, Value<'t>),
    ) -> bool {
        let mut known = vec![None; self.declared.len()];
        let mut others = Vec::new();
        for (name, json) in record {
            let Some(place) = self.splitter.place(name.as_ref().into()) else { return false };
            match known.get_mut(place) {
                Some(known) => *known = Some(Raw::new(json.get())),
                None => others.push((place - self.declared.len(), Some(Raw::new(json.get())))),
            }
        }
        let (known, others) = (known.into_iter(), others.into_iter());
        append(&mut self.declared, known, &mut self.undeclared, others, self.rows, push);
        self.rows += 1;
        true
    }

    /// Appends records without any of the fields.
    pub fn push_nulls(&mut self, count: usize) {
        self.declared.iter_mut().for_each(|column| column.push_nulls(count));
        self.rows += count;
    }

    /// The names of the undeclared fields by their places.
    pub fn other_names(&self) -> &[Arc<str>] {
        self.splitter.other_names()
    }
}

/// Appends a row: `push` gives each declared column its cell.
#[inline(always)]
fn append<'t>(
    declared: &mut [Column],
    known: impl Iterator<Item = Value<'t>>,
    undeclared: &mut Undeclared,
    others: impl Iterator<Item = (usize, Value<'t>)>,
    row: usize,
    mut push: impl FnMut(&mut Column, Value<'t>),
) {
    for (column, value) in declared.iter_mut().zip(known) {
        push(column, value);
    }
    for (place, value) in others {
        if let Some(value) = value {
            undeclared.push(place, value.json, row);
        }
    }
}
