//! Time ranges as Python objects, and `_time_range`, for `boardlot.dask`, which splits one into
//! partitions.

use boardlot_gated::gated;
use pyo3::prelude::*;

use super::dates::DateClasses;
use crate::{
    pages::time_range,
    py::{
        client::endpoint_arguments::{Arguments, endpoint_arguments},
        interpreter::errors::raise,
    },
};

/// The start and the end of a range.
pub type Datetimes<'py> = (Bound<'py, PyAny>, Bound<'py, PyAny>);

/// The aware UTC datetimes of a range in microseconds since 1970.
pub fn datetimes<'py>(
    py: Python<'py>,
    range: Option<(i64, i64)>,
) -> PyResult<Option<Datetimes<'py>>> {
    // An end that the service computes may be in the year 10000, which Python's dates do not reach.
    const LAST: i64 = 253_402_300_799_999_999;
    let classes = DateClasses::get(py)?;
    let datetime = |micros: i64| classes.datetime_of(py, micros.min(LAST));
    range.map(|(start, end)| Ok((datetime(start)?, datetime(end)?))).transpose()
}

/// The start and end of the range that a method would page through, in microseconds since 1970. Checks
/// the arguments as the method does, and sends nothing. A range without an end reaches until
/// `now_micros`; without that the result is None.
#[gated]
#[pyfunction]
#[pyo3(name = "_time_range", signature = (method, arguments, now_micros = None))]
pub fn time_range_of<'py>(
    py: Python<'py>,
    method: &Bound<'py, PyAny>,
    arguments: Arguments<'py>,
    now_micros: Option<i64>,
) -> PyResult<Option<(i64, i64)>> {
    let (endpoint, arguments) = endpoint_arguments(method, &arguments)?;
    time_range(&endpoint, &arguments, now_micros).map_err(|error| raise(py, error))
}
