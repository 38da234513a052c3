//! A page of a list, for `Pager` and `AsyncPager`.

use std::sync::Arc;

use crate::interpreter::errors::exception;
use crate::prelude::*;
use boardlot_client::extension::pages::ListedPage;

/// A page, with its number of rows.
#[pyclass(frozen, name = "_Page", module = "boardlot._core")]
pub struct Page(pub(super) Arc<ListedPage>);

#[pymethods]
impl Page {
    fn __len__(&self) -> usize {
        self.0.len()
    }

    /// The number of the page's rows that were received before a checkpoint.
    #[getter]
    fn first(&self) -> usize {
        self.0.first()
    }

    /// True if the service says that no page follows this one.
    #[getter]
    fn is_last(&self) -> bool {
        self.0.is_last()
    }

    /// The keys that have failed up to the end of this page, with their errors.
    #[getter]
    fn errors<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyDict>> {
        let errors = PyDict::new(py);
        for failure in self.0.failures() {
            errors.set_item(&*failure.key, exception(py, &failure.error)?)?;
        }
        Ok(errors)
    }
}
