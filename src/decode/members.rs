//! The members of records, put into the places of the fields they belong to.

use std::{borrow::Cow, collections::HashMap, sync::Arc};

use super::{json_reader::JsonReader, raw::ByteRange};

/// No more keys of a record than this are guessed.
const MOST_GUESSES: usize = 1024;
/// More fields than this that no schema knows are no table that anything could show or store.
pub const MOST_UNDECLARED: usize = 100_000;

/// Puts the members of objects into places by their names. The next key is nearly always the one
/// that came next in the object before: so that one is compared first, as it was written there.
#[derive(Debug)]
pub struct FieldMatcher {
    /// The fields whose places come first, then all others in the order of their first appearance.
    names: Vec<Arc<str>>,
    places: HashMap<Arc<str>, usize>,
    declared: usize,
    guesses: Vec<(Box<str>, usize)>,
    known: Vec<Option<ByteRange>>,
    others: Vec<(usize, ByteRange)>,
}

impl FieldMatcher {
    /// For fields of these names, and for others too.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<Arc<str>> = names.map(Arc::from).collect();
        FieldMatcher {
            declared: names.len(),
            known: vec![None; names.len()],
            // Of a doubled field the first place counts.
            places: names.iter().cloned().enumerate().rev().map(|(at, name)| (name, at)).collect(),
            names,
            guesses: Vec::new(),
            others: Vec::new(),
        }
    }

    /// Where the fields' values stand; of a doubled name the last one counts.
    pub fn known(&self) -> &[Option<ByteRange>] {
        &self.known
    }

    /// The values of other names in their order, each with its place among the others.
    pub fn others(&self) -> &[(usize, ByteRange)] {
        &self.others
    }

    /// The names of the others by their places.
    pub fn other_names(&self) -> &[Arc<str>] {
        self.names.get(self.declared..).unwrap_or_default()
    }

    /// Whether there are more names than a table can have.
    pub fn is_full(&self) -> bool {
        self.names.len() - self.declared >= MOST_UNDECLARED
    }

    /// Takes in the object that the cursor stands before; nothing where it is broken, or has more
    /// names than a table can.
    #[inline(always)]
    pub fn split(&mut self, reader: &mut JsonReader<'_>) -> Option<()> {
        self.known.fill(None);
        self.others.clear();
        let mut index = 0;
        let mut more = reader.begin_container(b'{', b'}')?;
        while more {
            let place = match self.guesses.get(index) {
                Some((token, place)) if reader.predicted(token.as_bytes()) => *place,
                _ => self.learn(index, reader)?,
            };
            index += 1;
            let value = reader.value(1)?;
            match self.known.get_mut(place) {
                Some(known) => *known = Some(value),
                None => self.others.push((place - self.declared, value)),
            }
            more = reader.more(b'}')?;
        }
        Some(())
    }

    /// The places of keys as they are written.
    pub fn places<'k>(&mut self, keys: impl Iterator<Item = &'k str>) -> Option<Vec<usize>> {
        keys.map(|token| self.place(JsonReader::new(token, 0).key()?.name.string()?)).collect()
    }

    /// The place of a name; nothing where there are too many.
    pub fn place(&mut self, name: Cow<'_, str>) -> Option<usize> {
        if let Some(place) = self.places.get(name.as_ref()) {
            return Some(*place);
        }
        if self.is_full() {
            return None;
        }
        let (name, place) = (Arc::<str>::from(name), self.names.len());
        self.names.push(name.clone());
        self.places.insert(name, place);
        Some(place)
    }

    #[inline(never)]
    fn learn(&mut self, index: usize, reader: &mut JsonReader<'_>) -> Option<usize> {
        let key = reader.key()?;
        let place = self.place(key.name.string()?)?;
        match self.guesses.get_mut(index) {
            Some(known) => *known = (key.token.into(), place),
            None if index < MOST_GUESSES => self.guesses.push((key.token.into(), place)),
            None => {}
        }
        Some(place)
    }
}
