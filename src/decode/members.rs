//! The members of records, put into the places of the fields they belong to.

use std::borrow::Cow;

use super::cursor::{Cursor, Span};

/// No more keys of a record than this are guessed.
const MOST_GUESSES: usize = 1024;

/// Puts the members of objects into places by their names. The next key is nearly always the one
/// that came next in the object before: so that one is compared first, as it was written there.
#[derive(Debug)]
pub struct Splitter {
    /// The fields whose places come first, then all others in the order of their first appearance.
    names: Vec<String>,
    declared: usize,
    /// Whether the others are wanted at all.
    keep_others: bool,
    guesses: Vec<(Box<str>, usize)>,
    known: Vec<Option<Span>>,
    others: Vec<(usize, Span)>,
}

impl Splitter {
    /// For fields of these names, and for others too.
    pub fn new<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        let names: Vec<String> = names.map(str::to_owned).collect();
        Splitter {
            declared: names.len(),
            keep_others: true,
            known: vec![None; names.len()],
            names,
            guesses: Vec::new(),
            others: Vec::new(),
        }
    }

    /// For fields of these names alone.
    pub fn of_known<'a>(names: impl Iterator<Item = &'a str>) -> Self {
        Splitter { keep_others: false, ..Self::new(names) }
    }

    /// Where the fields' values stand; of a doubled name the last one counts.
    pub fn known(&self) -> &[Option<Span>] {
        &self.known
    }

    /// The values of other names in their order, each with its place among the others.
    pub fn others(&self) -> &[(usize, Span)] {
        &self.others
    }

    pub fn other_name(&self, place: usize) -> &str {
        self.names.get(self.declared + place).map_or("", String::as_str)
    }

    /// Takes in the object that the cursor stands before; nothing where it is broken.
    #[inline(always)]
    pub fn split(&mut self, cursor: &mut Cursor<'_>) -> Option<()> {
        self.known.fill(None);
        self.others.clear();
        let mut index = 0;
        let mut more = cursor.open(b'{', b'}')?;
        while more {
            let place = match self.guesses.get(index) {
                Some((token, place)) if cursor.predicted(token.as_bytes()) => *place,
                _ => self.learn(index, cursor)?,
            };
            index += 1;
            let value = cursor.value(1)?;
            match self.known.get_mut(place) {
                Some(known) => *known = Some(value),
                None if self.keep_others => self.others.push((place - self.declared, value)),
                None => {}
            }
            more = cursor.more(b'}')?;
        }
        Some(())
    }

    /// The places of keys as they are written.
    pub fn places<'k>(&mut self, keys: impl Iterator<Item = &'k str>) -> Option<Vec<usize>> {
        keys.map(|token| Cursor::new(token, 0).key()?.name.string().map(|name| self.place(name)))
            .collect()
    }

    fn place(&mut self, name: Cow<'_, str>) -> usize {
        match self.names.iter().position(|known| *known == name) {
            Some(place) => place,
            None if !self.keep_others => self.declared,
            None => {
                self.names.push(name.into_owned());
                self.names.len() - 1
            }
        }
    }

    #[inline(never)]
    fn learn(&mut self, index: usize, cursor: &mut Cursor<'_>) -> Option<usize> {
        let key = cursor.key()?;
        let place = self.place(key.name.string()?);
        let guess = (key.token.into(), place);
        match self.guesses.get_mut(index) {
            Some(known) => *known = guess,
            None if index < MOST_GUESSES => self.guesses.push(guess),
            None => {}
        }
        Some(place)
    }
}
