//! Dicts by shape: the records of a list nearly always have the same keys in the same order.
//!
//! So the dict of the record before is copied and what differs is replaced: no key is looked for or
//! made. Where a whole page is written alike, its keys are compared once and its values are cut out
//! where the scan saw them; elsewhere each key is compared in place with the bytes of the one
//! before. A text that was among the last few of its key (a market, a status, a broker) is
//! the same object again. A record of another shape is read member by member, and its shape is the
//! next guess. `objects::dict` is the simple way to the same dicts.

use std::sync::{Arc, Mutex};

use pyo3::{
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyList, PyString},
};

use super::{
    call::Finish,
    objects::{self, Failed},
    records::Records,
    signals::check_periodically,
};
use crate::decode::{
    JsonReader, Page, Raw, RecordNumber, RowAt, RowValues, Rows, Value, field_name, parse_float,
    parse_integer, short_eq,
};

/// A record with more keys is no shape that would come again.
const MOST_KEYS: usize = 128;
/// How far ahead a key is looked for among those of the record before: others are left out there.
const NEAR: usize = 8;

/// The shape of a list's records, shared by what reads them.
#[derive(Clone, Default)]
pub struct Shapes(Arc<Mutex<Known>>);

#[derive(Default)]
struct Known {
    shape: Shape,
    /// The keys of `fetch_many`.
    keys: Recent,
}

impl Shapes {
    /// A record as a dict of the service's own values.
    pub fn dict<'py>(
        &self,
        py: Python<'py>,
        key_name: Option<&'static str>,
        row: RowAt<'_>,
    ) -> PyResult<Bound<'py, PyDict>> {
        // Making objects can run the garbage collector and, with it, any code: which may ask for a
        // record of these again, so that waiting here could be for ever.
        match self.0.try_lock() {
            Ok(mut known) => known.dict(py, key_name, row),
            Err(_) => objects::dict(py, key_name, row),
        }
    }

    /// One record of a page that is being walked through.
    pub fn row(&self, py: Python<'_>, (page, index): &(Arc<Page>, usize)) -> PyResult<Py<PyAny>> {
        let row = RowAt { page, index: *index, key: None, number: RecordNumber::InPage(*index) };
        Ok(self.dict(py, None, row)?.into_any().unbind())
    }

    /// What makes `Records` of this shape from rows.
    pub fn records(&self) -> Finish<Rows> {
        let shapes = self.clone();
        Box::new(move |py, rows| Ok(Py::new(py, Records::of_shape(rows, shapes))?.into_any()))
    }

    /// All records as a list of such dicts.
    pub fn list<'py>(&self, py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let mut known = self.0.try_lock().ok();
        for row in rows.iter() {
            let dict = match &mut known {
                Some(known) => known.dict(py, rows.key_name(), row)?,
                None => objects::dict(py, rows.key_name(), row)?,
            };
            list.append(dict)?;
        }
        Ok(list)
    }
}

impl Known {
    fn dict<'py>(
        &mut self,
        py: Python<'py>,
        key_name: Option<&'static str>,
        row: RowAt<'_>,
    ) -> PyResult<Bound<'py, PyDict>> {
        check_periodically(py)?;
        let key = match (key_name, row.key) {
            (Some(name), Some(key)) => Some(Leading {
                name,
                object: PyString::intern(py, name),
                key: self.keys.text(py, key),
            }),
            _ => None,
        };
        let made = match row.page.row_values(row.index).filter(|_| self.shape.fits(row.page)) {
            Some(cells) => self.shape.filled(py, row, &cells, key.as_ref()),
            None => self.shape.object(py, &mut row.page.row_reader(row.index), key.as_ref()),
        };
        match made {
            Ok(dict) => Ok(dict),
            Err(Miss::Python(error)) => Err(error),
            Err(Miss::Text) => objects::dict(py, key_name, row),
        }
    }
}

/// Why there is no object.
enum Miss {
    /// The text is not as it should be, or not as it was guessed.
    Text,
    Python(PyErr),
}

/// For `ok_or_else`: an error that is made on the way and not used would have to be dropped.
fn missed() -> Miss {
    Miss::Text
}

impl From<PyErr> for Miss {
    fn from(error: PyErr) -> Self {
        Miss::Python(error)
    }
}

impl From<Failed> for Miss {
    fn from(failed: Failed) -> Self {
        match failed {
            // The simple way words the error.
            Failed::LongInteger(_) => Miss::Text,
            Failed::Python(error) => Miss::Python(error),
        }
    }
}

type Made<'py, T> = Result<Bound<'py, T>, Miss>;

/// A member that stands before those of the record.
struct Leading<'py> {
    name: &'static str,
    object: Bound<'py, PyString>,
    key: Bound<'py, PyString>,
}

