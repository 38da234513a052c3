//! Dicts by shape: the records of a list nearly always have the same keys in the same order.
//!
//! So the dict of the previous record is copied and only the values that differ are replaced: no key
//! is looked up or created. If a whole page has a uniform layout, its keys are compared once and its
//! values are cut out where the scan found them; otherwise each key is compared in place with the text
//! of the previous one. A record with another shape is read member by member, and its shape is
//! expected from then on. `objects::dict` is the simple implementation.

use pyo3::{
    prelude::*,
    types::{PyBool, PyDict, PyFloat, PyInt, PyString},
};

use super::{
    objects::{self, ObjectError},
    signals::check_periodically,
    text_cache::TextCache,
};
use crate::decode::{
    JsonReader, Page, Raw, RowAt, RowValues, Value, field_name, parse_float, parse_integer,
};

/// Records with more keys have no shape.
const MAX_KEYS: usize = 128;
/// How many of the next keys of the previous record a key is compared with.
const LOOKAHEAD: usize = 8;

/// The keys of the previous record, with a dict to copy.
#[derive(Default)]
pub struct Shape {
    /// A dict with these keys, which no other code can reach; none if a key is duplicated.
    template: Option<Py<PyDict>>,
    /// The record whose values the template has: the page's id and the index.
    template_record: Option<(u64, usize)>,
    keys: Vec<ShapeKey>,
}

struct ShapeKey {
    /// Its JSON text through the colon.
    token: Box<str>,
    name: Py<PyString>,
    texts: TextCache,
    /// The shape of the values that are objects.
    inner: Option<Box<Shape>>,
}

/// The key of `fetch_many`, which comes before the record's own fields.
pub struct LeadingKey<'n, 'py> {
    pub name: &'n str,
    pub name_object: Bound<'py, PyString>,
    pub key: Bound<'py, PyString>,
}

/// Why there is no object.
pub enum ShapeError {
    /// The text is not as expected: `objects::dict` creates the object or the error.
    UnexpectedText,
    Python(PyErr),
}

/// For `ok_or_else`: `ok_or` would construct an error, and drop it, for every value.
fn unexpected_text() -> ShapeError {
    ShapeError::UnexpectedText
}

impl From<PyErr> for ShapeError {
    fn from(error: PyErr) -> Self {
        ShapeError::Python(error)
    }
}

impl From<ObjectError> for ShapeError {
    fn from(error: ObjectError) -> Self {
        match error {
            // `objects::dict` raises the error.
            ObjectError::LongInteger(_) => ShapeError::UnexpectedText,
            ObjectError::Python(error) => ShapeError::Python(error),
        }
    }
}

type ShapeResult<'py, T> = Result<Bound<'py, T>, ShapeError>;

impl Shape {
    /// Whether all records of a page have this shape.
    pub fn matches(&self, page: &Page) -> bool {
        // The records of a page with a grid all have the same shape.
        if self.template_record.is_some_and(|(number, _)| number == page.id()) {
            return true;
        }
        let Some(tokens) = page.uniform_keys() else { return false };
        self.template.is_some()
            && tokens.len() == self.keys.len()
            && tokens.zip(&self.keys).all(|(token, key)| *token == *key.token)
    }

