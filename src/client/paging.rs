//! The `paging` argument of `paginate`, and the core of `DateRange`.

use crate::prelude::*;
use crate::{
    arguments::caller_arguments::{optional_text, text},
    interpreter::core_of::core_of,
};
use boardlot_client::extension::api::{DateRange, NextEnd, Paging};

/// The core of a `DateRange`.
#[pyclass(frozen, name = "_DateRange", module = "boardlot._core")]
pub struct DateRangeCore(pub DateRange);

#[pymethods]
impl DateRangeCore {
    #[new]
    fn new(
        py: Python<'_>,
        end: Option<&Bound<'_, PyAny>>,
        next: Option<&Bound<'_, PyAny>>,
        before: Option<&Bound<'_, PyAny>>,
        unique: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Self> {
        let range = DateRange::declared(
            optional_text("end", end)?,
            optional_text("next", next)?,
            optional_text("before", before)?,
            optional_text("unique", unique)?,
        );
        range
            .map(DateRangeCore)
            .map_err(|what| raise(py, Error::config(format!("DateRange {what}"))))
    }

    fn arguments<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        let DateRange { end, next, unique } = &self.0;
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
}

/// Returns the paging of an argument, or the mistake in the name of its cursor.
pub fn paging_argument(paging: &Bound<'_, PyAny>) -> PyResult<Result<Paging, String>> {
    if let Some(range) = core_of::<DateRangeCore>(paging)? {
        return Ok(Ok(Paging::DateRange(range.get().0.clone())));
    }
    if !paging.is_instance_of::<PyString>() {
        return Err(wrong_type("paging", paging, Paging::EXPECTED));
    }
    Ok(Paging::declared(&text("paging", paging)?))
}
