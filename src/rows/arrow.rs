//! Typed columns as an Arrow stream, through the Arrow PyCapsule interface.

use std::sync::{Arc, Mutex, PoisonError};

use arrow_array::{RecordBatch, RecordBatchIterator, ffi_stream::FFI_ArrowArrayStream};
use arrow_schema::Schema;
use pyo3::types::PyCapsule;

use crate::calls::blocking::block;
use crate::prelude::*;
use boardlot_client::extension::{
    decode::{ColumnOptions, Columns, Decimals, InvalidValues, Rows, Strings},
    error::did_you_mean,
    os::callback_pool,
};

/// Building the columns of this many bytes takes a few milliseconds.
const SHORT_BYTES: usize = 1 << 20;

/// Typed columns that any library with the Arrow PyCapsule interface can consume once.
#[pyclass(frozen, name = "_ArrowStream", module = "boardlot._core")]
pub struct ArrowStream(Mutex<Option<(Arc<Schema>, Vec<RecordBatch>)>>);

impl ArrowStream {
    /// Builds the columns of these records. Long columns are built on another thread while this one
    /// handles signals; an interrupt stops the work.
    pub fn of_rows(py: Python<'_>, rows: &Rows, options: ColumnOptions) -> PyResult<Self> {
        if rows.byte_length() <= SHORT_BYTES {
            let stream = py.detach(|| Self::of(rows.columns(options, || true)?));
            return stream.or_raise(py);
        }
        let wanted = Arc::new(());
        let (is_wanted, rows) = (Arc::downgrade(&wanted), rows.clone());
        let stream = async move {
            let build = move || Self::of(rows.columns(options, || is_wanted.strong_count() > 0)?);
            let stream = callback_pool::run(build).await;
            drop(wanted);
            stream?
        };
        block(py, stream)
    }

    /// Joins the parts of one result, in their order.
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
            let advice = "A stream can be consumed once: call the method again for another.";
            raise(py, Error::misuse("this stream was already consumed; create a new one", advice))
        })?;
        let reader = RecordBatchIterator::new(batches.into_iter().map(Ok), schema);
        let stream = FFI_ArrowArrayStream::new(Box::new(reader));
        PyCapsule::new_with_value(py, stream, c"arrow_array_stream")
    }
}

/// Returns the options with these names.
pub fn column_options(decimals: &str, invalid: &str, strings: &str) -> Result<ColumnOptions> {
    let invalid_option = |name: &str, value: &str, expected: &str| {
        let nearest = did_you_mean(value, expected.split('\'').skip(1).step_by(2));
        let shown = format!("'{}'", value.escape_debug());
        Err(Error::argument(name, &shown, &format!("{expected}{nearest}")))
    };
    let decimals = match decimals {
        "float64" => Decimals::Float64,
        "decimal" => Decimals::Decimal,
        "string" => Decimals::Text,
        other => return invalid_option("decimals", other, Decimals::NAMES),
    };
    let invalid = match invalid {
        "raise" => InvalidValues::Raise,
        "null" => InvalidValues::Null,
        other => return invalid_option("invalid", other, "'raise' or 'null'"),
    };
    let strings = match strings {
        "utf8" => Strings::Utf8,
        "large" => Strings::Large,
        "view" => Strings::View,
        other => return invalid_option("strings", other, "'utf8', 'large' or 'view'"),
    };
    let mut options = ColumnOptions::default();
    options.decimals = decimals;
    options.invalid = invalid;
    options.strings = strings;
    Ok(options)
}
