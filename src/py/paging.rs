//! The `paging` argument of `paginate`.

use ::http::Method;
use pyo3::prelude::*;

use super::errors::raise;
use crate::{
    api::{FirstPage, Place},
    error::Error,
    pages::{NextEnd, Style},
};

/// Paging backward by moving the end of a range of dates (service document, section 2.4).
///
/// `end` names the parameter that is moved. Its next value is read from `next`, a dotted place in
/// the answer (`"extra.next_time"`), or is the day before the earliest date in the records' field
/// `before` (`"data_date"`): give exactly one of the two. `pagination.has_more` ends the iteration.
#[pyclass(frozen, module = "boardlot._core")]
pub struct DateRange(crate::pages::DateRange);

#[pymethods]
impl DateRange {
    #[new]
    #[pyo3(signature = (end = "end", *, next = None, before = None))]
    fn new(py: Python<'_>, end: &str, next: Option<&str>, before: Option<&str>) -> PyResult<Self> {
        let next = match (next, before) {
            (Some(place), None) => NextEnd::At(place.split('.').map(str::to_owned).collect()),
            (None, Some(field)) => NextEnd::DayBefore(field.to_owned()),
            _ => {
                let text = "DateRange takes either next or before: where the next end comes from";
                return Err(raise(py, Error::config(text)));
            }
        };
        Ok(DateRange(crate::pages::DateRange { end: end.to_owned(), next }))
    }

    fn __repr__(&self) -> String {
        match &self.0.next {
            NextEnd::At(place) => {
                format!("DateRange('{}', next='{}')", self.0.end, place.join("."))
            }
            NextEnd::DayBefore(field) => format!("DateRange('{}', before='{field}')", self.0.end),
        }
    }
}

/// The style that the argument stands for; the cursor travels where the method has its parameters.
pub fn style(paging: &Bound<'_, PyAny>, method: &Method) -> PyResult<Style> {
    let place = if method == Method::GET { Place::Query } else { Place::Body };
    if let Ok(range) = paging.cast::<DateRange>() {
        return Ok(Style::DateRange(place, range.get().0.clone()));
    }
    match paging.extract::<&str>() {
        Ok("next_key") => Ok(Style::NextKey(place)),
        Ok("page_flag") => Ok(Style::PageFlag(place, FirstPage::Empty)),
        _ => Err(raise(
            paging.py(),
            Error::argument(
                "paging",
                &paging.repr()?.to_string(),
                "'next_key', 'page_flag' or a DateRange",
            ),
        )),
    }
}
