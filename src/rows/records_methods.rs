//! What Python sees of `Records`: a sequence of dicts, and their columns.

use pyo3::{basic::CompareOp, types::PyCapsule};

use super::{
    arrow::{ArrowStream, column_options},
    frame::{ARROW, FrameLibrary, FrameTarget, PANDAS, POLARS},
    missing_attribute::no_attribute,
    pickles::{Pickle, deep_copy, pickle, restore},
    records::Records,
    records_iterator::RecordsIterator,
    row_builder_pool::RowBuilderPool,
    row_class::row_class,
    row_spec::{RowSpec, Target},
    schema_field::SchemaField,
    sequence::{item, list_of, sum, take},
    web_types::pydantic_schema,
};
use crate::prelude::*;
use crate::{arguments::caller_arguments::field_names, values::objects};
use boardlot_client::decode::ColumnOptions;

impl Records {
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

#[pymethods]
impl Records {
    fn __len__(&self) -> usize {
        self.rows.len()
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        self.kept.traverse(&visit)?;
        visit.call(&self.errors)
    }

    fn __getitem__<'py>(
        &self,
        py: Python<'py>,
        index: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        item(self, py, index)
    }

    fn __getattr__(this: &Bound<'_, Self>, name: &str) -> PyResult<()> {
        Err(no_attribute(this.as_any(), name))
    }

    fn __iter__(this: Py<Self>) -> RecordsIterator {
        RecordsIterator::forward(this)
    }

    fn __reversed__(this: Py<Self>) -> RecordsIterator {
        RecordsIterator::backward(this)
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
        let Some(theirs) = list_of(other)? else { return Ok(py.NotImplemented().into_bound(py)) };
        match operation {
            CompareOp::Eq | CompareOp::Ne => self.list(py)?.rich_compare(theirs, operation),
            _ => Ok(py.NotImplemented().into_bound(py)),
        }
    }

    fn __add__<'py>(
        this: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        sum(this, other)
    }

    fn __radd__<'py>(
        this: &Bound<'py, Self>,
        other: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        sum(other, this)
    }

    fn __mul__<'py>(
        this: &Bound<'py, Self>,
        count: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.get().list(this.py())?.mul(count)
    }

    fn __rmul__<'py>(
        this: &Bound<'py, Self>,
        count: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        this.get().list(this.py())?.mul(count)
    }

    /// The records as text, and the dicts that were handed out as they are now.
    fn __reduce__<'py>(this: &Bound<'py, Self>) -> PyResult<Pickle<'py>> {
        pickle(this)
    }

    fn __setstate__(&self, dicts: Vec<(usize, Bound<'_, PyAny>)>) -> PyResult<()> {
        restore(self, dicts)
    }

    /// The same object: it has no more than its dicts.
    fn __copy__(this: Py<Self>) -> Py<Self> {
        this
    }

    fn __deepcopy__<'py>(
        this: &Bound<'py, Self>,
        memo: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, Self>> {
        deep_copy(this, memo)
    }

    /// The type of pydantic: these records or any list of dicts, which it writes as a list.
    #[classmethod]
    fn __get_pydantic_core_schema__<'py>(
        cls: &Bound<'py, PyType>,
        _source: &Bound<'py, PyAny>,
        handler: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyAny>> {
        pydantic_schema(cls.py(), handler)
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
    /// contain nothing else. The dicts are new, with the service's own values. A name is unknown if it
    /// is neither declared nor in any record; while there are no records, `undeclared=True` permits any
    /// names. Raises `ConfigError` for an unknown name.
    #[pyo3(signature = (*names, undeclared = false))]
    fn select(
        &self,
        py: Python<'_>,
        names: &Bound<'_, PyTuple>,
        undeclared: bool,
    ) -> PyResult<Records> {
        let names = field_names(names)?;
        let rows = self.rows.select(names, undeclared).or_raise(py)?;
        let builders = RowBuilderPool::new(RowSpec::dicts(rows.selection()));
        Ok(Records::new(py, rows, builders, self.errors_ref(py)))
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

    /// The records as a list of their dicts; with `typed=True`, of new ones with `Decimal`, `datetime`
    /// (UTC), `date` and `None` as the schema declares, of the service's own values. Then raises
    /// `ProtocolError` for a value that is not of its kind.
    #[pyo3(signature = (*, typed = false))]
    fn to_dicts<'py>(&self, py: Python<'py>, typed: bool) -> PyResult<Bound<'py, PyList>> {
        match typed {
            true => self.builders.typed(&self.rows).list(py, &self.rows),
            false => self.list(py),
        }
    }

    /// The service's JSON text of the list: its own values, whatever became of the dicts. `json.dumps` and
    /// orjson write lists alone: pass them `list(records)`.
    fn to_json(&self, py: Python<'_>) -> PyResult<String> {
        let text = py.detach(|| match (self.rows.key_name(), self.rows.selection()) {
            (None, None) => {
                Ok(self.rows.iter().map(|row| row.text()).collect::<Vec<_>>().join(","))
            }
            _ => Ok(self.rows.to_json(None)?.join(",")),
        });
        text.map(|text| format!("[{text}]")).or_raise(py)
    }

    /// The records as a pandas DataFrame; see `boardlot.frames.to_pandas`.
    /// Its values are the service's own, whatever became of the dicts.
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
    /// Its values are the service's own, whatever became of the dicts.
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
    /// Its values are the service's own, whatever became of the dicts.
    #[pyo3(signature = (*, decimals = "float64", invalid = "raise"))]
    fn to_arrow(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
    ) -> PyResult<Py<PyAny>> {
        self.frame(py, &ARROW, decimals, invalid)
    }

    /// The typed columns as an Arrow stream (the PyCapsule interface). Its values are the service's own,
    /// whatever became of the dicts.
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
        take(self, py, indices.into_iter())
    }

    /// Each record as compact JSON, every number as the service sent it: all fields, or those with
    /// these names.
    #[pyo3(signature = (names = None))]
    fn _json(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Vec<String>> {
        py.detach(|| self.rows.to_json(names.as_deref())).or_raise(py)
    }

    /// The fields with these names in each record, as text; None for null and missing ones.
    fn _texts(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Vec<Vec<Option<String>>>> {
        py.detach(|| self.rows.to_texts(&names)).or_raise(py)
    }

    /// The names of the declared fields, then of all others in the order of their first appearance.
    fn _names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.rows.field_names()).or_raise(py)
    }

    /// The columns with these options, as an object with the PyCapsule interface.
    fn _arrow(
        &self,
        py: Python<'_>,
        #[pyo3(from_py_with = text_of::decimals)] decimals: &str,
        #[pyo3(from_py_with = text_of::invalid)] invalid: &str,
        #[pyo3(from_py_with = text_of::strings)] strings: &str,
    ) -> PyResult<ArrowStream> {
        let options = column_options(decimals, invalid, strings).or_raise(py)?;
        ArrowStream::of_rows(py, &self.rows, options)
    }
}
