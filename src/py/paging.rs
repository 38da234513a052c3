//! The `paging` argument of `paginate`.

use ::http::Method;
use pyo3::prelude::*;

use super::errors::raise;
use crate::{
    api::{FirstPage, ParameterLocation},
    error::Error,
    pages::{NextEnd, PagingStyle},
};

/// Paging backward by moving the end of a range of dates (service document, section 2.4).
///
/// `end` names the parameter that is moved. Its next value is read from `next`, a dotted place in
/// the response (`"extra.next_time"`), or is the day before the earliest date in the records' field
/// `before` (`"data_date"`): give exactly one of the two. `unique` names the field that identifies a
/// row: rows that the next page repeats are then dropped. `pagination.has_more` ends the iteration,
/// and so does a next end that lies before the `start` of the query or body.
#[pyclass(frozen, module = "boardlot._core")]
pub struct DateRange(crate::pages::DateRange);

#[pymethods]
impl DateRange {
    #[new]
    #[pyo3(signature = (end = "end", *, next = None, before = None, unique = None))]
    fn new(
        py: Python<'_>,
        end: &str,
        next: Option<&str>,
        before: Option<&str>,
        unique: Option<&str>,
    ) -> PyResult<Self> {
        let given = [Some(end), next, before, unique];
        if given.into_iter().flatten().any(str::is_empty) {
            let text = "a DateRange has an empty name; expected the name of a parameter or field";
            return Err(raise(py, Error::config(text)));
        }
        let next = match (next, before) {
            (Some(place), None) => NextEnd::At(place.split('.').map(str::to_owned).collect()),
            (None, Some(field)) => NextEnd::DayBefore(field.to_owned()),
            _ => {
                let text = "DateRange takes either next or before: where the next end comes from";
                return Err(raise(py, Error::config(text)));
            }
        };
        let (end, unique) = (end.to_owned(), unique.map(str::to_owned));
        Ok(DateRange(crate::pages::DateRange { end, next, unique }))
    }

    fn __repr__(&self) -> String {
        let crate::pages::DateRange { end, next, unique } = &self.0;
        let next = match next {
            NextEnd::At(place) => format!("next='{}'", place.join(".")),
            NextEnd::DayBefore(field) => format!("before='{field}'"),
        };
        let unique = unique.as_ref().map_or(String::new(), |field| format!(", unique='{field}'"));
        format!("DateRange('{end}', {next}{unique})")
    }
}

/// The style that the argument stands for; the cursor travels where the method has its parameters.
pub fn style(paging: &Bound<'_, PyAny>, method: &Method) -> PyResult<PagingStyle> {
    let place =
        if method == Method::GET { ParameterLocation::Query } else { ParameterLocation::Body };
    if let Ok(range) = paging.cast::<DateRange>() {
        return Ok(PagingStyle::DateRange(place, range.get().0.clone()));
    }
    match paging.extract::<&str>() {
        Ok("next_key") => Ok(PagingStyle::NextKey(place)),
        // Some endpoints want an empty cursor for the first page and some want none: the caller's
        // query or body says which.
        Ok("page_flag") => Ok(PagingStyle::PageFlag(place, FirstPage::Omitted)),
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
