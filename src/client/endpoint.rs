//! `Endpoint` and `load_endpoints`: endpoints that the user declares.

use std::{borrow::Cow, path::PathBuf, sync::Arc};

use pyo3::types::PyMapping;

use super::paging::{DateRange, paging_argument};
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{
        file_contents, no_more, optional_text, path as path_argument, text,
    },
    interpreter::callback,
    rows::row_builder_pool::RowBuilderPool,
};
use boardlot_client::{
    api::{
        self, Declaration, DeclarationError, ENDPOINTS, Field, Paging, Record, ResponseShape,
        declared_field, kinds_for,
    },
    endpoint_file,
};

/// A custom endpoint: an endpoint of the service that boardlot has no method for.
///
/// `name` identifies it in errors and checkpoints. `method` is `"GET"` or `"POST"`. A `{name}` in `path`
/// stands for a required argument. `rows` is the dotted path of the records in a response; by default the
/// only list in `data`. `paging` is `None`, `"next_key"`, `"page_flag"` or a `DateRange`. `record` declares
/// the fields: a dict of their kinds (`text`, `integer`, `number`, `flag`, `decimal`, `percent`, `seconds`,
/// `millis`, `micros`, `date`, `object`), or a `TypedDict`; other fields become columns whose types are
/// inferred. `arguments` declares the kinds of arguments, which are then checked; they may also have the
/// kind `"symbol"`. Other arguments are sent as they are. Arguments that are not in the path go into the
/// query or, for POST, into the JSON body, in the order given. `doc` is a description.
///
/// Raises `ConfigError` for a declaration that cannot be used.
///
/// >>> flow = bl.Endpoint(
/// ...     "capital_flow",
/// ...     "GET",
/// ...     "/api/v1.0/quote/{symbol}/capital-flow/history",
/// ...     rows="data.capital_flow_list",
/// ...     paging=bl.DateRange("end", before="data_date"),
/// ...     record={"data_date": "date", "in_flow": "number"},
/// ... )
/// >>> client.call(flow, symbol="HK.00700").to_polars().columns[:2]
/// ['data_date', 'in_flow']
#[pyclass(frozen, generic, weakref, module = "boardlot")]
pub struct Endpoint {
    declaration: Declaration,
    /// The row that all calls use.
    pub row: Arc<api::Endpoint>,
    /// The builders of its records.
    pub builders: RowBuilderPool,
    /// The class that declares the fields, if it is one.
    class: Option<Py<PyType>>,
}

impl Endpoint {
    fn declared(declaration: Declaration, row: api::Endpoint, class: Option<Py<PyType>>) -> Self {
        Endpoint { declaration, row: Arc::new(row), builders: RowBuilderPool::default(), class }
    }
}

