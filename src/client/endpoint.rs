//! The core of `Endpoint`: endpoints that the user declares, in Python or in a TOML file.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use pyo3::types::PyMapping;

use super::paging::{DateRangeCore, paging_argument};
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{file_contents, optional_text, path as path_argument, text},
    interpreter::callback,
    rows::row_builder_pool::RowBuilderPool,
};
use boardlot_client::extension::{
    api::{
        self, Declaration, DeclarationError, ENDPOINTS, Field, Paging, Record, ResponseShape,
        declared_field, kinds_for,
    },
    endpoint_file,
};

/// The core of an `Endpoint`.
#[pyclass(frozen, name = "_Endpoint", module = "boardlot._core")]
pub struct EndpointCore {
    declaration: Declaration,
    /// The row that all calls use.
    pub row: Arc<api::Endpoint>,
    /// The builders of its records.
    pub builders: RowBuilderPool,
    /// The class that declares the fields, if a class does.
    class: Option<Py<PyType>>,
}

impl EndpointCore {
    fn declared(declaration: Declaration, row: api::Endpoint, class: Option<Py<PyType>>) -> Self {
        EndpointCore { declaration, row: Arc::new(row), builders: RowBuilderPool::default(), class }
    }
}

#[pymethods]
impl EndpointCore {
    #[new]
    fn new(
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        method: &Bound<'_, PyAny>,
        path: &Bound<'_, PyAny>,
        rows: Option<&Bound<'_, PyAny>>,
        paging: Option<&Bound<'_, PyAny>>,
        record: Option<&Bound<'_, PyAny>>,
        arguments: Option<&Bound<'_, PyAny>>,
        doc: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let name = text("name", name)?;
        let refuse = |mistake: DeclarationError| {
            let shown = name.chars().take(64).collect::<String>();
            let (place, what) = (mistake.place(), mistake.message);
            raise(py, Error::config(format!("Endpoint '{}': {place} {what}", shown.escape_debug())))
        };
        let class = record.and_then(|record| record.cast::<PyType>().ok());
        let declaration = Declaration {
            name: name.clone(),
            method: text("method", method)?,
            path: text("path", path)?,
            rows: optional_text("rows", rows)?,
            paging: match paging {
                Some(paging) => Some(
                    paging_argument(paging)?
                        .map_err(|what| refuse(DeclarationError::new(&["paging"], what)))?,
                ),
                None => None,
            },
            record: match (record, class) {
                (None, _) => Vec::new(),
                (Some(_), Some(class)) => class_fields(class)?.map_err(refuse)?,
                (Some(record), None) => fields(&pairs("record", record)?).map_err(refuse)?,
            },
            arguments: match arguments {
                Some(arguments) => pairs("arguments", arguments)?,
                None => Vec::new(),
            },
            doc: optional_text("doc", doc)?.unwrap_or_default(),
        };
        let row = declaration.endpoint().map_err(refuse)?;
        Ok(EndpointCore::declared(declaration, row, class.map(|class| class.clone().unbind())))
    }

    #[getter]
    fn name(&self) -> &str {
        &self.declaration.name
    }

    #[getter]
    fn method(&self) -> &'static str {
        self.row.method.as_str()
    }

    #[getter]
    fn path(&self) -> &str {
        &self.declaration.path
    }

    #[getter]
    fn rows(&self) -> Option<&str> {
        self.declaration.rows.as_deref()
    }

    #[getter]
    fn paging<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match &self.declaration.paging {
            None => None,
            Some(Paging::Cursor(cursor)) => Some(cursor.name.into_pyobject(py)?.into_any()),
            Some(Paging::DateRange(range)) => {
                Some(Bound::new(py, DateRangeCore(range.clone()))?.into_any())
            }
        })
    }

    #[getter]
    fn record<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        if let Some(class) = &self.class {
            return Ok(Some(class.bind(py).clone().into_any()));
        }
        if self.declaration.record.is_empty() {
            return Ok(None);
        }
        let fields = self.declaration.record.iter();
        let kinds = fields.map(|field| (field.name.as_ref(), field.declared_kind()));
        Ok(Some(kinds.into_py_dict(py)?.into_any()))
    }

    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.declaration.arguments.iter().into_py_dict(py)
    }

    #[getter]
    fn doc(&self) -> &str {
        &self.declaration.doc
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.class)
    }
}

/// The cores of the endpoints of a TOML file, by name.
#[pyfunction]
#[pyo3(name = "_load_endpoints")]
pub fn load_endpoints<'py>(
    py: Python<'py>,
    path: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyDict>> {
    let path: PathBuf = path_argument("path", path)?;
    let content = file_contents(py, "endpoints", &path)?;
    let file = path.display().to_string();
    let toml = std::str::from_utf8(&content).map_err(|_| {
        raise(py, Error::config(format!("{file} is not valid UTF-8; expected a TOML file")))
    })?;
    let endpoints = PyDict::new(py);
    let declared = endpoint_file::parse(&file, toml).or_raise(py)?;
    for (name, (declaration, row)) in declared {
        endpoints.set_item(name, Py::new(py, EndpointCore::declared(declaration, row, None))?)?;
    }
    Ok(endpoints)
}

/// Reads pairs of a name and a kind.
fn pairs(argument: &str, value: &Bound<'_, PyAny>) -> PyResult<Vec<(String, String)>> {
    const EXPECTED: &str = "a dict of names and kinds, such as {'time': 'seconds'}";
    let mapping = value.cast::<PyMapping>().map_err(|_| wrong_type(argument, value, EXPECTED))?;
    let mut pairs = Vec::new();
    for item in callback::reading(value.py(), || mapping.items())? {
        let (name, kind): (Bound<'_, PyAny>, Bound<'_, PyAny>) = item.extract()?;
        let name = text(&format!("a name in {argument}"), &name)?;
        if !kind.is_instance_of::<PyString>() {
            let place = format!("{argument}['{}']", name.escape_debug());
            let class = kind.cast::<PyType>().ok().and_then(|class| class.name().ok());
            let class = class.map(|class| class.to_string_lossy().to_lowercase());
            let kinds = kinds_for(class.as_deref().unwrap_or_default());
            return Err(wrong_type(&place, &kind, &format!("a text: {kinds}")));
        }
        let kind = text(&format!("a kind in {argument}"), &kind)?;
        pairs.push((name, kind));
    }
    Ok(pairs)
}

fn fields(kinds: &[(String, String)]) -> Result<Vec<Field>, DeclarationError> {
    kinds.iter().map(|(name, kind)| declared_field(name, kind)).collect()
}

/// Returns the fields of a `TypedDict`. For one of boardlot's own, these are the fields of the
/// service document.
fn class_fields(class: &Bound<'_, PyType>) -> PyResult<Result<Vec<Field>, DeclarationError>> {
    let py = class.py();
    if class.getattr("__module__")?.extract::<Cow<'_, str>>()? == "boardlot._records"
        && let Some(record) = built_in_record(&class.name()?.to_cow()?)
    {
        return Ok(Ok(record.fields().cloned().collect()));
    }
    let reader = import(py, "boardlot._support.typed_dict")?.getattr("kinds_of")?;
    Ok(fields(&reader.invoke((class,))?.extract::<Vec<(String, String)>>()?))
}

fn built_in_record(name: &str) -> Option<&'static Record> {
    ENDPOINTS.iter().find_map(|endpoint| match &endpoint.response {
        ResponseShape::Rows(_, schema) => {
            schema.records().into_iter().find(|record| record.name == name)
        }
        _ => None,
    })
}
