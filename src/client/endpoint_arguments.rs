//! The endpoint of a call, and its arguments.

use super::endpoint::EndpointCore;
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{argument, text},
    interpreter::core_of::core_of,
};
use boardlot_client::extension::{
    api::{self, Argument, ENDPOINTS, EndpointRef, endpoint},
    error::{did_you_mean, nearest},
};

/// The arguments of an endpoint's method by name, unchecked.
pub type Arguments<'py> = Vec<(ArgumentName, Bound<'py, PyAny>)>;

/// A keyword, which can be any string.
pub struct ArgumentName(pub String);

impl FromPyObject<'_, '_> for ArgumentName {
    type Error = PyErr;

    fn extract(object: Borrowed<'_, '_, PyAny>) -> PyResult<Self> {
        text("the name of an argument", &object).map(ArgumentName)
    }
}

/// An endpoint of the table, which its generated method passes.
#[pyclass(frozen, name = "_BuiltInEndpoint", module = "boardlot._core")]
pub struct BuiltInEndpoint {
    /// The endpoint's index in the table.
    pub index: usize,
    row: &'static api::Endpoint,
}

/// All built-in endpoints, in the order of the table.
pub fn built_in_endpoints(py: Python<'_>) -> PyResult<Bound<'_, PyTuple>> {
    let rows = ENDPOINTS.iter().enumerate();
    PyTuple::new(py, rows.map(|(index, &row)| BuiltInEndpoint { index, row }).collect::<Vec<_>>())
}

/// Returns the endpoint of an argument: a built-in one, one that a user declared, or the endpoint
/// of a method with this name.
pub fn endpoint_argument(value: &Bound<'_, PyAny>) -> PyResult<EndpointRef> {
    if let Ok(endpoint) = value.cast::<BuiltInEndpoint>() {
        return Ok(endpoint.get().row.into());
    }
    if let Some(endpoint) = core_of::<EndpointCore>(value)? {
        return Ok(endpoint.get().row.clone().into());
    }
    if value.is_callable() {
        let expected = "the name of the method as a string, such as \"dividends\"";
        return Err(wrong_type("method", value, expected));
    }
    if value.is_instance_of::<PyList>() || value.is_instance_of::<PyTuple>() {
        let expected = "the method first, then the keys: fetch_many(\"dividends\", [\"HK.00700\"])";
        return Err(wrong_type("method", value, expected));
    }
    if !value.is_instance_of::<PyString>() {
        return Err(wrong_type("endpoint", value, "an Endpoint or the name of a method"));
    }
    let method = text("method", value)?;
    let found = endpoint(&method).ok_or_else(|| {
        let methods: Vec<&str> = ENDPOINTS.iter().map(|endpoint| endpoint.name.as_ref()).collect();
        let nearest = did_you_mean(&method, methods.iter().copied());
        let expected = format!("an Endpoint, or one of {}{nearest}", methods.join(", "));
        let shown = format!("'{}'", method.escape_debug());
        raise(value.py(), Error::argument("method", &shown, &expected))
    })?;
    Ok(found.into())
}

/// The known name that is nearest to this word, or None: for names that Python code looks up.
#[pyfunction]
#[pyo3(name = "_nearest")]
pub fn nearest_of(word: &Bound<'_, PyString>, known: Vec<String>) -> Option<String> {
    nearest(&word.to_string_lossy(), known.iter().map(String::as_str)).map(str::to_owned)
}

/// An endpoint and its arguments, without those that are None.
pub fn endpoint_arguments<'py>(
    endpoint: &Bound<'py, PyAny>,
    arguments: &Arguments<'py>,
) -> PyResult<(EndpointRef, Vec<(String, Argument)>)> {
    let endpoint = endpoint_argument(endpoint)?;
    let mut given = Vec::with_capacity(arguments.len());
    for (ArgumentName(name), value) in arguments {
        if !value.is_none() {
            given.push((name.clone(), argument(name, value)?));
        }
    }
    Ok((endpoint, given))
}

/// Warns of a range of time whose end is a date. The arguments have been checked.
pub fn warn_of_end_date(endpoint: &EndpointRef, arguments: &Arguments<'_>) -> PyResult<()> {
    let end = arguments.iter().find(|(name, end)| name.0 == "end" && !end.is_none());
    let Some((_, end)) = end.filter(|_| endpoint.time_range().is_some()) else { return Ok(()) };
    import(end.py(), "boardlot._support.clients")?.invoke_method("warn_of_end", (end,)).map(drop)
}