    /// The dict of a record with this shape. Values that equal those of the previous record stay in the
    /// template: in fills and orders, every third does.
    #[inline(always)]
    pub fn fill<'py>(
        &mut self,
        py: Python<'py>,
        row: RowAt<'_>,
        values: &RowValues<'_>,
        leading: Option<&LeadingKey<'_, 'py>>,
    ) -> ShapeResult<'py, PyDict> {
        let template = self.template.as_ref().ok_or_else(unexpected_text)?.bind(py);
        // Until all values are replaced, the template has values of two records.
        let previous = match self.template_record.take() {
            Some((number, index)) if number == row.page.id() && index + 1 == row.index => {
                row.page.row_values(index)
            }
            _ => None,
        };
        if let Some(leading) = leading {
            template.set_item(&leading.name_object, &leading.key)?;
        }
        for (index, key) in self.keys.iter_mut().enumerate() {
            let raw = values.get(index).ok_or_else(unexpected_text)?;
            let previous = previous.and_then(|previous| previous.get(index));
            if previous.is_some_and(|value| raw.is_same_scalar(value)) {
                continue;
            }
            let value = key.object(py, raw)?;
            template.set_item(key.name.bind(py), value)?;
        }
        self.template_record = Some((row.page.id(), row.index));
        Ok(template.copy()?)
    }

    /// The dict of an object that probably has this shape.
    pub fn read<'py>(
        &mut self,
        py: Python<'py>,
        reader: &mut JsonReader<'_>,
        leading: Option<&LeadingKey<'_, 'py>>,
    ) -> ShapeResult<'py, PyDict> {
        let mut has_next = reader.begin_container(b'{', b'}').ok_or_else(unexpected_text)?;
        let Some(template) = &self.template else {
            return self.learn(py, reader, leading, (PyDict::new(py), 0), has_next);
        };
        let dict = template.bind(py).copy()?;
        if let Some(leading) = leading {
            dict.set_item(&leading.name_object, &leading.key)?;
        }
        let mut index = 0;
        while has_next && let Some(key) = self.keys.get_mut(index) {
            if !reader.read_if(key.token.as_bytes()) {
                break;
            }
            let value = key.value(py, reader)?;
            dict.set_item(key.name.bind(py), value)?;
            has_next = reader.has_next(b'}').ok_or_else(unexpected_text)?;
            index += 1;
        }
        if !has_next && index == self.keys.len() {
            return Ok(dict);
        }
        self.learn(py, reader, leading, (dict, index), has_next)
    }

    /// Reads the remaining members of an object with another shape, and takes that shape. The first
    /// `count` members were read into `read`, which may have keys that the object does not have.
    fn learn<'py>(
        &mut self,
        py: Python<'py>,
        reader: &mut JsonReader<'_>,
        leading: Option<&LeadingKey<'_, 'py>>,
        (read, count): (Bound<'py, PyDict>, usize),
        mut has_next: bool,
    ) -> ShapeResult<'py, PyDict> {
        let dict = PyDict::new(py);
        let template = PyDict::new(py);
        self.template = None;
        self.template_record = None;
        if let Some(leading) = leading {
            dict.set_item(&leading.name_object, &leading.key)?;
            template.set_item(&leading.name_object, py.None())?;
        }
        let mut previous: Vec<Option<ShapeKey>> =
            self.keys.drain(count.min(self.keys.len())..).map(Some).collect();
        for key in &self.keys {
            let name = key.name.bind(py);
            dict.set_item(name, read.get_item(name)?)?;
            template.set_item(name, py.None())?;
        }
        let key_name = leading.map(|leading| leading.name);
        let (mut next, mut is_too_wide) = (0, false);
        while has_next {
            check_periodically(py)?;
            let read_key = reader.read_key().ok_or_else(unexpected_text)?;
            let candidates = next..previous.len().min(next + LOOKAHEAD);
            let same_key = candidates.into_iter().find(|index| {
                let key = previous.get(*index).and_then(Option::as_ref);
                key.is_some_and(|key| *key.token == *read_key.token)
            });
            let known = same_key.and_then(|index| {
                next = index + 1;
                previous.get_mut(index)?.take()
            });
            let mut key = match known {
                Some(key) => key,
                None => {
                    let name = read_key.name.text().ok_or_else(unexpected_text)?;
                    ShapeKey {
                        token: read_key.token.into(),
                        name: PyString::intern(py, &field_name(key_name, &name)).unbind(),
                        texts: TextCache::default(),
                        inner: None,
                    }
                }
            };
            let value = key.value(py, reader)?;
            dict.set_item(key.name.bind(py), value)?;
            has_next = reader.has_next(b'}').ok_or_else(unexpected_text)?;
            is_too_wide |= self.keys.len() >= MAX_KEYS;
            if !is_too_wide {
                template.set_item(key.name.bind(py), py.None())?;
                self.keys.push(key);
            }
        }
        // If a key is duplicated, the template has fewer.
        if !is_too_wide && template.len() == self.keys.len() + usize::from(leading.is_some()) {
            self.template = Some(template.unbind());
        }
        Ok(dict)
    }
}

impl ShapeKey {
    #[inline(always)]
    fn value<'py>(
        &mut self,
        py: Python<'py>,
        reader: &mut JsonReader<'_>,
    ) -> ShapeResult<'py, PyAny> {
        let first = reader.peek().ok_or_else(unexpected_text)?;
        if first == b'{' {
            return self.inner(py, reader);
        }
        let range = reader.read_value(1).ok_or_else(unexpected_text)?;
        self.object(py, range.of(reader.text()).ok_or_else(unexpected_text)?)
    }

    fn inner<'py>(
        &mut self,
        py: Python<'py>,
        reader: &mut JsonReader<'_>,
    ) -> ShapeResult<'py, PyAny> {
        let inner = self.inner.get_or_insert_default();
        inner.read(py, reader, None).map(Bound::into_any)
    }

    /// The object of a value.
    #[inline(always)]
    fn object<'py>(&mut self, py: Python<'py>, raw: Raw<'_>) -> ShapeResult<'py, PyAny> {
        let first = *raw.json.as_bytes().first().ok_or_else(unexpected_text)?;
        match first {
            b'{' => self.inner(py, &mut JsonReader::new(raw.json, 0)),
            b'"' => match raw.plain_text() {
                Some(text) => Ok(self.texts.get(py, text).into_any()),
                None => {
                    let text = raw.text().ok_or_else(unexpected_text)?;
                    Ok(self.texts.get(py, &text).into_any())
                }
            },
            b'-' | b'0'..=b'9' => number(py, raw),
            b'n' => Ok(py.None().into_bound(py)),
            b't' | b'f' => Ok(PyBool::new(py, first == b't').to_owned().into_any()),
            _ => {
                let value = Value::parse(raw.json).map_err(|_| ShapeError::UnexpectedText)?;
                Ok(objects::object(py, &value)?)
            }
        }
    }
}

#[inline(always)]
fn number<'py>(py: Python<'py>, raw: Raw<'_>) -> ShapeResult<'py, PyAny> {
    if let Some(number) = parse_integer(raw.json) {
        return Ok(PyInt::new(py, number).into_any());
    }
    let fractional = raw.json.contains(['.', 'e', 'E']);
    match parse_float(raw.json).filter(|_| fractional) {
        Some(number) => Ok(PyFloat::new(py, number).into_any()),
        // A float that overflows, or an integer of more than 64 bits.
        None => Ok(objects::number(py, raw.json)?),
    }
}
