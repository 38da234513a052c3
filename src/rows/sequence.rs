//! Records as a sequence: their items, slices and sums.

use pyo3::{
    exceptions::{PyOverflowError, PyTypeError},
    types::PySlice,
};

use super::{
    missing_attribute::no_index,
    records::{Records, out_of_range},
};
use crate::prelude::*;

/// The dict at an index, or the records of a slice.
pub fn item<'py>(
    records: &Records,
    py: Python<'py>,
    index: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    if let Ok(slice) = index.cast::<PySlice>() {
        let indices = slice.indices(isize::try_from(records.rows().len())?)?;
        let (start, step) = (usize::try_from(indices.start).unwrap_or(0), indices.step);
        let records = if step == 1 || indices.slicelength == 0 {
            records.part(py, records.rows().slice(start, start + indices.slicelength))
        } else {
            let index =
                |number: usize| start.wrapping_add_signed(step.wrapping_mul(number as isize));
            take(records, py, (0..indices.slicelength).map(index))?
        };
        return Ok(records.into_pyobject(py)?.into_any());
    }
    let index: isize = index.extract().map_err(|error: PyErr| match error {
        error if error.is_instance_of::<PyOverflowError>(py) => out_of_range(),
        error if error.is_instance_of::<PyTypeError>(py) => no_index(index),
        error => error,
    })?;
    let length = isize::try_from(records.rows().len())?;
    let index = if index < 0 { index + length } else { index };
    match usize::try_from(index) {
        Ok(index) => records.dict(py, index),
        Err(_) => Err(out_of_range()),
    }
}

/// The records at these indices.
pub fn take(
    records: &Records,
    py: Python<'_>,
    indices: impl Iterator<Item = usize>,
) -> PyResult<Records> {
    let mut slices = Vec::with_capacity(indices.size_hint().0);
    for index in indices {
        if index >= records.rows().len() {
            return Err(out_of_range());
        }
        slices.extend_from_slice(records.rows().slice(index, index + 1).slices());
    }
    Ok(records.part(py, records.rows().with_slices(slices)))
}

/// The dicts of records, or a list itself.
pub fn list_of<'py>(object: &Bound<'py, PyAny>) -> PyResult<Option<Bound<'py, PyList>>> {
    match object.cast::<Records>() {
        Ok(records) => records.get().list(object.py()).map(Some),
        Err(_) => Ok(object.cast::<PyList>().ok().cloned()),
    }
}

/// A new list of the items of two sequences, each records or a list.
pub fn sum<'py>(
    left: &Bound<'py, PyAny>,
    right: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    match (list_of(left)?, list_of(right)?) {
        (Some(left), Some(right)) => Ok(left.as_sequence().concat(right.as_sequence())?.into_any()),
        _ => Ok(left.py().NotImplemented().into_bound(left.py())),
    }
}
