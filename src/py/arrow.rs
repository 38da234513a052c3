//! Typed columns on their way to pandas, polars and pyarrow, by the Arrow PyCapsule interface.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchIterator, ffi_stream::FFI_ArrowArrayStream};
use arrow_schema::Schema;
use pyo3::{prelude::*, types::PyCapsule};

use super::{blocking::block, errors::raise, fork_safe_cell::intern, shutdown_gate::detach};
use crate::{
    decode::{ColumnOptions, Columns, Decimals, InvalidValues, Rows, Strings},
    error::{Error, Result},
};

/// The columns of so many bytes of records take a few milliseconds.
const SHORT_BYTES: usize = 1 << 20;

/// Typed columns that any library with the Arrow PyCapsule interface can take over, once.
#[pyclass(frozen, module = "boardlot._core")]
pub struct ArrowStream(Mutex<Option<(Arc<Schema>, Vec<RecordBatch>)>>);

impl ArrowStream {
    /// The columns of these records. Long ones are made beside this thread, which handles signals
    /// meanwhile: once it is interrupted, what is left of them is not made.
    pub fn of_rows(py: Python<'_>, rows: &Rows, options: ColumnOptions) -> PyResult<Self> {
        if rows.byte_length() <= SHORT_BYTES {
            let made = detach(py, || Self::of(rows.columns(options, || true)?));
            return made.map_err(|error| raise(py, error));
        }
        let wanted = Arc::new(());
        let (asked, rows) = (Arc::downgrade(&wanted), rows.clone());
        let made = async move {
            let columns = move || Self::of(rows.columns(options, || asked.strong_count() > 0)?);
            let made = tokio::task::spawn_blocking(columns).await;
            drop(wanted);
            made.map_err(|error| Error::aborted(&error))?
        };
        block(py, made)
    }

    /// The parts of one result, one behind the other.
    pub fn of(parts: Vec<Columns>) -> Result<Self> {
        Ok(ArrowStream(Mutex::new(Some(Columns::finish_parts(parts)?))))
    }
}

#[pymethods]
impl ArrowStream {
    #[pyo3(signature = (requested_schema = None))]
    #[expect(unused_variables, reason = "the protocol lets a producer ignore the request")]
    pub fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let taken = self.0.lock().unwrap_or_else(PoisonError::into_inner).take();
        let (schema, batches) = taken.ok_or_else(|| {
            raise(py, Error::config("these columns were handed over before; make them again"))
        })?;
        let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// A conversion of `boardlot.frames`, by the name of its method.
#[derive(Clone, Copy)]
pub struct Frame {
    function: &'static str,
    pub options: ColumnOptions,
}

impl Frame {
    /// Looks at the options and loads the libraries: before anything is asked for, since what is
    /// fetched is of no use without them.
    pub fn ready(
        py: Python<'_>,
        function: &'static str,
        decimals: &str,
        invalid: &str,
    ) -> PyResult<Self> {
        let frames = py.import(intern!(py, "boardlot.results.frames"))?;
        let strings = frames.call_method1(intern!(py, "prepare"), (function, decimals, invalid))?;
        let options = column_options(decimals, invalid, strings.extract()?);
        Ok(Frame { function, options: options.map_err(|error| raise(py, error))? })
    }

    /// The record batch of one page.
    pub fn batch(self, py: Python<'_>, rows: &Rows) -> PyResult<Py<PyAny>> {
        let columns = ArrowStream::of_rows(py, rows, self.options)?;
        let frames = py.import(intern!(py, "boardlot.results.frames"))?;
        frames.call_method1(intern!(py, "batch"), (columns,)).map(Bound::unbind)
    }

    /// The frame of the parts of one result.
    pub fn made(self, py: Python<'_>, columns: ArrowStream) -> PyResult<Py<PyAny>> {
        let frames = py.import(intern!(py, "boardlot.results.frames"))?;
        frames.call_method1(intern!(py, "convert"), (self.function, columns)).map(Bound::unbind)
    }
}

/// The options of the columns from their words.
pub fn column_options(decimals: &str, invalid: &str, strings: &str) -> Result<ColumnOptions> {
    let refused = |name: &str, word: &str, expected: &str| {
        Err(Error::argument(name, &format!("'{}'", word.escape_debug()), expected))
    };
    let decimals = match decimals {
        "float64" => Decimals::Float64,
        "decimal" => Decimals::Decimal,
        "string" => Decimals::Text,
        other => return refused("decimals", other, "'float64', 'decimal' or 'string'"),
    };
    let invalid = match invalid {
        "raise" => InvalidValues::Raise,
        "null" => InvalidValues::Null,
        other => return refused("invalid", other, "'raise' or 'null'"),
    };
    let strings = match strings {
        "utf8" => Strings::Utf8,
        "large" => Strings::Large,
        "view" => Strings::View,
        other => return refused("strings", other, "'utf8', 'large' or 'view'"),
    };
    Ok(ColumnOptions { decimals, invalid, strings })
}
