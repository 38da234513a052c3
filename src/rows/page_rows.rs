//! Rows of the service, stored as the bytes of their pages. Dicts, typed columns and texts are made
//! from these bytes.

use pyo3::exceptions::PyIndexError;

use super::{
    arrow::{ArrowStream, column_options},
    row_builder_pool::RowBuilderPool,
    row_class::row_class,
    row_spec::{RowSpec, Target},
    rows_of_dicts::rows_of_dicts,
    schema_field::SchemaField,
    shape::Shape,
};
use crate::arguments::caller_arguments::field_names;
use crate::calls::call::Finish;
use crate::prelude::*;
use crate::values::objects;
use boardlot_client::extension::decode::Rows as CoreRows;

/// Rows of pages, with the fields that are declared for them. `boardlot.Records` is made from them.
/// The archive, the command line and the engines read these rows directly, because they have every
/// number as the service sent it.
#[pyclass(frozen, name = "_Rows", module = "boardlot._core")]
pub struct Rows {
    rows: CoreRows,
    builders: RowBuilderPool,
}

impl Rows {
    pub fn new(rows: CoreRows, builders: RowBuilderPool) -> Self {
        Rows { rows, builders }
    }

    /// Returns a function that makes the Python object of rows, sharing their layout with other
    /// rows of the same list.
    pub fn from_core(builders: &RowBuilderPool) -> Finish<CoreRows> {
        let builders = builders.clone();
        Box::new(move |py, rows| Ok(Py::new(py, Rows::new(rows, builders))?.into_any()))
    }

    /// The rows.
    pub fn core(&self) -> &CoreRows {
        &self.rows
    }

    /// Returns these rows with other slices of pages.
    fn with(&self, rows: CoreRows) -> Self {
        Rows { rows, builders: self.builders.clone() }
    }
}

#[pymethods]
impl Rows {
    /// Makes rows from the current dicts of a list.
    #[staticmethod]
    fn of_dicts(dicts: &Bound<'_, PyList>, shape: &Bound<'_, Shape>) -> PyResult<Self> {
        let shape = shape.get();
        let rows = rows_of_dicts(dicts, &shape.fields)?.restricted_to(shape.selection.clone());
        let builders = RowBuilderPool::new(RowSpec::dicts(rows.selection()));
        Ok(Rows { rows, builders })
    }

    fn __len__(&self) -> usize {
        self.rows.len()
    }

    /// The declared fields of the rows.
    #[getter]
    fn shape(&self) -> Shape {
        Shape::of(&self.rows)
    }

    /// Name, kind, unit and description of each declared field.
    #[getter]
    fn schema<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, SchemaField::of_rows(&self.rows))
    }

    /// The members next to the list and in the `pagination` object; of many keys, by key.
    #[getter]
    fn meta<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        objects::meta(py, &self.rows)
    }

    /// A new list of dicts with the service's own values.
    fn dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.builders.list(py, &self.rows)
    }

    /// A new list of dicts of `Decimal`, `datetime` (UTC), `date` and `None`, as the fields are
    /// declared.
    fn typed_dicts<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.builders.typed(&self.rows).list(py, &self.rows)
    }

    /// A new list of instances of a class.
    fn instances<'py>(&self, cls: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyList>> {
        let class = row_class(cls, self.rows.fields(), self.rows.key_name())?;
        let spec = RowSpec::of_rows(Target::Class(class), &self.rows);
        RowBuilderPool::new(spec).list(cls.py(), &self.rows)
    }

    /// The rows restricted to these fields, in this order.
    #[pyo3(signature = (*names, undeclared = false))]
    fn select(
        &self,
        py: Python<'_>,
        names: &Bound<'_, PyTuple>,
        undeclared: bool,
    ) -> PyResult<Self> {
        let rows = self.rows.select(field_names(names)?, undeclared).or_raise(py)?;
        let builders = RowBuilderPool::new(RowSpec::dicts(rows.selection()));
        Ok(Rows { rows, builders })
    }

    /// The rows at these indices, in this order.
    fn take(&self, indices: Vec<usize>) -> PyResult<Self> {
        let mut slices = Vec::with_capacity(indices.len());
        for index in indices {
            if index >= self.rows.len() {
                return Err(PyIndexError::new_err("row index out of range"));
            }
            slices.extend_from_slice(self.rows.slice(index, index + 1).slices());
        }
        Ok(self.with(self.rows.with_slices(slices)))
    }

    /// The rows from `start` to before `stop`.
    fn slice(&self, start: usize, stop: usize) -> Self {
        self.with(self.rows.slice(start, stop.min(self.rows.len())))
    }

    /// The names of the declared fields, then of all others in the order of their first appearance.
    fn names(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        py.detach(|| self.rows.field_names()).or_raise(py)
    }

    /// Each row as compact JSON, every number as the service sent it: all fields, or those with
    /// these names.
    #[pyo3(signature = (names = None))]
    fn json(&self, py: Python<'_>, names: Option<Vec<String>>) -> PyResult<Vec<String>> {
        py.detach(|| self.rows.to_json(names.as_deref())).or_raise(py)
    }

    /// The fields with these names of each row, as text; None for null and missing ones.
    fn texts(&self, py: Python<'_>, names: Vec<String>) -> PyResult<Vec<Vec<Option<String>>>> {
        py.detach(|| self.rows.to_texts(&names)).or_raise(py)
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
