//! The arguments of `Sandbox.serve`, `put` and `fail_next`.

use crate::prelude::*;
use crate::{
    arguments::{
        caller_arguments::{argument, text},
        request_arguments::compact_json,
    },
    client::endpoint::EndpointCore,
    interpreter::{
        callback::reading,
        core_of::core_of,
        errors::{is_refusal, shown},
    },
};
use boardlot_client::extension::api::{EncodedValue, ParameterKind, endpoint};

/// Rows as JSON: dicts, as `Records` or in any other iterable.
pub fn rows(value: &Bound<'_, PyAny>) -> PyResult<String> {
    const EXPECTED: &str = "a list of dicts";
    if value.is_instance_of::<PyDict>() || value.is_instance_of::<PyString>() {
        return Err(wrong_type("rows", value, EXPECTED));
    }
    let py = value.py();
    if value.hasattr("columns")? {
        // Iterating over a frame returns the names of its columns.
        let expected = "a list of dicts, such as frame.to_dict('records') of pandas";
        return Err(wrong_type("rows", value, expected));
    }
    let items = reading(py, || value.try_iter()).map_err(|error| match is_refusal(py, &error) {
        true => wrong_type("rows", value, EXPECTED),
        false => error,
    })?;
    let rows = PyList::new(py, reading(py, || items.collect::<PyResult<Vec<_>>>())?)?;
    compact_json("rows", rows.as_any())
}

/// Reads the arguments that a request must have, as they are sent.
pub fn only(arguments: &Bound<'_, PyDict>) -> PyResult<Vec<(String, String)>> {
    let mut only = Vec::with_capacity(arguments.len());
    for (name, value) in arguments {
        let name = text("the name of an argument", &name)?;
        let value = EncodedValue::from(argument(&name, &value)?).into_text();
        only.push((name, value));
    }
    Ok(only)
}

/// Returns the argument that a request must have for an account of a built-in endpoint.
pub fn account(name: &str, account: &Bound<'_, PyAny>) -> PyResult<Option<(String, String)>> {
    let Some(endpoint) = endpoint(name) else { return Ok(None) };
    let parameter = endpoint.parameters.iter().find(|parameter| {
        matches!(parameter.kind, ParameterKind::AccountId | ParameterKind::AccountNumber)
    });
    let Some(parameter) = parameter else {
        let expected = format!("no account: {name} does not take one");
        return Err(raise(account.py(), Error::argument("account", &shown(account)?, &expected)));
    };
    let value = parameter.check(&argument("account", account)?, |_| None).or_raise(account.py())?;
    Ok(Some((parameter.name.to_string(), value.into_text())))
}

/// Parses the requests that fail: those of an endpoint, or to a path.
pub fn failure_target(value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Some(endpoint) = core_of::<EndpointCore>(value)? {
        return Ok(endpoint.get().row.name.to_string());
    }
    if !value.is_instance_of::<PyString>() {
        let expected = "the name of an endpoint, an Endpoint or a path";
        return Err(wrong_type("endpoint", value, expected));
    }
    text("endpoint", value)
}