#[pymethods]
impl Endpoint {
    #[new]
    #[pyo3(signature = (
        name, method, path, *more, rows = None, paging = None, record = None, arguments = None, doc = None,
        **others,
    ), text_signature = "(name, method, path, *, rows=None, paging=None, record=None, arguments=None, doc='')")]
    fn new(
        py: Python<'_>,
        name: &Bound<'_, PyAny>,
        method: &Bound<'_, PyAny>,
        path: &Bound<'_, PyAny>,
        more: &Bound<'_, PyTuple>,
        rows: Option<&Bound<'_, PyAny>>,
        paging: Option<&Bound<'_, PyAny>>,
        record: Option<&Bound<'_, PyAny>>,
        arguments: Option<&Bound<'_, PyAny>>,
        doc: Option<&Bound<'_, PyAny>>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        no_more(py, "Endpoint", more, others)?;
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
        Ok(Endpoint::declared(declaration, row, class.map(|class| class.clone().unbind())))
    }

    /// The name of the endpoint, in errors and checkpoints.
    #[getter]
    fn name(&self) -> &str {
        &self.declaration.name
    }

    /// `"GET"` or `"POST"`.
    #[getter]
    fn method(&self) -> &'static str {
        self.row.method.as_str()
    }

    /// The path below the base URL; `{name}` stands for an argument.
    #[getter]
    fn path(&self) -> &str {
        &self.declaration.path
    }

    /// The dotted path of the records in a response.
    #[getter]
    fn rows(&self) -> Option<&str> {
        self.declaration.rows.as_deref()
    }

    /// `None`, `"next_key"`, `"page_flag"` or a `DateRange`.
    #[getter]
    fn paging<'py>(&self, py: Python<'py>) -> PyResult<Option<Bound<'py, PyAny>>> {
        Ok(match &self.declaration.paging {
            None => None,
            Some(Paging::Cursor(cursor)) => Some(cursor.name.into_pyobject(py)?.into_any()),
            Some(Paging::DateRange(range)) => {
                Some(Bound::new(py, DateRange(range.clone()))?.into_any())
            }
        })
    }

    /// The declared fields: a dict of their kinds, or the `TypedDict`; `None` if there are none.
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

    /// The declared kinds of arguments.
    #[getter]
    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        self.declaration.arguments.iter().into_py_dict(py)
    }

    /// The description that was passed.
    #[getter]
    fn doc(&self) -> &str {
        &self.declaration.doc
    }

    fn __eq__(&self, py: Python<'_>, other: &Bound<'_, PyAny>) -> PyResult<Py<PyAny>> {
        let Ok(other) = other.cast::<Endpoint>() else { return Ok(py.NotImplemented()) };
        let (one, other) = (self.constructor(py)?, other.get().constructor(py)?);
        Ok(one.eq(other)?.into_pyobject(py)?.to_owned().into_any().unbind())
    }

    fn __hash__(&self, py: Python<'_>) -> PyResult<isize> {
        (self.name(), self.method(), self.path()).into_pyobject(py)?.hash()
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        self.constructor(py)
    }

    fn __traverse__(&self, visit: PyVisit<'_>) -> Result<(), PyTraverseError> {
        visit.call(&self.class)
    }

    fn __repr__(&self, py: Python<'_>) -> PyResult<String> {
        let (positional, named) =
            self.constructor(py)?.extract::<(Bound<'_, PyTuple>, Bound<'_, PyDict>)>()?;
        let mut parts = Vec::new();
        for value in positional.iter() {
            parts.push(value.repr()?.to_string());
        }
        for (name, value) in named {
            parts.push(format!("{name}={}", value.repr()?));
        }
        Ok(format!("Endpoint({})", parts.join(", ")))
    }
}

impl Endpoint {
    /// The arguments of the constructor that are not the defaults.
    fn constructor<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let named = PyDict::new(py);
        if let Some(rows) = self.rows() {
            named.set_item("rows", rows)?;
        }
        if let Some(paging) = self.paging(py)? {
            named.set_item("paging", paging)?;
        }
        if let Some(record) = self.record(py)? {
            named.set_item("record", record)?;
        }
        if !self.declaration.arguments.is_empty() {
            named.set_item("arguments", self.arguments(py)?)?;
        }
        if !self.declaration.doc.is_empty() {
            named.set_item("doc", &self.declaration.doc)?;
        }
        ((self.name(), self.method(), self.path()), named).into_pyobject(py)
    }
}

/// The endpoints of a TOML file, by name: a table for each, with the arguments of `Endpoint` as keys.
///
/// ```toml
/// [kline]
/// method = "GET"
/// path = "/api/v1.0/quote/{symbol}/history-kline"
/// rows = "data.kline_list"
/// paging = { end = "end", next = "extra.next_time", unique = "time" }
/// record = { time = "seconds", open = "decimal", close = "decimal" }
/// ```
///
/// Raises `ConfigError` if the file at `path` cannot be read or has a mistake; the error names the line, the
/// table and the key.
///
/// >>> text = 'kline = { method = "GET", path = "/api/v1.0/quote/{symbol}/kline" }'
/// >>> size = (folder / "endpoints.toml").write_text(text)
/// >>> bl.load_endpoints(folder / "endpoints.toml")["kline"].method
/// 'GET'
#[pyfunction]
#[pyo3(signature = (path, /))]
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
        endpoints.set_item(name, Py::new(py, Endpoint::declared(declaration, row, None))?)?;
    }
    Ok(endpoints)
}

/// Names and kinds.
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

/// The fields of a `TypedDict`: of one of boardlot's own, those of the service document.
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
