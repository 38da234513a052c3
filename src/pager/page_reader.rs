//! A pager as an Arrow stream: one record batch for each page, fetched as the consumer asks.

use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use arrow_array::{RecordBatch, RecordBatchReader, ffi_stream::FFI_ArrowArrayStream};
use arrow_schema::{ArrowError, SchemaRef};
use pyo3::{exceptions::PyKeyboardInterrupt, types::PyCapsule};

use super::{pager_state::PagerState, row_view::RowView};
use crate::interpreter::{arrow_call::Released, attachment::attach_consumer};
use crate::prelude::*;
use boardlot_client::{
    decode::{ColumnOptions, Columns, PageSlice, StreamColumns},
    pages::exhausted,
};

/// The remaining pages of a pager. A page is received when the consumer takes its batch: what it does not
/// ask for is still the pager's. The consumer may call from any thread, attached or not.
pub struct PageReader {
    pager: Released<ReadPager>,
    columns: StreamColumns,
    schema: SchemaRef,
    /// The number of batches that were taken.
    pages: AtomicUsize,
}

/// The parts of its pager that a reader has: this is where its Python objects are.
struct ReadPager {
    state: Arc<PagerState>,
    view: Arc<RowView>,
    /// The client, which keeps alive what the core has weak references to.
    _owner: Option<Py<PyAny>>,
}

/// The capsule of a stream that begins at the pager's position. Waits for the first page, from which the
/// stream has its schema, and does not receive it.
pub fn stream_capsule<'py>(
    py: Python<'py>,
    state: &Arc<PagerState>,
    view: &Arc<RowView>,
    owner: Option<&Py<PyAny>>,
) -> PyResult<Bound<'py, PyCapsule>> {
    if state.delivery(py)?.is_exhausted() {
        return Err(raise(py, exhausted()));
    }
    let first = state.look_ahead(py)?;
    if let Some(first) = &first {
        view.check_names(py, &first.page).map_err(|error| state.with_checkpoint(py, error))?;
    }
    let schema_of = || {
        let mut first = columns_of(state, view, first.as_ref())?;
        let columns = first.stream_columns();
        let schema = first.finish_like(&columns, 1)?.schema();
        Ok((columns, schema))
    };
    let found: Result<_> = py.detach(schema_of);
    let found = found.map_err(|error| state.with_checkpoint(py, raise(py, error)));
    let (columns, schema) = found?;
    let pager = Released::new(ReadPager {
        state: state.clone(),
        view: view.clone(),
        _owner: owner.map(|owner| owner.clone_ref(py)),
    });
    let reader = PageReader { pager, columns, schema, pages: AtomicUsize::new(0) };
    let stream = FFI_ArrowArrayStream::new(Box::new(reader));
    PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
}

fn columns_of(state: &PagerState, view: &RowView, slice: Option<&PageSlice>) -> Result<Columns> {
    let fields = state.pages.call.plan.fields.iter();
    let options = ColumnOptions::default();
    let mut columns = Columns::new(fields, None, view.selection(), options);
    slice.map_or(Ok(()), |slice| columns.push_slice(slice))?;
    Ok(columns)
}

impl PageReader {
    fn next_batch(&self, py: Python<'_>) -> PyResult<Option<RecordBatch>> {
        loop {
            let batch = self.pager.state.next_page(py, |slice| self.batch(py, &slice))?;
            match batch {
                None => return Ok(None),
                // A page without records is not a batch.
                Some(None) => {}
                Some(batch) => {
                    self.pages.fetch_add(1, Ordering::Relaxed);
                    return Ok(batch);
                }
            }
        }
    }

    fn batch(&self, py: Python<'_>, slice: &PageSlice) -> PyResult<Option<RecordBatch>> {
        if slice.range.is_empty() {
            return Ok(None);
        }
        let number = self.pages.load(Ordering::Relaxed) + 1;
        let batch = || {
            let columns = columns_of(&self.pager.state, &self.pager.view, Some(slice))?;
            columns.finish_like(&self.columns, number)
        };
        let batch: Result<RecordBatch> = py.detach(batch);
        batch.map(Some).or_raise(py)
    }
}

impl Iterator for PageReader {
    type Item = std::result::Result<RecordBatch, ArrowError>;

    fn next(&mut self) -> Option<Self::Item> {
        let next = attach_consumer(|py| {
            self.next_batch(py).map_err(|error| stream_error(shown(py, &error)))
        });
        next.unwrap_or_else(|error| Err(stream_error(error.to_string()))).transpose()
    }
}

impl RecordBatchReader for PageReader {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }
}

/// An error of the stream, which has a text and no more.
fn stream_error(text: String) -> ArrowError {
    ArrowError::IoError(text.clone(), io::Error::other(text))
}

/// The class and text of an exception, with its checkpoint.
fn shown(py: Python<'_>, error: &PyErr) -> String {
    let value = error.value(py);
    if error.is_instance_of::<PyKeyboardInterrupt>(py) {
        // The consumer raises an error of its own for this one, so Ctrl-C is signalled again, for the next
        // Python code that runs. It only fails if that is not possible.
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
