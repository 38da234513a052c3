//! Makes objects of records, and reuses parts of them from one record to the next.

use std::{
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    thread::{self, ThreadId},
};

use super::{
    row_builder::RowBuilder,
    row_spec::{RowSpec, Target},
};
use crate::interpreter::thread_end;
use crate::prelude::*;
use boardlot_client::extension::decode::{RecordRef, Rows};

/// The number of builders that are kept for one endpoint. Further concurrent threads make a new
/// builder each time.
const MAX_BUILDERS: usize = 32;

/// The builders of a list's records, shared by everything that reads them.
#[derive(Clone)]
pub struct RowBuilderPool(Arc<Shared>);

struct Shared {
    spec: Arc<RowSpec>,
    /// The builders of idle threads. A thread takes its own builder, so that concurrent threads
    /// wait neither for each other nor for the reference counts of the same objects.
    builders: Mutex<Vec<(ThreadId, Box<RowBuilder>)>>,
    /// The pool for the same records as typed dicts, once these were requested.
    typed: Mutex<Option<RowBuilderPool>>,
}

/// Dicts of the service's own values.
impl Default for RowBuilderPool {
    fn default() -> Self {
        RowBuilderPool::new(RowSpec::default())
    }
}

impl RowBuilderPool {
    pub fn new(spec: RowSpec) -> Self {
        let spec = Arc::new(spec);
        RowBuilderPool(Arc::new(Shared {
            spec,
            builders: Mutex::default(),
            typed: Mutex::default(),
        }))
    }

    /// Returns the pool for these records as dicts of values of the declared kinds. The pages of a
    /// list share this pool.
    pub fn typed(&self, rows: &Rows) -> RowBuilderPool {
        let mut typed = self.0.typed.lock().unwrap_or_else(PoisonError::into_inner);
        let known = typed.as_ref().filter(|known| {
            // Another call of the same method may have other fields, such as those of another
            // market.
            Arc::ptr_eq(&known.spec().fields, rows.fields())
                && known.spec().selection.as_ref() == rows.selection()
        });
        if let Some(known) = known {
            return known.clone();
        }
        let made = RowBuilderPool::new(RowSpec::of_rows(Target::TypedDict, rows));
        let before = typed.replace(made.clone());
        // Dropping the earlier pool drops Python objects, so the lock is released first.
        drop(typed);
        drop(before);
        made
    }

    pub fn spec(&self) -> &RowSpec {
        &self.0.spec
    }

    /// Makes the object of a record.
    pub fn object<'py>(
        &self,
        py: Python<'py>,
        key_name: Option<&str>,
        row: RecordRef<'_>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.with_builder(|builder| builder.object(py, key_name, row))
    }

    /// Makes the objects of this record and the following ones of its page, `count` in all, up to
    /// the first record that cannot be converted. Also returns the error of that record.
    pub fn objects_until_error(
        &self,
        py: Python<'_>,
        key_name: Option<&str>,
        first: RecordRef<'_>,
        count: usize,
    ) -> (Vec<Py<PyAny>>, Option<PyErr>) {
        let mut objects = Vec::with_capacity(count);
        let receive = &mut |object: Bound<'_, PyAny>| objects.push(object.unbind());
        let outcome =
            self.with_builder(|builder| builder.objects(py, key_name, first, count, receive));
        (objects, outcome.err())
    }

    /// Makes the objects of this record and the following ones of its page, `count` in all.
    pub fn objects<'py>(
        &self,
        py: Python<'py>,
        key_name: Option<&str>,
        first: RecordRef<'_>,
        count: usize,
        receive: &mut dyn FnMut(Bound<'py, PyAny>),
    ) -> PyResult<()> {
        self.with_builder(|builder| builder.objects(py, key_name, first, count, receive))
    }

    /// Makes the objects of all records.
    pub fn list<'py>(&self, py: Python<'py>, rows: &Rows) -> PyResult<Bound<'py, PyList>> {
        let mut objects = Vec::with_capacity(rows.len());
        let receive = &mut |object| objects.push(object);
        rows.first_rows().try_for_each(|(first, count)| {
            self.objects(py, rows.key_name(), first, count, receive)
        })?;
        PyList::new(py, objects)
    }

    /// Works with the builder of this thread. Creating objects can run code that requests one of
    /// these records; that code gets another builder.
    fn with_builder<T>(&self, work: impl FnOnce(&mut RowBuilder) -> T) -> T {
        thread_end::register();
        let thread = thread::current().id();
        let mut builders = self.builders();
        let own = builders.iter().rposition(|(user, _)| *user == thread);
        let taken = match own {
            Some(index) => Some(builders.swap_remove(index)),
            None => builders.pop(),
        };
        drop(builders);
        let mut builder = match taken {
            Some((_, builder)) => builder,
            None => Box::new(RowBuilder::new(self.0.spec.clone())),
        };
        let outcome = work(&mut builder);
        let mut builders = self.builders();
        if builders.len() < MAX_BUILDERS {
            builders.push((thread, builder));
        } else {
            // Dropping the builder drops Python objects, so the lock is released first.
            drop(builders);
            drop(builder);
        }
        outcome
    }

    fn builders(&self) -> MutexGuard<'_, Vec<(ThreadId, Box<RowBuilder>)>> {
        self.0.builders.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
