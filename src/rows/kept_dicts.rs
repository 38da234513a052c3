//! The dicts of records that were handed out. They are the caller's, who may change them, so each is
//! kept: by the records that made it, and by all slices of these.
//!
//! They are in Python's own containers: the garbage collector sees cycles through them, and `deepcopy`
//! knows them.

use pyo3::sync::critical_section::with_critical_section;

use super::row_builder_pool::RowBuilderPool;
use crate::prelude::*;
use boardlot_client::decode::{Page, RecordRef, Rows};

/// By the ids of pages, the dicts of the page's records: a list with None for each that was not made.
pub struct KeptDicts(Py<PyDict>);

impl KeptDicts {
    pub fn new(py: Python<'_>) -> Self {
        KeptDicts(PyDict::new(py).unbind())
    }

    /// The same dicts, for a slice of the records.
    pub fn shared(&self, py: Python<'_>) -> Self {
        KeptDicts(self.0.clone_ref(py))
    }

    pub fn traverse(&self, visit: &PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.0)
    }

    /// The dict of a record.
    pub fn dict<'py>(
        &self,
        py: Python<'py>,
        builders: &RowBuilderPool,
        key_name: Option<&str>,
        row: RecordRef<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let dicts = self.of_page(py, row.page)?;
        match dicts.get(row.index)? {
            Some(dict) => Ok(dict),
            None => dicts.keep(row.index, builders.object(py, key_name, row)?),
        }
    }

    /// The dicts of all records, in a new list.
    pub fn list<'py>(
        &self,
        py: Python<'py>,
        builders: &RowBuilderPool,
        rows: &Rows,
    ) -> PyResult<Bound<'py, PyList>> {
        let (pages, key_name) = (self.0.bind(py), rows.key_name());
        let mut list = Vec::with_capacity(rows.len());
        for (first, count) in rows.first_rows() {
            if pages.contains(first.page.id())? {
                for number in 0..count {
                    list.push(self.dict(py, builders, key_name, first.following(number))?);
                }
                continue;
            }
            let start = list.len();
            builders.objects(py, key_name, first, count, &mut |dict| list.push(dict))?;
            let made = list.get_mut(start..).unwrap_or_default();
            if count == first.page.len() {
                let whole = PyList::new(py, &*made)?;
                if pages.set_default_with_result(first.page.id(), &whole)?.1.is(&whole) {
                    continue;
                }
            }
            let dicts = self.of_page(py, first.page)?;
            for (index, dict) in (first.index..).zip(made) {
                *dict = dicts.keep(index, dict.clone())?;
            }
        }
        PyList::new(py, list)
    }

    /// The dicts that were made, with their indices in these records.
    pub fn made<'py>(
        &self,
        py: Python<'py>,
        rows: &Rows,
    ) -> PyResult<Vec<(usize, Bound<'py, PyAny>)>> {
        let mut made = Vec::new();
        if self.0.bind(py).is_empty() {
            return Ok(made);
        }
        for (index, row) in rows.iter().enumerate() {
            if let Some(dicts) = self.0.bind(py).get_item(row.page.id())? {
                let dict = PageDicts(dicts.cast_into()?).get(row.index)?;
                made.extend(dict.map(|dict| (index, dict)));
            }
        }
        Ok(made)
    }

    /// The dicts of a page.
    pub fn of_page<'py>(&self, py: Python<'py>, page: &Page) -> PyResult<PageDicts<'py>> {
        let pages = self.0.bind(py);
        if let Some(dicts) = pages.get_item(page.id())? {
            return Ok(PageDicts(dicts.cast_into()?));
        }
        let dicts = PyList::new(py, [py.None()])?.as_sequence().repeat(page.len())?;
        let (_, dicts) = pages.set_default_with_result(page.id(), dicts)?;
        Ok(PageDicts(dicts.cast_into()?))
    }

    /// Copies all dicts with what is in them, for records that share nothing with these.
    pub fn fill_deep_copy(&self, copy: &KeptDicts, memo: &Bound<'_, PyAny>) -> PyResult<()> {
        let (pages, py) = (self.0.bind(memo.py()), memo.py());
        if pages.is_empty() {
            return Ok(());
        }
        let deep_copy = import(py, "copy")?.getattr(intern!(py, "deepcopy"))?;
        for (page, dicts) in pages.copy()? {
            copy.0.bind(py).set_item(page, deep_copy.invoke((dicts, memo))?)?;
        }
        Ok(())
    }
}

/// The dicts of one page.
pub struct PageDicts<'py>(Bound<'py, PyList>);

impl<'py> PageDicts<'py> {
    /// The dict of a record, if it was made.
    pub fn get(&self, index: usize) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(Some(self.0.get_item(index)?).filter(|dict| !dict.is_none()))
    }

    /// Keeps a dict and returns it, or the one that another thread or a callback has kept meanwhile.
    pub fn keep(&self, index: usize, dict: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        with_critical_section(self.0.as_any(), || match self.get(index)? {
            Some(kept) => Ok(kept),
            None => self.0.set_item(index, &dict).map(|()| dict),
        })
    }
}
