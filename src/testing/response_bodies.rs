//! Records and pages made from response bodies without HTTP, for benchmarks and tests.

use std::{
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use pyo3::pybacked::PyBackedBytes;

use crate::prelude::*;
use crate::{
    calls::call::CallMode,
    client::endpoint_arguments::{Arguments, endpoint_arguments},
    pager::pages::Pages,
    rows::{page_rows::Rows, row_builder_pool::RowBuilderPool},
};
use boardlot_client::extension::{
    decode::{Page, Rows as CoreRows},
    http::{HttpResponse, TimeRange},
    pages::{PagedCall, Pages as CorePages, RecordsCall, Source, Windows},
};

/// Parses the responses to a call.
#[pyclass(frozen, module = "boardlot._core")]
pub struct ResponseParser {
    plan: RecordsCall,
    builders: RowBuilderPool,
}

/// The parser of the method with this name.
#[pyfunction]
#[pyo3(name = "_response_parser")]
pub fn response_parser<'py>(
    py: Python<'py>,
    name: &Bound<'py, PyAny>,
    arguments: Arguments<'py>,
) -> PyResult<ResponseParser> {
    let (endpoint, given) = endpoint_arguments(name, &arguments)?;
    let plan = RecordsCall::new(&endpoint, &given).or_raise(py)?;
    Ok(ResponseParser { plan, builders: RowBuilderPool::default() })
}

#[pymethods]
impl ResponseParser {
    /// Parses the rows of a response with this body.
    fn __call__(&self, py: Python<'_>, body: PyBackedBytes) -> PyResult<Py<PyAny>> {
        let response = HttpResponse::new(Bytes::from_owner(body));
        let page = self.plan.parse_whole(&response).or_raise(py)?;
        let rows = CoreRows::new(vec![page.into()], self.plan.fields.clone());
        Rows::from_core(&self.builders)(py, rows)
    }
}

/// Makes pages that have these bodies, or copies of the bodies with `copied`, as a body from the
/// network has memory of its own. With `windows`, each window of the time range has an equal share
/// of the bodies, and the latest window has the first share.
#[pyfunction]
#[pyo3(name = "_pages_of_bodies", signature = (name, arguments, bodies, copied = false, windows = None))]
pub fn pages_of_bodies(
    py: Python<'_>,
    name: &Bound<'_, PyAny>,
    arguments: Arguments<'_>,
    bodies: Vec<PyBackedBytes>,
    copied: bool,
    windows: Option<u32>,
) -> PyResult<Pages> {
    let (endpoint, given) = endpoint_arguments(name, &arguments)?;
    let bodies: Vec<Bytes> = bodies.into_iter().map(Bytes::from_owner).collect();
    let count = windows.map_or(1, |windows| windows as usize);
    let share = bodies.len() / count.max(1);
    let next = (0..count).map(|window| AtomicUsize::new(window * share)).collect();
    let source = Arc::new(Bodies { bodies, copied, next });
    let windows = windows.map(|windows| Windows::Number(windows.into()));
    let pages = PagedCall::new(&endpoint, &given, windows)
        .and_then(|call| CorePages::new(source, call, None))
        .or_raise(py)?;
    Ok(Pages::new(CallMode::Sync, pages, None))
}

#[derive(Debug)]
struct Bodies {
    bodies: Vec<Bytes>,
    copied: bool,
    /// The index of the next body of each window.
    next: Vec<AtomicUsize>,
}

impl Bodies {
    /// Returns the next body of the window with this range.
    fn next(&self, listing: &PagedCall, range: Option<(i64, i64)>) -> Option<&Bytes> {
        let whole = listing.plan.request.time_range.as_ref().and_then(TimeRange::known);
        let window = match whole.zip(range) {
            // The range of a request is hardly longer than its window, so its middle identifies the
            // window.
            Some(((start, end), (from, until))) => {
                (end - from / 2 - until / 2) * self.next.len() as i64 / (end - start).max(1)
            }
            None => 0,
        };
        let next = self.next.get(usize::try_from(window).ok()?)?;
        self.bodies.get(next.fetch_add(1, Ordering::Relaxed))
    }
}

impl Source for Bodies {
    fn page<'a>(
        &'a self,
        listing: &'a PagedCall,
        _cursor: Option<&'a str>,
        range: Option<(i64, i64)>,
        _failed_attempts: &'a AtomicU64,
    ) -> Pin<Box<dyn Future<Output = Result<Page>> + Send + 'a>> {
        let body = self.next(listing, range);
        let body = match self.copied {
            true => body.map(|body| Bytes::copy_from_slice(body)),
            false => body.cloned(),
        };
        Box::pin(async move {
            let body = body.ok_or_else(|| Error::config("there are no more bodies"))?;
            listing.plan.parse(&HttpResponse::new(body))
        })
    }

    fn origin(&self) -> &str {
        ""
    }

    fn now<'a>(
        &'a self,
        _listing: &'a PagedCall,
    ) -> Pin<Box<dyn Future<Output = Result<i64>> + Send + 'a>> {
        Box::pin(async { Ok(0) })
    }
}