#[derive(Default)]
struct Shape {
    /// A dict with these keys, to be copied; none where a key is doubled. Nobody else has it.
    template: Option<Py<PyDict>>,
    /// The page's number and the place of the record whose values are in it, if they are.
    template_of: Option<(u64, usize)>,
    keys: Vec<Key>,
}

struct Key {
    /// As it is written: from its quote to behind its colon.
    token: Box<str>,
    name: Py<PyString>,
    recent: Recent,
    /// The shape of the objects that are its values.
    inner: Option<Box<Shape>>,
}

impl Shape {
    /// Whether the records of a page are all of this shape.
    fn fits(&self, page: &Page) -> bool {
        // What fits one record of a page fits all of it.
        if self.template_of.is_some_and(|(number, _)| number == page.id()) {
            return true;
        }
        let Some(tokens) = page.uniform_keys() else { return false };
        self.template.is_some()
            && tokens.len() == self.keys.len()
            && tokens.zip(&self.keys).all(|(token, key)| *token == *key.token)
    }

    /// A record of a page that fits. Values that are those of the record before stay in the
    /// template: in deals and orders that is every third.
    #[inline(always)]
    fn filled<'py>(
        &mut self,
        py: Python<'py>,
        row: RowAt<'_>,
        cells: &RowValues<'_>,
        leading: Option<&Leading<'py>>,
    ) -> Made<'py, PyDict> {
        let template = self.template.as_ref().ok_or_else(missed)?.bind(py);
        // It has values of two records until all are replaced.
        let before = match self.template_of.take() {
            Some((number, index)) if number == row.page.id() && index + 1 == row.index => {
                row.page.row_values(index)
            }
            _ => None,
        };
        if let Some(leading) = leading {
            template.set_item(&leading.object, &leading.key)?;
        }
        for (place, key) in self.keys.iter_mut().enumerate() {
            let raw = cells.get(place).ok_or_else(missed)?;
            let value_before = before.and_then(|before| before.get(place));
            if value_before.is_some_and(|value| raw.is_same_scalar(value)) {
                continue;
            }
            let value = key.object(py, raw)?;
            template.set_item(key.name.bind(py), value)?;
        }
        self.template_of = Some((row.page.id(), row.index));
        Ok(template.copy()?)
    }

    /// An object that is probably of the same shape as the one before.
    fn object<'py>(
        &mut self,
        py: Python<'py>,
        reader: &mut JsonReader<'_>,
        leading: Option<&Leading<'py>>,
    ) -> Made<'py, PyDict> {
        let mut more = reader.begin_container(b'{', b'}').ok_or_else(missed)?;
        let Some(template) = &self.template else {
            return self.learned(py, reader, leading, (PyDict::new(py), 0), more);
        };
        let dict = template.bind(py).copy()?;
        if let Some(leading) = leading {
            dict.set_item(&leading.object, &leading.key)?;
        }
        let mut place = 0;
        while more && let Some(key) = self.keys.get_mut(place) {
            if !reader.read_if(key.token.as_bytes()) {
                break;
            }
            let value = key.value(py, reader)?;
            dict.set_item(key.name.bind(py), value)?;
            more = reader.has_next(b'}').ok_or_else(missed)?;
            place += 1;
        }
        if !more && place == self.keys.len() {
            return Ok(dict);
        }
        self.learned(py, reader, leading, (dict, place), more)
    }

    /// The rest of an object whose first so many members are in a dict, together with others that
    /// it does not have: its shape is the guess from here on.
    fn learned<'py>(
        &mut self,
        py: Python<'py>,
        reader: &mut JsonReader<'_>,
        leading: Option<&Leading<'py>>,
        (read, place): (Bound<'py, PyDict>, usize),
        mut more: bool,
    ) -> Made<'py, PyDict> {
        let dict = PyDict::new(py);
        let template = PyDict::new(py);
        self.template = None;
        self.template_of = None;
        if let Some(leading) = leading {
            dict.set_item(&leading.object, &leading.key)?;
            template.set_item(&leading.object, py.None())?;
        }
        let mut before: Vec<Option<Key>> =
            self.keys.drain(place.min(self.keys.len())..).map(Some).collect();
        for key in &self.keys {
            let name = key.name.bind(py);
            dict.set_item(name, read.get_item(name)?)?;
            template.set_item(name, py.None())?;
        }
        let key_name = leading.map(|leading| leading.name);
        let (mut next, mut wide) = (0, false);
        while more {
            check_periodically(py)?;
            let found = reader.read_key().ok_or_else(missed)?;
            let near = next..before.len().min(next + NEAR);
            let same_key = near.into_iter().find(|at| {
                let key = before.get(*at).and_then(Option::as_ref);
                key.is_some_and(|key| *key.token == *found.token)
            });
            let known = same_key.and_then(|at| {
                next = at + 1;
                before.get_mut(at)?.take()
            });
            let mut key = match known {
                Some(key) => key,
                None => {
                    let name = found.name.text().ok_or_else(missed)?;
                    Key {
                        token: found.token.into(),
                        name: PyString::intern(py, &field_name(key_name, &name)).unbind(),
                        recent: Recent::default(),
                        inner: None,
                    }
                }
            };
            let value = key.value(py, reader)?;
            dict.set_item(key.name.bind(py), value)?;
            more = reader.has_next(b'}').ok_or_else(missed)?;
            wide |= self.keys.len() >= MOST_KEYS;
            if !wide {
                template.set_item(key.name.bind(py), py.None())?;
                self.keys.push(key);
            }
        }
        // Where a key is doubled there are fewer names.
        if !wide && template.len() == self.keys.len() + usize::from(leading.is_some()) {
            self.template = Some(template.unbind());
        }
        Ok(dict)
    }
}

