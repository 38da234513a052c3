//! For `boardlot.archive`: the texts of records, and records made of such texts.

use pyo3::{
    pybacked::PyBackedBytes,
    types::{PyBool, PyFloat},
};
use tokio::sync::oneshot::Receiver;

use super::endpoint_arguments::{Arguments, endpoint_arguments};
use crate::prelude::*;
use crate::{
    arguments::caller_arguments::argument,
    rows::{page_rows::Rows, row_builder_pool::RowBuilderPool},
};
use boardlot_client::extension::{
    api::{EncodedValue, Field, Parameter, ParameterKind, TimeUnit},
    decode::{
        PageSlice, Rows as CoreRows, StoredFill, StoredRecord, TypedFields, TypedRecord,
        TypedValue, kind_named, page_of_texts,
    },
    os::threads,
    pages::RecordsCall,
};

/// The fields that an archive adds to each record in its list of changes.
static OBSERVED: [Field; 2] = [
    Field::micros("seen_at", "When the archive saw the change"),
    Field::text("change", "`new`, `changed` or `gone`"),
];

/// Each record of a list as an archive stores it: its identity in the list, a digest without the
/// ignored fields, and its text as the service sent it.
#[pyfunction]
#[pyo3(name = "_record_texts")]
pub fn record_texts(
    py: Python<'_>,
    rows: &Bound<'_, Rows>,
    identity: Vec<String>,
    ignored: Vec<String>,
) -> PyResult<Vec<StoredRecord>> {
    let rows = rows.get().core();
    py.detach(|| rows.to_stored(&identity, &ignored)).or_raise(py)
}

/// Each fill as an archive stores it.
#[pyfunction]
#[pyo3(name = "_fill_rows")]
pub fn fill_rows(py: Python<'_>, rows: &Bound<'_, Rows>) -> PyResult<Vec<StoredFill>> {
    let rows = rows.get().core();
    py.detach(|| rows.to_stored_fills()).or_raise(py)
}

/// The typed values of stored records, which are JSON texts separated by commas: a tuple for each,
/// which begins with the names of the fields whose values are not of their kind (separated by
/// commas, `None` without any), in the order of the fields. Each of these has a name, and the kind
/// and unit of a schema.
#[pyfunction]
#[pyo3(name = "_typed_records")]
pub fn typed_records<'py>(
    py: Python<'py>,
    texts: &[u8],
    fields: Vec<(String, String, String)>,
) -> PyResult<Vec<Bound<'py, PyTuple>>> {
    let names: Vec<&str> = fields.iter().map(|(name, ..)| name.as_str()).collect();
    let kinds = fields.iter().map(|(name, kind, unit)| {
        let known = kind_named(kind, unit);
        known.map(|kind| (name.clone(), kind)).ok_or_else(|| {
            let shown = format!("'{}'", kind.escape_debug());
            raise(py, Error::argument("kind", &shown, "the kind of a field"))
        })
    });
    let known = TypedFields::new(kinds.collect::<PyResult<Vec<_>>>()?);
    let page = py.detach(|| page_of_texts(texts, None)).or_raise(py)?;
    let records = py.detach(|| known.records(&page)).or_raise(py)?;
    records.into_iter().map(|record| typed_tuple(py, &names, &record)).collect()
}

fn typed_tuple<'py>(
    py: Python<'py>,
    names: &[&str],
    record: &TypedRecord<'_>,
) -> PyResult<Bound<'py, PyTuple>> {
    let unconverted: Vec<&str> =
        record.unconverted.iter().filter_map(|index| names.get(*index).copied()).collect();
    let first = match unconverted.is_empty() {
        true => py.None().into_bound(py),
        false => PyString::new(py, &unconverted.join(",")).into_any(),
    };
    let values = record.values.iter().map(|value| {
        Ok(match value {
            TypedValue::Null => py.None().into_bound(py),
            TypedValue::Text(text) => PyString::new(py, text).into_any(),
            TypedValue::Integer(integer) => integer.into_pyobject(py)?.into_any(),
            TypedValue::Number(number) => PyFloat::new(py, *number).into_any(),
            TypedValue::Flag(flag) => PyBool::new(py, *flag).to_owned().into_any(),
        })
    });
    let values: Vec<Bound<'py, PyAny>> =
        std::iter::once(Ok(first)).chain(values).collect::<PyResult<_>>()?;
    PyTuple::new(py, values)
}

/// The rows of a call to the method with this name, made of stored texts. Checks the arguments as
/// the method does. `texts` is iterated over; each text has any number of records, separated by
/// commas, and is scanned while the next ones are read. With `observed`, the schema has the fields
/// that an archive adds to a change. `seen_at` is the time at which the records were seen, in
/// microseconds: a member of their metadata.
#[pyfunction]
#[pyo3(
    name = "_stored_records",
    signature = (method, arguments, texts, observed = false, seen_at = None)
)]
pub fn stored_records<'py>(
    py: Python<'py>,
    method: &Bound<'py, PyAny>,
    arguments: Arguments<'py>,
    texts: &Bound<'py, PyAny>,
    observed: bool,
    seen_at: Option<i64>,
) -> PyResult<Rows> {
    let (endpoint, given) = endpoint_arguments(method, &arguments)?;
    let plan = RecordsCall::new(&endpoint, &given).or_raise(py)?;
    let added: &[Field] = if observed { &OBSERVED } else { &[] };
    let fields = plan.fields.iter().chain(added).cloned().collect();
    let rows = CoreRows::new(scanned_pages(py, texts, seen_at)?, fields);
    Ok(Rows::new(rows, RowBuilderPool::default()))
}

fn scanned_pages(
    py: Python<'_>,
    texts: &Bound<'_, PyAny>,
    seen_at: Option<i64>,
) -> PyResult<Vec<PageSlice>> {
    let scan = move |text: &[u8]| page_of_texts(text, seen_at).map(PageSlice::from);
    let (mut slices, mut last, mut scanning) = (Vec::new(), None::<PyBackedBytes>, None);
    let outcome = texts.try_iter()?.try_for_each(|text| -> PyResult<()> {
        let Some(text) = last.replace(text?.extract()?) else { return Ok(()) };
        let next = threads::run_for(move || (scan(&text), text)).or_raise(py)?;
        let before = scanning.replace(next).map(|before| scanned(py, before));
        slices.extend(before.transpose()?);
        Ok(())
    });
    // The scan is waited for after an error, too.
    let before = scanning.map(|before| scanned(py, before)).transpose();
    outcome?;
    slices.extend(before?);
    // Most lists have only this text, which is scanned before another thread would have begun.
    let last = last.map(|text| py.detach(|| scan(&text)));
    slices.extend(last.transpose().or_raise(py)?);
    Ok(slices)
}

/// Waits for the records of a text that is being scanned on another thread. The text is freed on
/// this thread, which is attached.
fn scanned(
    py: Python<'_>,
    scanning: Receiver<(Result<PageSlice>, PyBackedBytes)>,
) -> PyResult<PageSlice> {
    let wait = || scanning.blocking_recv().map_err(|error| Error::aborted(&error));
    let (page, _text) = py.detach(wait).or_raise(py)?;
    page.or_raise(py)
}

/// A point in time in microseconds since 1970: the argument `name`, with the checks and errors of
/// an endpoint's times.
#[pyfunction]
#[pyo3(name = "_micros")]
pub fn micros(
    py: Python<'_>,
    #[pyo3(from_py_with = text_of::name)] name: &str,
    value: &Bound<'_, PyAny>,
) -> PyResult<i128> {
    const NAMES: [&str; 3] = ["at", "start", "end"];
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
