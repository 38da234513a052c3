//! `Records`: an immutable sequence of records, as dicts or typed columns.

use std::sync::atomic::{AtomicUsize, Ordering};

use boardlot_gated::gated;
use pyo3::{
    PyTraverseError, PyVisit,
    basic::CompareOp,
    exceptions::{PyIndexError, PyOverflowError, PyTypeError},
    prelude::*,
    types::{PyCapsule, PyDict, PyList, PySlice, PyTuple},
};

use super::{
    arrow::{ArrowStream, column_options},
    frame::{ARROW, FrameLibrary, FrameTarget, PANDAS, POLARS},
    missing_attribute::{no_attribute, no_index},
    row_builder_pool::RowBuilderPool,
    row_class::row_class,
    row_spec::{RowSpec, Target},
    schema_field::SchemaField,
};
use crate::{
    decode::{ColumnOptions, Rows},
    error::Error,
    py::{
        arguments::caller_arguments::{field_names, text_of},
        calls::call::Finish,
        interpreter::{
            callback::{Invoke, import, no_stop_iteration},
            errors::raise,
            fork_safe_cell::intern,
            shutdown_gate::detach,
        },
        values::objects,
    },
};

/// An immutable sequence of records.
///
/// `records[i]` and iteration return dicts with the service's own values, unchanged. Slices are
/// `Records`. It equals a list of the same dicts. `to_pandas()`, `to_polars()`, `to_arrow()` and
/// the Arrow PyCapsule interface return typed columns of the declared schema.
///
/// >>> records = client.dividends("HK.00700")
/// >>> len(records), records[0]["process"], records.meta["total_dividend_count"]
/// (21, 'Implementation', 21)
/// >>> records.index(records[1]), records.count(records[1])
/// (1, 1)
/// >>> list(records.select("currency", "ex_date")[0])
/// ['currency', 'ex_date']
/// >>> class Paid(NamedTuple):
/// ...     ex_date: str
/// ...     dividend_per_share: Decimal
/// >>> records.as_type(Paid)[0].dividend_per_share > 0
/// True
/// >>> type(records.to_dicts(typed=True)[0]["ex_date"]).__name__
/// 'date'
/// >>> records.to_pandas().shape, records.to_polars().shape, records.to_arrow().num_rows
/// ((21, 11), (21, 11), 21)
#[pyclass(frozen, sequence, generic, module = "boardlot._core")]
pub struct Records {
    rows: Rows,
    builders: RowBuilderPool,
    errors: Option<Py<PyDict>>,
}

impl Records {
    /// Returns a function that makes `Records` of rows, sharing their shape with other records of
    /// the same list.
    pub fn from_rows(builders: &RowBuilderPool) -> Finish<Rows> {
        let builders = builders.clone();
        Box::new(move |py, rows| {
            Ok(Py::new(py, Records { rows, builders, errors: None })?.into_any())
        })
    }

    /// The records that it shows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    pub fn with_errors(rows: Rows, errors: Py<PyDict>) -> Self {
        Records { rows, builders: RowBuilderPool::default(), errors: Some(errors) }
    }

    fn dict<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        match self.rows.get(index) {
            Some(row) => self.builders.object(py, self.rows.key_name(), row),
            None => Err(out_of_range()),
        }
    }

    fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.builders.list(py, &self.rows)
    }

    fn frame(
        &self,
        py: Python<'_>,
        library: &'static FrameLibrary,
        decimals: &str,
        invalid: &str,
    ) -> PyResult<Py<PyAny>> {
        FrameTarget::prepare(py, library, decimals, invalid)?.of_rows(py, &self.rows)
    }
}

