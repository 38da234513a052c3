//! Pages as record batches of pyarrow.

use super::{page::Page, row_view::RowView};
use crate::prelude::*;
use crate::rows::frame::{ARROW, FrameTarget};

/// Makes a record batch of each page.
#[pyclass(frozen, name = "_RecordBatches", module = "boardlot._core")]
pub struct RecordBatches {
    view: Py<RowView>,
    frame: FrameTarget,
}

#[pymethods]
impl RecordBatches {
    #[new]
    fn new(
        py: Python<'_>,
        view: Py<RowView>,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
    ) -> PyResult<Self> {
        let mut frame = FrameTarget::prepare(py, &ARROW, decimals, invalid)?;
        frame.options.undeclared_as_text = true;
        Ok(RecordBatches { view, frame })
    }

    /// Returns the rows of a page from an index on as a list of one record batch.
    #[pyo3(signature = (page, start, /))]
    fn pages<'py>(&self, page: &Bound<'py, Page>, start: usize) -> PyResult<Bound<'py, PyList>> {
        let (py, view) = (page.py(), self.view.get());
        let slice = view.slice(py, &page.get().0, start)?;
        PyList::new(py, [self.frame.batch(py, &view.rows_of(vec![slice]))?])
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.view)
    }
}
