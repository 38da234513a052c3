//! The rows after a position in a list as one result: `Records`, or a frame whose columns are built
//! page by page.

use std::sync::{Arc, atomic::AtomicU64};

use futures_util::FutureExt;

use super::{page::Page, row_view::RowView};
use crate::calls::{
    call::{Call, CallMode, Finish},
    progress::{CountFn, Progress},
};
use crate::prelude::*;
use boardlot_client::extension::{
    os::task::AbortOnDrop,
    pages::{CheckedSink, Limits, PagePosition, Pages as CorePages, Sink},
};

/// The pages to collect, the position and the kind of the result.
pub struct Collecting {
    pub core: Arc<CorePages>,
    pub mode: CallMode,
    /// The Python object that keeps alive the objects to which the core has weak references.
    pub owner: Option<Py<PyAny>>,
    pub from: PagePosition,
    pub limits: Limits,
    /// True if a bar is shown.
    pub progress: bool,
}

impl Collecting {
    /// Collects rows in sinks. `convert` makes a value of them in the runtime, and `finish` makes
    /// the Python object.
    pub fn collect<'py, S, T, F>(
        self,
        py: Python<'py>,
        view: &Bound<'py, RowView>,
        sink: impl Fn() -> S + Send + Sync + 'static,
        convert: impl FnOnce(Vec<S>) -> F + Send + 'static,
        finish: Finish<T>,
    ) -> PyResult<Bound<'py, PyAny>>
    where
        S: Sink + Send + 'static,
        T: Send + 'static,
        F: Future<Output = Result<T>> + Send,
    {
        let Collecting { core, mode, owner, from, limits, progress } = self;
        let count = Arc::new(AtomicU64::new(0));
        let counted = count.clone();
        let total = progress.then(|| expected_rows(&core, &from, limits));
        let (pages, names) = (core.clone(), view.get().undeclared().cloned());
        let collected = async move {
            let sink = || CheckedSink { sink: sink(), names: names.clone() };
            let (sinks, end) = pages.collect(&from, limits, &count, sink).await?;
            let sinks = sinks.into_iter().map(|checked| checked.sink).collect();
            let value = convert(sinks).await;
            Ok((value.map_err(|error| pages.with_checkpoint(error, &from))?, end))
        };
        // On the runtime's threads, so that Ctrl-C need not wait while large pages are parsed.
        let collected = async move { AbortOnDrop::spawn(collected.boxed()).join().await };
        let finish = move |py: Python<'_>, (value, end): (T, PagePosition)| {
            let object = finish(py, value)?;
            let row = end.row;
            Ok((object, end.page.map(Page), row).into_pyobject(py)?.unbind().into_any())
        };
        let label = core.listing().label();
        let call = Call::new(collected, Box::new(finish)).owned_by(owner);
        match total {
            Some(total) => {
                Progress { label, unit: "rows", total, count: counted }.run(py, mode, call)
            }
            None => mode.run_shared(py, call),
        }
    }
}

/// Counts the rows that a call with these limits will return, once the service has reported the
/// total.
///
/// From the middle of a list, the total is not the number of remaining rows, which a cursor does
/// not tell.
fn expected_rows(core: &Arc<CorePages>, from: &PagePosition, limits: Limits) -> CountFn {
    let core = core.clone();
    let position = core.position(from);
    let received = position.cursor.is_none().then_some(position.row as u64);
    let most = limits.items.map(|limit| limit as u64);
    let is_whole = limits.pages.is_none();
    Box::new(move || {
        let total = core.total().filter(|_| is_whole).and_then(|total| u64::try_from(total).ok());
        let rest = total.zip(received).map(|(total, received)| total.saturating_sub(received));
        most.into_iter().chain(rest).min()
    })
}
