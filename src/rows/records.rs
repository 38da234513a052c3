//! `Records`: a sequence of records, as dicts or typed columns.

use pyo3::exceptions::PyIndexError;

use super::{kept_dicts::KeptDicts, row_builder_pool::RowBuilderPool, web_types::register_encoder};
use crate::calls::call::Finish;
use crate::prelude::*;
use boardlot_client::decode::Rows;

/// A sequence of records, whose length is fixed.
///
/// `records[i]` and iteration return dicts with the service's own values, unchanged. Slices are
/// `Records`. It equals a list of the same dicts. `to_pandas()`, `to_polars()`, `to_arrow()` and
/// the Arrow PyCapsule interface return typed columns of the declared schema.
///
/// Each dict is made when it is first asked for, and kept: `records[i] is records[i]`. It is yours to
/// change. Every later access has the change: indices, slices, iteration, `==`, `to_dicts()` and
/// pickles. Columns, `select`, `as_type`, `to_dicts(typed=True)` and `to_json` are always the service's
/// own values. `+` and `*` return lists.
///
/// >>> records = client.dividends("HK.00700")
/// >>> len(records), records[0]["process"], records.meta["total_dividend_count"]
/// (21, 'Implementation', 21)
/// >>> records.index(records[1]), records.count(records[1])
/// (1, 1)
/// >>> for record in records[:2]:
/// ...     record["seen"] = True
/// >>> [record.pop("seen", False) for record in records[:3]]
/// [True, True, False]
/// >>> type(records + records).__name__, len(sum([records, records], []))
/// ('list', 42)
/// >>> records[:1].select("currency").to_json()
/// '[{"currency":"HKD"}]'
/// >>> list(records.select("currency", "ex_date")[0])
/// ['currency', 'ex_date']
/// >>> class Paid(NamedTuple):
/// ...     ex_date: str
/// ...     dividend_per_share: Decimal
/// >>> records.as_type(Paid)[0].dividend_per_share > 0
/// True
/// >>> type(records.to_dicts(typed=True)[0]["ex_date"]).__name__
/// 'date'
/// >>> records.to_pandas().shape, records.to_polars().shape, records.to_arrow().num_rows
/// ((21, 11), (21, 11), 21)
#[pyclass(frozen, sequence, generic, weakref, module = "boardlot._core")]
pub struct Records {
    pub(super) rows: Rows,
    pub(super) builders: RowBuilderPool,
    pub(super) kept: KeptDicts,
    pub(super) errors: Option<Py<PyDict>>,
}

impl Records {
    /// Returns a function that makes `Records` of rows, sharing their shape with other records of
    /// the same list.
    pub fn from_rows(builders: &RowBuilderPool) -> Finish<Rows> {
        let builders = builders.clone();
        Box::new(move |py, rows| {
            register_encoder(py)?;
            Ok(Py::new(py, Records::new(py, rows, builders, None))?.into_any())
        })
    }

    /// Records of `fetch_many`, with the keys that failed.
    pub fn with_errors(py: Python<'_>, rows: Rows, errors: Py<PyDict>) -> PyResult<Self> {
        register_encoder(py)?;
        Ok(Records::new(py, rows, RowBuilderPool::default(), Some(errors)))
    }

    pub fn new(
        py: Python<'_>,
        rows: Rows,
        builders: RowBuilderPool,
        errors: Option<Py<PyDict>>,
    ) -> Self {
        Records { rows, builders, kept: KeptDicts::new(py), errors }
    }

    /// The records that it shows.
    pub fn rows(&self) -> &Rows {
        &self.rows
    }

    pub fn builders(&self) -> &RowBuilderPool {
        &self.builders
    }

    pub fn kept(&self) -> &KeptDicts {
        &self.kept
    }

    pub fn errors_ref(&self, py: Python<'_>) -> Option<Py<PyDict>> {
        self.errors.as_ref().map(|errors| errors.clone_ref(py))
    }

    /// A part of the records, with the same dicts.
    pub fn part(&self, py: Python<'_>, rows: Rows) -> Self {
        let (builders, kept) = (self.builders.clone(), self.kept.shared(py));
        Records { rows, builders, kept, errors: self.errors_ref(py) }
    }

    pub fn dict<'py>(&self, py: Python<'py>, index: usize) -> PyResult<Bound<'py, PyAny>> {
        let row = self.rows.get(index).ok_or_else(out_of_range)?;
        self.kept.dict(py, &self.builders, self.rows.key_name(), row)
    }

    /// A new list of the dicts.
    pub fn list<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyList>> {
        self.kept.list(py, &self.builders, &self.rows)
    }
}

pub fn out_of_range() -> PyErr {
    PyIndexError::new_err("record index out of range")
}
