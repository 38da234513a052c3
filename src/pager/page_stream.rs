//! A pager as an Arrow stream: one record batch for each page, fetched as the consumer asks.

use std::{
    io,
    sync::atomic::{AtomicUsize, Ordering},
};

use arrow_array::{RecordBatch, RecordBatchReader, ffi_stream::FFI_ArrowArrayStream};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{
    exceptions::PyKeyboardInterrupt,
    types::{PyCapsule, PyIterator},
};

use super::{page::Page, row_view::RowView};
use crate::interpreter::{arrow_call::Released, attachment::attach_consumer};
use crate::prelude::*;
use boardlot_client::extension::decode::{ColumnOptions, StreamColumns};

/// The columns of an Arrow stream, which are those of its first page.
#[pyclass(frozen, name = "_PageStream", module = "boardlot._core")]
pub struct PageStream {
    view: Py<RowView>,
    columns: StreamColumns,
    schema: SchemaRef,
    /// The number of batches that were made.
    pages: AtomicUsize,
}

/// A page as a batch of a stream.
#[pyclass(frozen, name = "_Batch", module = "boardlot._core")]
pub struct Batch(RecordBatch);

#[pymethods]
impl PageStream {
    #[new]
    fn new(
        py: Python<'_>,
        view: Py<RowView>,
        page: Option<&Bound<'_, Page>>,
        start: usize,
    ) -> PyResult<Self> {
        let rows = view.get();
        let slice = page.map(|page| rows.slice(py, &page.get().0, start)).transpose()?;
        let schema_of = || {
            let mut first = rows.columns(ColumnOptions::default());
            slice.map_or(Ok(()), |slice| first.push_slice(&slice))?;
            let columns = first.stream_columns();
            let schema = first.finish_like(&columns, 1)?.schema();
            Ok((columns, schema))
        };
        let found: Result<_> = py.detach(schema_of);
        let (columns, schema) = found.or_raise(py)?;
        Ok(PageStream { view, columns, schema, pages: AtomicUsize::new(0) })
    }

    /// Returns the rows of a page from an index on as a list of one batch.
    #[pyo3(signature = (page, start, /))]
    fn pages<'py>(&self, page: &Bound<'py, Page>, start: usize) -> PyResult<Bound<'py, PyList>> {
        let (py, view) = (page.py(), self.view.get());
        let slice = view.slice(py, &page.get().0, start)?;
        let number = self.pages.fetch_add(1, Ordering::Relaxed) + 1;
        let batch = || {
            let mut columns = view.columns(ColumnOptions::default());
            columns.push_slice(&slice)?;
            columns.finish_like(&self.columns, number)
        };
        let batch: Result<RecordBatch> = py.detach(batch);
        PyList::new(py, [Bound::new(py, Batch(batch.or_raise(py)?))?])
    }

    /// Makes the capsule of the stream of these batches. The consumer may call from any thread,
    /// attached or not.
    fn capsule<'py>(&self, batches: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyCapsule>> {
        let py = batches.py();
        let batches = Released::new(batches.try_iter()?.unbind());
        let reader = BatchReader { batches, schema: self.schema.clone() };
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.view)
    }
}

/// The batches of a pager. A page is received when the consumer takes its batch; a page that the
/// consumer does not request still belongs to the pager.
struct BatchReader {
    batches: Released<Py<PyIterator>>,
    schema: SchemaRef,
}

impl BatchReader {
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        let Some(batch) = self.batches.bind(py).clone().next().transpose()? else {
            return Ok(None);
        };
        Ok(Some(batch.cast::<Batch>()?.get().0.clone()))
    }
}

impl Iterator for BatchReader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = attach_consumer(|py| {
            self.next_batch(py).map_err(|error| stream_error(shown(py, &error)))
        });
        next.unwrap_or_else(|error| Err(stream_error(error.to_string()))).transpose()
    }
}

impl RecordBatchReader for BatchReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// An error of the stream, which has only a text.
fn stream_error(text: String) -> ArrowError {
    ArrowError::IoError(text.clone(), io::Error::other(text))
}

/// Returns the class and text of an exception, with its checkpoint.
fn shown(py: Python<'_>, error: &PyErr) -> String {
    let value = error.value(py);
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        // The consumer replaces this error by one of its own, so Ctrl-C is signaled again, for the
        // next Python code that runs. A failure to do so is ignored.
        let _ = import(py, "_thread").and_then(|module| module.invoke_method("interrupt_main", ()));
        return "interrupted by Ctrl-C".to_owned();
    }
    let class =
        value.get_type().name().map_or_else(|_| "error".to_owned(), |name| name.to_string());
    let checkpoint = value.getattr("checkpoint").ok();
    let checkpoint = checkpoint.and_then(|checkpoint| checkpoint.extract::<String>().ok());
    let checkpoint = checkpoint.map_or_else(String::new, |text| format!("; checkpoint: {text}"));
    format!("{class}: {value}{checkpoint}")
}
