//! The `paging` argument of `paginate`.

use crate::arguments::caller_arguments::{no_more, optional_text, text};
use crate::prelude::*;
use boardlot_client::api::{NextEnd, Paging};

/// Pages backward by moving the end of a date range.
///
/// `end` is the name of the parameter to move. Its next value is read from `next`, a dotted path in the
/// response such as `"extra.next_time"`, or it is the day before the earliest date in the records' field
/// `before`, such as `"data_date"`. Pass exactly one of the two. With `before`, if a page ends within a day,
/// the rest of that day is skipped without an error: use it only for a list that has one row a day, or whose
/// pages end with whole days. `unique` is the name of the field that identifies a row, so that rows repeated
/// on the next page can be dropped. The iteration ends if `pagination.has_more` is false, or if the next end
/// is before the `start` of the query or body. Raises `ConfigError` for a name or path that cannot be used.
///
/// >>> bl.DateRange(next="extra.next_time", unique="time")
/// DateRange('end', next='extra.next_time', unique='time')
#[pyclass(frozen, eq, hash, module = "boardlot")]
#[derive(PartialEq, Eq, Hash)]
pub struct DateRange(pub boardlot_client::api::DateRange);

#[pymethods]
impl DateRange {
    #[new]
    #[pyo3(
        signature = (end = None, *more, next = None, before = None, unique = None, **others),
        text_signature = "(end='end', *, next=None, before=None, unique=None)"
    )]
    fn new(
        py: Python<'_>,
        end: Option<&Bound<'_, PyAny>>,
        more: &Bound<'_, PyTuple>,
        next: Option<&Bound<'_, PyAny>>,
        before: Option<&Bound<'_, PyAny>>,
        unique: Option<&Bound<'_, PyAny>>,
        others: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        no_more(py, "DateRange", more, others)?;
        let range = boardlot_client::api::DateRange::declared(
            optional_text("end", end)?,
            optional_text("next", next)?,
            optional_text("before", before)?,
            optional_text("unique", unique)?,
        );
        range.map(DateRange).map_err(|what| raise(py, Error::config(format!("DateRange {what}"))))
    }

    fn __getnewargs_ex__<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let boardlot_client::api::DateRange { end, next, unique } = &self.0;
        let named = PyDict::new(py);
        match next {
            NextEnd::At(place) => named.set_item("next", place.join("."))?,
            NextEnd::DayBefore(field) => named.set_item("before", field)?,
        }
        if let Some(field) = unique {
            named.set_item("unique", field)?;
        }
        ((end,), named).into_pyobject(py)
    }

    fn __repr__(&self) -> String {
        self.0.to_string()
    }
}

/// The paging of an argument, or what is wrong with the name of its cursor.
pub fn paging_argument(paging: &Bound<'_, PyAny>) -> PyResult<Result<Paging, String>> {
    if let Ok(range) = paging.cast::<DateRange>() {
        return Ok(Ok(Paging::DateRange(range.get().0.clone())));
    }
    if !paging.is_instance_of::<PyString>() {
        return Err(wrong_type("paging", paging, Paging::EXPECTED));
    }
    Ok(Paging::declared(&text("paging", paging)?))
}
