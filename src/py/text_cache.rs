//! Python strings that are reused for equal texts.

use pyo3::{prelude::*, types::PyString};

use crate::decode::short_eq;

/// The last few texts of a key: a market, a status or a broker often is the same object again. For
/// texts that rarely repeat, such as ids, the search stops.
#[derive(Default)]
pub struct TextCache {
    texts: Vec<(String, Py<PyString>)>,
    /// The entry to replace next.
    oldest: usize,
    lookups: u32,
    hits: u32,
}

impl TextCache {
    const ENTRIES: usize = 4;
    const MAX_LENGTH: usize = 64;
    /// The number of lookups after which the hit rate decides whether to continue.
    const TRIAL: u32 = 128;

    #[inline(always)]
    pub fn get<'py>(&mut self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        if self.lookups >= Self::TRIAL && self.hits < self.lookups / 4 {
            return PyString::new(py, text);
        }
        self.lookups = self.lookups.saturating_add(1);
        if let Some((_, object)) =
            self.texts.iter().find(|(known, _)| short_eq(known.as_bytes(), text.as_bytes()))
        {
            self.hits += 1;
            return object.bind(py).clone();
        }
        self.insert(py, text)
    }

    #[inline(never)]
    fn insert<'py>(&mut self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        let object = PyString::new(py, text);
        if text.len() <= Self::MAX_LENGTH {
            let cached = object.clone().unbind();
            match self.texts.get_mut(self.oldest) {
                Some((known, before)) => {
                    known.clear();
                    known.push_str(text);
                    *before = cached;
                }
                None => self.texts.push((text.to_owned(), cached)),
            }
            self.oldest = (self.oldest + 1) % Self::ENTRIES;
        }
        object
    }
}
