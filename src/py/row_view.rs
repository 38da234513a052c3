//! The rows of a pager as objects, made a few at a time.

use std::{sync::Arc, vec};

use pyo3::{
    prelude::*,
    types::{PyString, PyTuple},
};
use try_lock::TryLock;

use super::{
    arguments::text,
    errors::{raise, wrong_type},
    row_class::row_class,
    row_spec::{RowSpec, Target},
    shapes::Shapes,
};
use crate::{
    decode::{Page, RecordNumber, RowAt, Selection, UndeclaredNames},
    pages::{Listing, PageRow, SharedPosition},
};

/// How many rows are converted at once. More save hardly any time.
const ROWS_AHEAD: usize = 64;
/// Large rows are converted one by one.
const BYTES_AHEAD: usize = 1 << 16;

/// What the rows of a pager become.
pub struct RowView {
    pub shapes: Shapes,
    /// Selected fields that have not been seen in any record yet.
    undeclared: Option<Arc<UndeclaredNames>>,
    /// Never waited for: creating objects can run code that asks for a row of this view.
    ahead: TryLock<RowsAhead>,
}

/// Objects of the rows that come next. None of them counts as received.
#[derive(Default)]
struct RowsAhead {
    /// The first of them.
    next: PageRow,
    objects: vec::IntoIter<Py<PyAny>>,
}

impl RowView {
    pub fn new(shapes: Shapes) -> Arc<Self> {
        Self::with_undeclared(shapes, None)
    }

    fn with_undeclared(shapes: Shapes, undeclared: Option<Arc<UndeclaredNames>>) -> Arc<Self> {
        Arc::new(RowView { shapes, undeclared, ahead: TryLock::new(RowsAhead::default()) })
    }

    /// The fields that the rows are restricted to.
    pub fn selection(&self) -> Option<&Selection> {
        self.shapes.spec().selection.as_ref()
    }

    /// Selected fields that have not been seen in any record yet.
    pub fn undeclared(&self) -> Option<&Arc<UndeclaredNames>> {
        self.undeclared.as_ref()
    }

    /// Checks that the records of a page have the selected fields.
    pub fn check_names(&self, py: Python<'_>, page: &Arc<Page>) -> PyResult<()> {
        let checked = self.undeclared.as_ref().map_or(Ok(()), |names| names.check(page));
        checked.map_err(|error| raise(py, error))
    }

    /// Dicts restricted to these fields of this view.
    pub fn select(
        &self,
        listing: &Listing,
        names: &Bound<'_, PyTuple>,
        undeclared: bool,
    ) -> PyResult<Arc<Self>> {
        let (py, names) = (names.py(), field_names(names)?);
        let fields = &listing.plan.fields;
        let unseen = UndeclaredNames::of(&names, fields);
        let selection = match self.selection() {
            Some(selection) => Selection::new(names, selection.names()),
            None if undeclared => Selection::new(names, []),
            None => Selection::of_declared(names, fields.iter().map(|field| field.name.as_ref())),
        };
        let selection = selection.map_err(|error| raise(py, error))?;
        // Names from a selection without undeclared names need no check.
        let unseen = unseen.filter(|_| self.selection().is_none() || self.undeclared.is_some());
        Ok(Self::with_undeclared(Shapes::new(RowSpec::dicts(Some(&selection))), unseen))
    }

    /// Instances of a class made of the fields of this view.
    pub fn as_type(&self, listing: &Listing, class: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        let fields = listing.plan.fields.clone();
        let target = Target::Class(row_class(class, &fields, None)?);
        let spec = RowSpec { target, fields, selection: self.selection().cloned() };
        Ok(Self::with_undeclared(Shapes::new(spec), self.undeclared.clone()))
    }

    /// The object of the next row, if it is made and its page is lent. The row is received.
    pub fn receive_lent(&self, position: &SharedPosition) -> Option<Py<PyAny>> {
        let mut ahead = self.ahead.try_lock()?;
        if ahead.objects.len() == 0 || !position.receive_lent(ahead.next) {
            return None;
        }
        ahead.next.index += 1;
        ahead.objects.next()
    }

    /// The object of a row of a page.
    pub fn object(&self, py: Python<'_>, page: &Arc<Page>, index: usize) -> PyResult<Py<PyAny>> {
        let Some(mut ahead) = self.ahead.try_lock() else {
            self.check_names(py, page)?;
            return self.shapes.object(py, None, row_at(page, index)).map(Bound::unbind);
        };
        if (ahead.next.page, ahead.next.index) == (page.id(), index)
            && let Some(object) = ahead.objects.next()
        {
            ahead.next.index += 1;
            return Ok(object);
        }
        self.convert_ahead(py, page, index, &mut ahead)
    }

    #[inline(never)]
    fn convert_ahead(
        &self,
        py: Python<'_>,
        page: &Arc<Page>,
        index: usize,
        ahead: &mut RowsAhead,
    ) -> PyResult<Py<PyAny>> {
        self.check_names(py, page)?;
        ahead.objects = vec::IntoIter::default();
        // Code of the caller's class runs when its row is asked for, not before.
        let is_inert = match &self.shapes.spec().target {
            Target::Class(class) => class.is_inert(),
            Target::Dict | Target::TypedDict => true,
        };
        let end = page.len().min(index + ROWS_AHEAD);
        let is_small = page.byte_length(&(index..end)) <= BYTES_AHEAD;
        let end = if is_inert && is_small { end } else { index + 1 };
        let first = row_at(page, index);
        let (objects, error) = self.shapes.objects_until_error(py, first, end - index);
        ahead.objects = objects.into_iter();
        ahead.next = PageRow { page: page.id(), index: index + 1, page_length: page.len() };
        match (ahead.objects.next(), error) {
            // The row that cannot be converted raises its error again when it is asked for. Any other
            // error, such as that of a signal handler, is raised now.
            (Some(_), Some(error)) if !is_error_of_row(py, &error) => {
                ahead.objects = vec::IntoIter::default();
                Err(error)
            }
            (Some(object), _) => Ok(object),
            (None, error) => {
                Err(error.unwrap_or_else(|| super::row_errors::unreadable(py, row_at(page, index))))
            }
        }
    }
}

fn row_at(page: &Page, index: usize) -> RowAt<'_> {
    RowAt { page, index, key: None, number: RecordNumber::InPage(index) }
}

/// Whether this is an error of boardlot's.
fn is_error_of_row(py: Python<'_>, error: &PyErr) -> bool {
    error.value(py).hasattr("checkpoint").unwrap_or(false)
}

/// The names of fields, passed one by one.
pub fn field_names(names: &Bound<'_, PyTuple>) -> PyResult<Vec<String>> {
    let name = |name: Bound<'_, PyAny>| match name.is_instance_of::<PyString>() {
        true => text("names", &name),
        false => Err(wrong_type("names", &name, "the names of fields as strings")),
    };
    names.iter().map(name).collect()
}
