//! Dicts of records, with what is reused from one record to the next.

use std::sync::{Arc, Mutex};

use pyo3::{
    prelude::*,
    types::{PyDict, PyList, PyString},
};

use super::{
    dict_shape::{LeadingKey, Shape, ShapeError},
    objects,
    signals::check_periodically,
    text_cache::TextCache,
};
use crate::decode::{Page, RecordNumber, RowAt, Rows};

/// The shape of a list's records, shared by everything that reads them.
#[derive(Clone, Default)]
pub struct Shapes(Arc<Mutex<DictBuilder>>);

#[derive(Default)]
struct DictBuilder {
    shape: Shape,
    /// The keys of `fetch_many`.
    keys: TextCache,
}

impl Shapes {
    /// A record as a dict of the service's own values.
    pub fn dict<'py>(
        &self,
        py: Python<'py>,
        key_name: Option<&str>,
        row: RowAt<'_>,
    ) -> PyResult<Bound<'py, PyDict>> {
        // Creating objects can run the garbage collector and, with it, code that asks for one of
        // these records: waiting for the lock could last forever.
        match self.0.try_lock() {
            Ok(mut builder) => builder.dict(py, key_name, row),
            Err(_) => objects::dict(py, key_name, row),
        }
    }

    /// One record of a page that is being iterated.
    pub fn row(&self, py: Python<'_>, (page, index): &(Arc<Page>, usize)) -> PyResult<Py<PyAny>> {
        let row = RowAt { page, index: *index, key: None, number: RecordNumber::InPage(*index) };
        Ok(self.dict(py, None, row)?.into_any().unbind())
    }

    /// All records as a list of such dicts.
    pub fn list<'py>(&self, py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyList>> {
        let list = PyList::empty(py);
        let mut builder = self.0.try_lock().ok();
        for row in rows.iter() {
            let dict = match &mut builder {
                Some(builder) => builder.dict(py, rows.key_name(), row)?,
                None => objects::dict(py, rows.key_name(), row)?,
            };
            list.append(dict)?;
        }
        Ok(list)
    }
}

impl DictBuilder {
    fn dict<'py>(
        &mut self,
        py: Python<'py>,
        key_name: Option<&str>,
        row: RowAt<'_>,
    ) -> PyResult<Bound<'py, PyDict>> {
        check_periodically(py)?;
        let leading = match (key_name, row.key) {
            (Some(name), Some(key)) => Some(LeadingKey {
                name,
                name_object: PyString::intern(py, name),
                key: self.keys.get(py, key),
            }),
            _ => None,
        };
        let dict = match row.page.row_values(row.index).filter(|_| self.shape.matches(row.page)) {
            Some(values) => self.shape.fill(py, row, &values, leading.as_ref()),
            None => self.shape.read(py, &mut row.page.row_reader(row.index), leading.as_ref()),
        };
        match dict {
            Ok(dict) => Ok(dict),
            Err(ShapeError::Python(error)) => Err(error),
            Err(ShapeError::UnexpectedText) => objects::dict(py, key_name, row),
        }
    }
}
