//! Objects of records, with what is reused from one record to the next.

use std::sync::{Arc, Mutex, PoisonError};

use pyo3::{prelude::*, types::PyList};

use super::{
    row_builder::RowBuilder,
    row_spec::{RowSpec, Target},
};
use crate::decode::{RowAt, Rows};

/// What the records of a list become, shared by everything that reads them.
#[derive(Clone)]
pub struct Shapes(Arc<Shared>);

struct Shared {
    spec: Arc<RowSpec>,
    builder: Mutex<RowBuilder>,
    /// The same records as typed dicts, once they were asked for.
    typed: Mutex<Option<Shapes>>,
}

/// Dicts of the service's own values.
impl Default for Shapes {
    fn default() -> Self {
        Shapes::new(RowSpec::default())
    }
}

impl Shapes {
    pub fn new(spec: RowSpec) -> Self {
        let spec = Arc::new(spec);
        let builder = Mutex::new(RowBuilder::new(spec.clone()));
        Shapes(Arc::new(Shared { builder, spec, typed: Mutex::default() }))
    }

    /// The same for these records as dicts of values of the declared kinds. The pages of a list share
    /// it.
    pub fn typed(&self, rows: &Rows) -> Shapes {
        let mut typed = self.0.typed.lock().unwrap_or_else(PoisonError::into_inner);
        let known = typed.as_ref().filter(|known| {
            // Another call of the same method may have other fields, such as those of another market.
            Arc::ptr_eq(&known.spec().fields, rows.fields())
                && known.spec().selection.as_ref() == rows.selection()
        });
        if let Some(known) = known {
            return known.clone();
        }
        let made = Shapes::new(RowSpec::of_rows(Target::TypedDict, rows));
        let before = typed.replace(made.clone());
        // What it drops are Python objects: not while the lock is held.
        drop(typed);
        drop(before);
        made
    }

    pub fn spec(&self) -> &RowSpec {
        &self.0.spec
    }

    /// The object of a record.
    pub fn object<'py>(
        &self,
        py: Python<'py>,
        key_name: Option<&str>,
        row: RowAt<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        // Creating objects can run the garbage collector and, with it, code that asks for one of
        // these records: waiting for the lock could last forever.
        match self.0.builder.try_lock() {
            Ok(mut builder) => builder.object(py, key_name, row),
            Err(_) => RowBuilder::new(self.0.spec.clone()).object(py, key_name, row),
        }
    }

    /// The objects of these rows, up to the first that cannot be converted, and its error.
    pub fn objects_until_error<'a>(
        &self,
        py: Python<'_>,
        rows: impl ExactSizeIterator<Item = RowAt<'a>>,
    ) -> (Vec<Py<PyAny>>, Option<PyErr>) {
        let mut own = None;
        let mut shared = self.0.builder.try_lock().ok();
        let builder = match &mut shared {
            Some(builder) => &mut **builder,
            None => own.insert(RowBuilder::new(self.0.spec.clone())),
        };
        let mut objects = Vec::with_capacity(rows.len());
        for row in rows {
            match builder.object(py, None, row) {
                Ok(object) => objects.push(object.unbind()),
                Err(error) => return (objects, Some(error)),
            }
        }
        (objects, None)
    }

    /// The objects of all records.
    pub fn list<'py>(&self, py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyList>> {
        let mut own = None;
        let mut shared = self.0.builder.try_lock().ok();
        let builder = match &mut shared {
            Some(builder) => &mut **builder,
            None => own.insert(RowBuilder::new(self.0.spec.clone())),
        };
        let objects = rows.iter().map(|row| builder.object(py, rows.key_name(), row));
        PyList::new(py, objects.collect::<PyResult<Vec<_>>>()?)
    }
}
