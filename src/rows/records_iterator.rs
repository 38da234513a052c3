//! Iteration over records.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::records::Records;
use crate::interpreter::callback::no_stop_iteration;
use crate::prelude::*;

/// An iterator over records, which creates each dict on demand.
#[pyclass(frozen, module = "boardlot._core")]
pub struct RecordsIterator {
    records: Py<Records>,
    /// The index of the next record; threads that share the iterator each get different records.
    next: AtomicUsize,
    step: isize,
}

impl RecordsIterator {
    pub fn forward(records: Py<Records>) -> Self {
        RecordsIterator { records, next: AtomicUsize::new(0), step: 1 }
    }

    pub fn backward(records: Py<Records>) -> Self {
        let next = records.get().rows().len().wrapping_sub(1);
        RecordsIterator { records, next: AtomicUsize::new(next), step: -1 }
    }
}

#[pymethods]
impl RecordsIterator {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let records = self.records.get();
        let advance = |index: usize| {
            (index < records.rows().len()).then(|| index.wrapping_add_signed(self.step))
        };
        match self.next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, advance) {
            Ok(index) => records.dict(py, index).map(Some).map_err(|error| {
                // A record that cannot become a dict is not skipped.
                let next = index.wrapping_add_signed(self.step);
                let (success, failure) = (Ordering::Relaxed, Ordering::Relaxed);
                let _ = self.next.compare_exchange(next, index, success, failure);
                no_stop_iteration(py, error)
            }),
            Err(_) => Ok(None),
        }
    }

    fn __length_hint__(&self) -> usize {
        let (length, next) = (self.records.get().rows().len(), self.next.load(Ordering::Relaxed));
        if self.step < 0 { next.wrapping_add(1) } else { length.saturating_sub(next) }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.records)
    }
}
