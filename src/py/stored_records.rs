//! For `boardlot.archive`: the texts of records, and records made of such texts.

use std::sync::Arc;

use pyo3::{prelude::*, pybacked::PyBackedStr};

use super::{
    arguments::argument,
    endpoint_arguments::{Arguments, borrowed, endpoint_arguments},
    errors::raise,
    records::Records,
    shapes::Shapes,
    shutdown_gate::detach,
};
use crate::{
    api::{EncodedValue, Field, Parameter, ParameterKind, TimeUnit},
    decode::{PageSlice, Rows, StoredFields, StoredRecord, page_of_texts},
    error::{Error, Result},
    plan::Plan,
};

/// What an archive adds to each record in its list of changes.
static OBSERVED: [Field; 2] = [
    Field::micros("seen_at", "When the archive saw the change"),
    Field::text("change", "`new`, `changed` or `gone`"),
];

/// A record's text, identity and digest, and the values of the fields that were asked for.
type Stored = (String, String, String, Vec<Option<String>>);

/// Each record as an archive stores it: its text as the service sent it, its identity in the list, a
/// digest without the ignored fields, and the fields `values` as text.
#[pyfunction]
#[pyo3(name = "_record_texts")]
pub fn record_texts(
    py: Python<'_>,
    records: &Bound<'_, Records>,
    identity: Vec<String>,
    ignored: Vec<String>,
    values: Vec<String>,
) -> PyResult<Vec<Stored>> {
    let rows = records.get().rows();
    let fields = StoredFields { identity: &identity, ignored: &ignored, values: &values };
    let owned = |record: StoredRecord<'_>| {
        (record.text.to_owned(), record.identity, record.digest, record.values)
    };
    detach(py, || Ok(rows.to_stored(fields)?.into_iter().map(owned).collect()))
        .map_err(|error| raise(py, error))
}

/// The records of a call to the method with this name, made of stored texts. Checks the arguments as
/// the method does. Each of `texts` is any number of records, separated by commas. With `observed`,
/// the schema has what an archive adds to a change.
#[pyfunction]
#[pyo3(name = "_stored_records", signature = (method, arguments, texts, observed = false))]
pub fn stored_records<'py>(
    py: Python<'py>,
    method: &Bound<'py, PyAny>,
    arguments: Arguments<'py>,
    texts: Vec<PyBackedStr>,
    observed: bool,
) -> PyResult<Py<PyAny>> {
    let (endpoint, given) = endpoint_arguments(method, &arguments)?;
    let plan = Plan::new(&endpoint, &borrowed(&given)).map_err(|error| raise(py, error))?;
    let added: &[Field] = if observed { &OBSERVED } else { &[] };
    let fields = plan.fields.iter().chain(added).cloned().collect();
    let slice = |text: PyBackedStr| {
        let page = page_of_texts(&text)?;
        Ok(PageSlice { range: 0..page.len(), page: Arc::new(page), key: None })
    };
    let slices: Result<Vec<PageSlice>> = detach(py, || texts.into_iter().map(slice).collect());
    let rows = Rows::new(slices.map_err(|error| raise(py, error))?, fields);
    Records::from_rows(&Shapes::default())(py, rows)
}

/// A point in time in microseconds since 1970: the argument `name`, with the checks and errors of an
/// endpoint's times.
#[pyfunction]
#[pyo3(name = "_micros")]
pub fn micros(py: Python<'_>, name: &str, value: &Bound<'_, PyAny>) -> PyResult<i128> {
    const NAMES: [&str; 4] = ["at", "since", "start", "end"];
    let given = argument(name, value)?;
    let known = NAMES.into_iter().find(|known| *known == name).unwrap_or("time");
    match Parameter::query(known, ParameterKind::Time(TimeUnit::Micros), "").check(&given, |_| None)
    {
        Ok(EncodedValue::Integer(micros)) if micros <= i128::from(i64::MAX) => Ok(micros),
        Ok(_) => {
            Err(raise(py, Error::argument(name, &given.shown(), "a time before the year 292277")))
        }
        Err(error) => Err(raise(py, error)),
    }
}
