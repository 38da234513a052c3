//! The rows of a pager as objects, made a few at a time.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    vec,
};

use crate::prelude::*;
use crate::{
    arguments::caller_arguments::field_names,
    interpreter::errors::is_own,
    rows::{
        row_builder_pool::RowBuilderPool,
        row_class::row_class,
        row_spec::{RowSpec, Target},
    },
};
use boardlot_client::{
    decode::{Page, RecordNumber, RecordRef, Selection, UndeclaredNames},
    pages::{PagedCall, View},
};

/// The number of rows that are converted at once. More save hardly any time.
const ROWS_AHEAD: usize = 64;
/// Large rows are converted one by one.
const BYTES_AHEAD: usize = 1 << 16;

/// The form of a pager's rows.
pub struct RowView {
    pub builders: RowBuilderPool,
    /// Selected fields that have not been seen in any record yet.
    undeclared: Option<Arc<UndeclaredNames>>,
    /// Its own number, by which rows that were converted for it are known.
    pub number: View,
}

impl RowView {
    pub fn new(builders: RowBuilderPool) -> Arc<Self> {
        Self::with_undeclared(builders, None)
    }

    fn with_undeclared(
        builders: RowBuilderPool,
        undeclared: Option<Arc<UndeclaredNames>>,
    ) -> Arc<Self> {
        // 0 is not a view.
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let number = View(NEXT.fetch_add(1, Ordering::Relaxed));
        Arc::new(RowView { builders, undeclared, number })
    }

    /// The fields that the rows are restricted to.
    pub fn selection(&self) -> Option<&Selection> {
        self.builders.spec().selection.as_ref()
    }

    /// Selected fields that have not been seen in any record yet.
    pub fn undeclared(&self) -> Option<&Arc<UndeclaredNames>> {
        self.undeclared.as_ref()
    }

    /// Checks that the records of a page have the selected fields.
    pub fn check_names(&self, py: Python<'_>, page: &Arc<Page>) -> PyResult<()> {
        let checked = self.undeclared.as_ref().map_or(Ok(()), |names| names.check(page));
        checked.or_raise(py)
    }

    /// Dicts restricted to these fields of this view.
    pub fn select(
        &self,
        listing: &PagedCall,
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
        let selection = selection.or_raise(py)?;
        // Names from a selection without undeclared names need no check.
        let unseen = unseen.filter(|_| self.selection().is_none() || self.undeclared.is_some());
        Ok(Self::with_undeclared(RowBuilderPool::new(RowSpec::dicts(Some(&selection))), unseen))
    }

    /// Instances of a class made of the fields of this view.
    pub fn as_type(&self, listing: &PagedCall, class: &Bound<'_, PyAny>) -> PyResult<Arc<Self>> {
        let fields = listing.plan.fields.clone();
        let target = Target::Class(row_class(class, &fields, None)?);
        let spec = RowSpec { target, fields, selection: self.selection().cloned() };
        Ok(Self::with_undeclared(RowBuilderPool::new(spec), self.undeclared.clone()))
    }

    /// The objects of a row of a page and of some rows after it.
    #[inline(never)]
    pub fn objects(
        &self,
        py: Python<'_>,
        page: &Arc<Page>,
        index: usize,
    ) -> PyResult<vec::IntoIter<Py<PyAny>>> {
        self.check_names(py, page)?;
        // Code of the caller's class runs when its row is requested, not before.
        let is_inert = match &self.builders.spec().target {
            Target::Class(class) => class.is_inert(),
            Target::Dict | Target::TypedDict => true,
        };
        let end = page.len().min(index + ROWS_AHEAD);
        let is_small = page.byte_length(&(index..end)) <= BYTES_AHEAD;
        let end = if is_inert && is_small { end } else { index + 1 };
        let first = row_at(page, index);
        let (objects, error) = self.builders.objects_until_error(py, first, end - index);
        match error {
            // The row that cannot be converted raises its error again when it is requested. Any other
            // error, such as that of a signal handler, is raised now.
            Some(error) if objects.is_empty() || !is_own(py, &error) => Err(error),
            None if objects.is_empty() => {
                Err(crate::rows::row_errors::unreadable(py, row_at(page, index)))
            }
            _ => Ok(objects.into_iter()),
        }
    }
}

fn row_at(page: &Page, index: usize) -> RecordRef<'_> {
    RecordRef { page, index, key: None, number: RecordNumber::InPage(index) }
}
