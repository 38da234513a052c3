//! A view of a list's rows: as dicts of some of their fields, or as instances of a class.

use std::sync::Arc;

use super::page::Page;
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::field_names,
    interpreter::errors::is_own,
    rows::{
        page_rows::Rows,
        row_builder_pool::RowBuilderPool,
        row_class::row_class,
        row_errors::unreadable,
        row_spec::{RowSpec, Target},
    },
};
use boardlot_client::extension::{
    api::Field,
    decode::{
        ColumnOptions, Columns, PageSlice, RecordNumber, RecordRef, Rows as CoreRows, Selection,
        UndeclaredNames, field_name,
    },
    pages::{ListedPage, Listing},
};

/// A view of a list's rows, with which pagers make their results. Each method takes the rows of a
/// page from an index on, and returns a list of the objects made of them.
#[pyclass(frozen, name = "_RowView", module = "boardlot._core")]
pub struct RowView {
    builders: RowBuilderPool,
    fields: Arc<[Field]>,
    /// The name of the column of keys, if the rows are those of many keys.
    key_name: Option<Arc<str>>,
    /// Selected fields that have not been seen in any record yet.
    undeclared: Option<Arc<UndeclaredNames>>,
}

impl RowView {
    pub fn new(listing: &Listing, builders: RowBuilderPool) -> Self {
        let key_name = listing.key_name().map(Arc::from);
        RowView { builders, fields: listing.fields.clone(), key_name, undeclared: None }
    }

    /// The fields that the rows are restricted to.
    fn selection(&self) -> Option<&Selection> {
        self.builders.spec().selection.as_ref()
    }

    /// Selected fields that have not been seen in any record yet.
    pub fn undeclared(&self) -> Option<&Arc<UndeclaredNames>> {
        self.undeclared.as_ref()
    }

    pub fn builders(&self) -> &RowBuilderPool {
        &self.builders
    }

    /// Empty columns of the rows.
    pub fn columns(&self, options: ColumnOptions) -> Columns {
        Columns::new(self.fields.iter(), self.key_name.as_deref(), self.selection(), options)
    }

    /// Records of this view.
    pub fn rows_of(&self, slices: Vec<PageSlice>) -> CoreRows {
        let rows = CoreRows::new(slices, self.fields.clone());
        let rows = match &self.key_name {
            Some(name) => rows.with_key(name),
            None => rows,
        };
        rows.restricted_to(self.selection().cloned())
    }

    /// Checks that the rows of a page from an index on have the selected fields, and returns the
    /// rows.
    pub fn slice(&self, py: Python<'_>, page: &ListedPage, start: usize) -> PyResult<PageSlice> {
        let checked = self.undeclared.as_ref().map_or(Ok(()), |names| names.check(page.records()));
        checked.or_raise(py)?;
        Ok(page.rest(start))
    }
}

#[pymethods]
impl RowView {
    /// Dicts restricted to these fields of this view.
    fn select(&self, names: &Bound<'_, PyTuple>, undeclared: bool) -> PyResult<Self> {
        let (py, names) = (names.py(), field_names(names)?);
        let key_name = self.key_name.as_deref();
        let declared: Vec<String> = key_name
            .map(str::to_owned)
            .into_iter()
            .chain(self.fields.iter().map(|field| field_name(key_name, &field.name).into_owned()))
            .collect();
        let is_declared = |name: &&String| declared.contains(name);
        let unknown: Vec<_> = names.iter().filter(|name| !is_declared(name)).cloned().collect();
        let unseen = UndeclaredNames::of(&unknown, &self.fields);
        let selection = match self.selection() {
            Some(selection) => Selection::new(names, selection.names()),
            None if undeclared || self.fields.is_empty() => Selection::new(names, []),
            None => Selection::of_declared(names, declared.iter().map(String::as_str)),
        };
        let selection = selection.or_raise(py)?;
        Ok(RowView {
            builders: RowBuilderPool::new(RowSpec::dicts(Some(&selection))),
            fields: self.fields.clone(),
            key_name: self.key_name.clone(),
            // Names from a selection without undeclared names need no check.
            undeclared: unseen.filter(|_| self.selection().is_none() || self.undeclared.is_some()),
        })
    }

    /// Instances of a class made of the fields of this view.
    fn as_type(&self, class: &Bound<'_, PyAny>) -> PyResult<Self> {
        let target = Target::Class(row_class(class, &self.fields, self.key_name.as_deref())?);
        let selection = self.selection().cloned();
        let spec = RowSpec { target, fields: self.fields.clone(), selection };
        Ok(RowView {
            builders: RowBuilderPool::new(spec),
            fields: self.fields.clone(),
            key_name: self.key_name.clone(),
            undeclared: self.undeclared.clone(),
        })
    }

    /// Makes the objects of the rows, up to the first one that cannot be made. If making an object
    /// runs code of the caller's class, only one is made: that code runs when its row is requested,
    /// not before.
    #[pyo3(signature = (page, start, /))]
    fn rows<'py>(&self, page: &Bound<'py, Page>, start: usize) -> PyResult<Bound<'py, PyList>> {
        let py = page.py();
        let slice = self.slice(py, &page.get().0, start)?;
        let is_inert = match &self.builders.spec().target {
            Target::Class(class) => class.is_inert(),
            Target::Dict | Target::TypedDict => true,
        };
        let count = if is_inert { slice.range.len() } else { 1 };
        let first = || RecordRef {
            page: &slice.page,
            index: start,
            key: slice.key.as_deref(),
            number: RecordNumber::InPage(start),
        };
        let key_name = self.key_name.as_deref();
        let (objects, error) = self.builders.objects_until_error(py, key_name, first(), count);
        match error {
            // The row that cannot be converted raises its error again when it is requested. Any
            // other error, such as that of a signal handler, is raised now.
            Some(error) if objects.is_empty() || !is_own(py, &error) => Err(error),
            None if objects.is_empty() => Err(unreadable(py, first())),
            _ => PyList::new(py, objects),
        }
    }

    /// Returns the rows as one object.
    #[pyo3(signature = (page, start, /))]
    fn pages<'py>(&self, page: &Bound<'py, Page>, start: usize) -> PyResult<Bound<'py, PyList>> {
        let py = page.py();
        let slice = self.slice(py, &page.get().0, start)?;
        PyList::new(py, [Rows::new(self.rows_of(vec![slice]), self.builders.clone())])
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        match &self.builders.spec().target {
            Target::Class(class) => class.traverse(&visit),
            Target::Dict | Target::TypedDict => Ok(()),
        }
    }
}