#[gated]
#[pymethods]
impl Records {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.errors)
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if let Ok(slice) = index.cast::<PySlice>() {
            let indices = slice.indices(isize::try_from(self.rows.len())?)?;
            let rows = if indices.slicelength == 0 {
                self.rows.slice(0, 0)
            } else if indices.step == 1 {
                let start = usize::try_from(indices.start)?;
                self.rows.slice(start, start + indices.slicelength)
            } else {
                let mut slices = Vec::with_capacity(indices.slicelength);
                let mut index = indices.start;
                for _ in 0..indices.slicelength {
                    let start = usize::try_from(index)?;
                    slices.extend_from_slice(self.rows.slice(start, start + 1).slices());
                    index += indices.step;
                }
                self.rows.with_slices(slices)
            };
            let errors = self.errors.as_ref().map(|errors| errors.clone_ref(py));
            let records = Records { rows, builders: self.builders.clone(), errors };
            return Ok(records.into_pyobject(py)?.into_any());
        }
        let index: isize = index.extract().map_err(|error: PyErr| match error {
            error if error.is_instance_of::<PyOverflowError>(py) => out_of_range(),
            error if error.is_instance_of::<PyTypeError>(py) => no_index(index),
            error => error,
        })?;
        let length = isize::try_from(self.rows.len())?;
        let index = if index < 0 { index + length } else { index };
        match usize::try_from(index) {
            Ok(index) => self.dict(py, index),
            Err(_) => Err(out_of_range()),
        }
    }

    fn __getattr__(this: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        Err(no_attribute(this.as_any(), name))
    }

    fn __iter__(this: Py<Self>) -> RecordsIterator {
        RecordsIterator { records: this, next: AtomicUsize::new(0), step: 1 }
    }

    fn __reversed__(this: Py<Self>) -> RecordsIterator {
        let next = this.get().rows.len().wrapping_sub(1);
        RecordsIterator { records: this, next: AtomicUsize::new(next), step: -1 }
    }

    fn __contains__(&self, py: Python<'_>, item: &Bound<'_, PyAny>) -> PyResult<bool> {
        self.list(py)?.contains(item)
    }

    fn __richcmp__<'py>(
        &self,
        other: &Bound<'py, PyAny>,
        operation: CompareOp,
        py: Python<'py>,
    ) -> PyResult<Bound<'py, PyAny>> {
        let theirs = match other.cast::<Records>() {
            Ok(records) => records.get().list(py)?,
            Err(_) => match other.cast::<PyList>() {
                Ok(list) => list.clone(),
                Err(_) => return Ok(py.NotImplemented().into_bound(py)),
            },
        };
        match operation {
            CompareOp::Eq | CompareOp::Ne => self.list(py)?.rich_compare(theirs, operation),
            _ => Ok(py.NotImplemented().into_bound(py)),
        }
    }

    /// Refused, with what to pickle instead.
    fn __reduce__(&self, py: Python<'_>) -> PyResult<()> {
        let what = "cannot pickle Records, which share the memory of whole responses; pickle \
                    `records.to_dicts()`, or write `records.to_arrow()` to a file";
        Err(raise(py, Error::misuse(what, "Pickle a copy of the values instead.")))
    }

    /// The same object, as it is immutable.
    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    /// The same object, as it is immutable.
    fn __deepcopy__(this: Py<Self>, _memo: &Bound<'_, PyAny>) -> Py<Self> {
        this
    }

    /// The number of records that equal `value`.
    fn count(&self, py: Python<'_>, value: &Bound<'_, PyAny>) -> PyResult<usize> {
        self.list(py)?.invoke_method(intern!(py, "count"), (value,))?.extract()
    }

    /// The index of the first record from `start` to `stop` that equals `value`. Raises `ValueError` if
    /// there is none.
    #[pyo3(signature = (value, start = 0, stop = None))]
    fn index(
        &self,
        py: Python<'_>,
        value: &Bound<'_, PyAny>,
        start: isize,
        stop: Option<isize>,
    ) -> PyResult<usize> {
        let stop = stop.unwrap_or(isize::MAX);
        self.list(py)?.invoke_method(intern!(py, "index"), (value, start, stop))?.extract()
    }

    fn __repr__<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        import(py, "boardlot._support.tables")?.invoke_method(intern!(py, "text"), (this,))
    }

    fn _repr_html_<'py>(this: &Bound<'py, Self>) -> PyResult<Bound<'py, PyAny>> {
        let py = this.py();
        import(py, "boardlot._support.tables")?.invoke_method(intern!(py, "html"), (this,))
    }

    /// The members next to the list and in the `pagination` object; for `fetch_many`, by key.
    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        objects::meta(py, &self.rows)
    }

    /// The keys that failed in `fetch_many(on_error="collect")`, each with its error.
    #[getter]
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        match &self.errors {
            Some(errors) => errors.bind(py).copy(),
            None => Ok(PyDict::new(py)),
        }
    }

    /// Name, kind, unit and description of each declared field.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, SchemaField::all(&self.rows))
    }

    /// The records restricted to these fields, in this order: dicts, frames, `schema` and iteration
    /// contain nothing else. A name is unknown if it is neither declared nor in any record; while there
    /// are no records, `undeclared=True` permits any names. Raises `ConfigError` for an unknown name.
    #[pyo3(signature = (*names, undeclared = false))]
    fn select(
        &self,
        py: Python<'_>,
        names: &Bound<'_, PyTuple>,
        undeclared: bool,
    ) -> PyResult<Records> {
        let names = field_names(names)?;
        let rows = self.rows.select(names, undeclared).map_err(|error| raise(py, error))?;
        let builders = RowBuilderPool::new(RowSpec::dicts(rows.selection()));
        let errors = self.errors.as_ref().map(|errors| errors.clone_ref(py));
        Ok(Records { rows, builders, errors })
    }

    /// The records as a list of instances of `cls`: a dataclass, a `NamedTuple`, a
    /// `msgspec.Struct` or another class with annotated fields that accepts them as keywords.
    ///
    /// Each field is converted to its annotation: `str` (as sent), `int`, `float`, `bool`, `Decimal`,
    /// `datetime` (aware, UTC), `date`, an `Enum`, `dict`, `list`, `Any`, or one of these with `| None`.
    /// Fields that the class lacks are skipped; a field that a record lacks takes its default.
    ///
    /// Raises a `ConfigError` if an annotation is not supported or a required field is unknown, and a
    /// `ProtocolError` that names record, field, value and type if a value cannot be converted.
    fn as_type<'py>(&self, cls: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let class = row_class(cls, self.rows.fields(), self.rows.key_name())?;
        let spec = RowSpec::of_rows(Target::Class(class), &self.rows);
        RowBuilderPool::new(spec).list(cls.py(), &self.rows)
    }

    /// The records as a list of dicts; with `typed=True`, with `Decimal`, `datetime` (UTC), `date`
    /// and `None` as the schema declares. Then raises `ProtocolError` for a value that is not of its kind.
    #[pyo3(signature = (*, typed = false))]
    fn to_dicts<'py>(&self, py: Python<'py>, typed: bool) -> PyResult<Bound<'py, PyList>> {
        match typed {
            true => self.builders.typed(&self.rows).list(py, &self.rows),
            false => self.list(py),
        }
    }

    /// The records as a pandas DataFrame; see `boardlot.frames.to_pandas`.
    #[pyo3(signature = (*, decimals = "float64", invalid = "raise"))]
    fn to_pandas(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
    ) -> PyResult<Py<PyAny>> {
        self.frame(py, &PANDAS, decimals, invalid)
    }

    /// The records as a polars DataFrame; see `boardlot.frames.to_polars`.
    #[pyo3(signature = (*, decimals = "float64", invalid = "raise"))]
    fn to_polars(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
    ) -> PyResult<Py<PyAny>> {
        self.frame(py, &POLARS, decimals, invalid)
    }

    /// The records as a pyarrow Table; see `boardlot.frames.to_arrow`.
    #[pyo3(signature = (*, decimals = "float64", invalid = "raise"))]
    fn to_arrow(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
    ) -> PyResult<Py<PyAny>> {
        self.frame(py, &ARROW, decimals, invalid)
    }

    /// The typed columns as an Arrow stream (the PyCapsule interface).
    #[pyo3(signature = (requested_schema = None))]
    fn __arrow_c_stream__<'py>(
        &self,
        py: Python<'py>,
        requested_schema: Option<&Bound<'py, PyAny>>,
    ) -> PyResult<Bound<'py, PyCapsule>> {
        let stream = ArrowStream::of_rows(py, &self.rows, ColumnOptions::default())?;
        stream.__arrow_c_stream__(py, requested_schema)
    }

    /// The records at these indices, in this order.
    fn _take(&self, py: Python<'_>, indices: Vec<usize>) -> PyResult<Records> {
        let mut slices = Vec::with_capacity(indices.len());
        for index in indices {
            if index >= self.rows.len() {
                return Err(out_of_range());
            }
            slices.extend_from_slice(self.rows.slice(index, index + 1).slices());
        }
        let errors = self.errors.as_ref().map(|errors| errors.clone_ref(py));
        Ok(Records { rows: self.rows.with_slices(slices), builders: self.builders.clone(), errors })
    }

    /// Each record as compact JSON, every number as the service sent it: all fields, or those with
    /// these names.
    #[pyo3(signature = (names = None))]
    fn _json(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Vec<String>> {
        detach(py, || self.rows.to_json(names.as_deref())).map_err(|error| raise(py, error))
    }

    /// The fields with these names in each record, as text; None for null and missing ones.
    fn _texts(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Vec<Vec<Option<String>>>> {
        detach(py, || self.rows.to_texts(&names)).map_err(|error| raise(py, error))
    }

    /// The names of the declared fields, then of all others in the order of their first appearance.
    fn _names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        detach(py, || self.rows.field_names()).map_err(|error| raise(py, error))
    }

    /// The columns with these options, as an object with the PyCapsule interface.
    fn _arrow(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
        #[pyo3(from_py_with = text_of::strings)] strings: &str,
    ) -> PyResult<ArrowStream> {
        let options = column_options(decimals, invalid, strings).map_err(|e| raise(py, e))?;
        ArrowStream::of_rows(py, &self.rows, options)
    }
}

fn out_of_range() -> PyErr {
    PyIndexError::new_err("record index out of range")
}

/// An iterator over records, which creates each dict on demand.
#[pyclass(frozen, module = "boardlot._core")]
pub struct RecordsIterator {
    records: Py<Records>,
    /// The index of the next record; threads that share the iterator each get different records.
    next: AtomicUsize,
    step: isize,
}

#[gated]
#[pymethods]
impl RecordsIterator {
    fn __iter__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __next__<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        let records = self.records.get();
        let advance = |index: usize| {
            (index < records.rows.len()).then(|| index.wrapping_add_signed(self.step))
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
        let (length, next) = (self.records.get().rows.len(), self.next.load(Ordering::Relaxed));
        if self.step < 0 { next.wrapping_add(1) } else { length.saturating_sub(next) }
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.records)
    }
}