impl Key {
    #[inline(always)]
    fn value<'py>(&mut self, py: Python<'py>, reader: &mut JsonReader<'_>) -> Made<'py, PyAny> {
        let first = reader.peek().ok_or_else(missed)?;
        if first == b'{' {
            return self.inner(py, reader);
        }
        let span = reader.read_value(1).ok_or_else(missed)?;
        self.object(py, span.of(reader.text()).ok_or_else(missed)?)
    }

    fn inner<'py>(&mut self, py: Python<'py>, reader: &mut JsonReader<'_>) -> Made<'py, PyAny> {
        let inner = self.inner.get_or_insert_default();
        inner.object(py, reader, None).map(Bound::into_any)
    }

    /// The object of a value that was cut out.
    #[inline(always)]
    fn object<'py>(&mut self, py: Python<'py>, raw: Raw<'_>) -> Made<'py, PyAny> {
        let first = *raw.json.as_bytes().first().ok_or_else(missed)?;
        match first {
            b'{' => self.inner(py, &mut JsonReader::new(raw.json, 0)),
            b'"' => match raw.plain_text() {
                Some(text) => Ok(self.recent.text(py, text).into_any()),
                None => {
                    let text = raw.text().ok_or_else(missed)?;
                    Ok(self.recent.text(py, &text).into_any())
                }
            },
            b'-' | b'0'..=b'9' => number(py, raw),
            b'n' => Ok(py.None().into_bound(py)),
            b't' | b'f' => Ok(PyBool::new(py, first == b't').to_owned().into_any()),
            _ => {
                let value = Value::parse(raw.json).map_err(|_| Miss::Text)?;
                Ok(objects::object(py, &value)?)
            }
        }
    }
}

#[inline(always)]
fn number<'py>(py: Python<'py>, raw: Raw<'_>) -> Made<'py, PyAny> {
    if let Some(number) = parse_integer(raw.json) {
        return Ok(PyInt::new(py, number).into_any());
    }
    let fractional = raw.json.contains(['.', 'e', 'E']);
    match parse_float(raw.json).filter(|_| fractional) {
        Some(number) => Ok(PyFloat::new(py, number).into_any()),
        // Infinite, or an integer of more than 64 bits.
        None => Ok(objects::number(py, raw.json)?),
    }
}

/// The last few texts of a key. Where they do not come again (an id), looking for them stops.
#[derive(Default)]
struct Recent {
    texts: Vec<(String, Py<PyString>)>,
    /// The one that is replaced next.
    oldest: usize,
    looked: u32,
    found: u32,
}

impl Recent {
    const KEPT: usize = 4;
    const LONGEST: usize = 64;
    /// After so many texts it is decided whether looking pays.
    const TRIAL: u32 = 128;

    #[inline(always)]
    fn text<'py>(&mut self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        if self.looked >= Self::TRIAL && self.found < self.looked / 4 {
            return PyString::new(py, text);
        }
        self.looked = self.looked.saturating_add(1);
        if let Some((_, object)) =
            self.texts.iter().find(|(known, _)| short_eq(known.as_bytes(), text.as_bytes()))
        {
            self.found += 1;
            return object.bind(py).clone();
        }
        self.remembered(py, text)
    }

    #[inline(never)]
    fn remembered<'py>(&mut self, py: Python<'py>, text: &str) -> Bound<'py, PyString> {
        let object = PyString::new(py, text);
        if text.len() <= Self::LONGEST {
            let kept = object.clone().unbind();
            match self.texts.get_mut(self.oldest) {
                Some((known, before)) => {
                    known.clear();
                    known.push_str(text);
                    *before = kept;
                }
                None => self.texts.push((text.to_owned(), kept)),
            }
            self.oldest = (self.oldest + 1) % Self::KEPT;
        }
        object
    }
}
