//! Pages without HTTP, for the benches: how fast answers become records, and nothing else.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use pyo3::{prelude::*, pybacked::PyBackedBytes};

use super::{
    arguments::{Arguments, borrowed, endpoint_arguments},
    bridge::CallMode,
    errors::raise,
    pager::PagerBase,
    records::Records,
    shapes::Shapes,
};
use crate::{
    decode::{Page, PageSlice, Rows},
    error::{Error, Result},
    http::HttpResponse,
    pages::{Listing, Pages, Source},
    plan::Plan,
};

/// Reads the answers to one call of a client.
#[pyclass(frozen, module = "boardlot._core")]
pub struct Reader {
    plan: Plan,
    shapes: Shapes,
}

/// What the method of that name reads its answers by.
#[pyfunction]
#[pyo3(name = "_reader_of")]
pub fn reader_of<'py>(py: Python<'py>, name: &str, arguments: Arguments<'py>) -> PyResult<Reader> {
    let (endpoint, given) = endpoint_arguments(py, name, &arguments)?;
    let plan = Plan::new(endpoint, &borrowed(&given)).map_err(|error| raise(py, error))?;
    Ok(Reader { plan, shapes: Shapes::default() })
}

#[pymethods]
impl Reader {
    /// The records of an answer with this body.
    fn __call__(&self, py: Python<'_>, body: PyBackedBytes) -> PyResult<Py<PyAny>> {
        let answer = HttpResponse::new(Bytes::from_owner(body));
        let page = self.plan.parse(&answer).map_err(|error| raise(py, error))?;
        let slices = vec![PageSlice { range: 0..page.len(), page: Arc::new(page), key: None }];
        Records::from_rows(&self.shapes)(py, Rows::new(slices, self.plan.fields.clone()))
    }
}

/// A pager whose pages are answers with these bodies, in place of requests.
#[pyfunction]
#[pyo3(name = "_pager_of")]
pub fn pager_of<'py>(
    py: Python<'py>,
    name: &str,
    arguments: Arguments<'py>,
    bodies: Vec<PyBackedBytes>,
) -> PyResult<Bound<'py, PyAny>> {
    let (endpoint, given) = endpoint_arguments(py, name, &arguments)?;
    let source = Arc::new(Bodies { bodies, next: AtomicUsize::new(0) });
    let pages = Listing::new(endpoint, &borrowed(&given), None)
        .and_then(|listing| Pages::new(source, listing, None))
        .map_err(|error| raise(py, error))?;
    PagerBase::open(py, CallMode::Sync, pages, None)
}

#[derive(Debug)]
struct Bodies {
    bodies: Vec<PyBackedBytes>,
    next: AtomicUsize,
}

impl Source for Bodies {
    fn page<'a>(
        &'a self,
        listing: &'a Listing,
        _cursor: Option<&'a str>,
        _range: Option<(i64, i64)>,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        let body = self.bodies.get(self.next.fetch_add(1, Ordering::Relaxed));
        // A copy, as an answer from the network is memory of its own.
        let body = body.map(|body| Bytes::copy_from_slice(body));
        Box::pin(async move {
            let body = body.ok_or_else(|| Error::config("there are no more bodies"))?;
            listing.plan.parse(&HttpResponse::new(body))
        })
    }

    fn origin(&self) -> &str {
        ""
    }

    fn now_ms<'a>(
        &'a self,
        _listing: &'a Listing,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>> {
        Box::pin(async { Ok(0) })
    }
}
