//! Pages without HTTP, for the benches: how fast answers become records, and nothing else.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use pyo3::{prelude::*, pybacked::PyBackedBytes, types::PyBytes};

use super::{
    bridge::Face,
    client::{Arguments, checked},
    errors::raise,
    pager::PagerBase,
    records::records,
};
use crate::{
    api::Argument,
    client::{Plan, listing},
    decode::{Page, Piece, Rows, open},
    error::{Error, Result},
    http::{Draft, Received},
    pages::{Listing, Pages, Source},
};

/// What the method of that name makes of an answer with this body.
#[pyfunction]
#[pyo3(name = "_page_of")]
pub fn page_of<'py>(
    py: Python<'py>,
    name: &str,
    arguments: Arguments<'py>,
    body: &Bound<'py, PyBytes>,
) -> PyResult<Py<PyAny>> {
    let (endpoint, given) = checked(py, name, &arguments)?;
    let page = || {
        let plan = Plan::new(endpoint, &borrowed(&given))?;
        let answer = Received::new(Bytes::copy_from_slice(body.as_bytes()));
        let page = open(plan.envelope, &plan.rows_at, &answer)?;
        let pieces = vec![Piece { range: 0..page.len(), page: Arc::new(page), key: None }];
        Ok(Rows::new(pieces, plan.fields))
    };
    records(py, page().map_err(|error| raise(py, error))?)
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
    let (endpoint, given) = checked(py, name, &arguments)?;
    let source = Arc::new(Bodies { bodies, next: AtomicUsize::new(0) });
    let pages = listing(endpoint, &borrowed(&given), None)
        .and_then(|listing| Pages::new(source, listing, None))
        .map_err(|error| raise(py, error))?;
    PagerBase::open(py, Face::Sync, pages)
}

fn borrowed(given: &[(String, Argument)]) -> Vec<(&str, Argument)> {
    given.iter().map(|(name, value)| (name.as_str(), value.clone())).collect()
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
        _draft: &'a Draft,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        let body = self.bodies.get(self.next.fetch_add(1, Ordering::Relaxed));
        // A copy, as an answer from the network is memory of its own.
        let body = body.map(|body| Bytes::copy_from_slice(body));
        Box::pin(async move {
            let body = body.ok_or_else(|| Error::config("there are no more bodies"))?;
            open(listing.envelope, &listing.rows_at, &Received::new(body))
        })
    }

    fn now_ms(&self, _listing: &Listing) -> i64 {
        0
    }
}
