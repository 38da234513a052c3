//! `_time_range`, for `boardlot.dask`, which splits a range into partitions.

use super::endpoint_arguments::{Arguments, endpoint_arguments, warn_of_end_date};
use crate::prelude::*;
use boardlot_client::extension::pages::time_range;

/// The start and end of the range that a method would page through, in microseconds since 1970.
/// Checks the arguments as the method does, and sends nothing. A range without an end reaches until
/// `now_micros`; without that the result is None.
#[pyfunction]
#[pyo3(name = "_time_range", signature = (method, arguments, now_micros = None))]
pub fn time_range_of<'py>(
    py: Python<'py>,
    method: &Bound<'py, PyAny>,
    arguments: Arguments<'py>,
    now_micros: Option<i64>,
) -> PyResult<Option<(i64, i64)>> {
    let (endpoint, checked) = endpoint_arguments(method, &arguments)?;
    let range = time_range(&endpoint, &checked, now_micros).or_raise(py)?;
    warn_of_end_date(&endpoint, &arguments).map(|()| range)
}
