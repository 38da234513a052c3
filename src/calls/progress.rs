//! Progress bars: counted in Rust, drawn by `boardlot._support.progress` if tqdm is installed.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use super::{
    blocking::block_in,
    call::{Call, CallMode},
};
use crate::prelude::*;
use boardlot_client::extension::http::PoolSlot;

/// A progress bar for one call.
pub struct Progress<'a> {
    pub label: &'a str,
    pub unit: &'static str,
    /// The final number, if it is known yet.
    pub total: CountFn,
    pub count: Arc<AtomicU64>,
}

/// A number that the bar reads whenever it is drawn.
pub type CountFn = Box<dyn Fn() -> Option<u64> + Send + Sync>;

impl Progress<'_> {
    /// Runs a call with the bar.
    pub fn run<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        mode: CallMode,
        call: Call<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match mode {
            CallMode::Async => {
                let bar = self.bar(py)?;
                let awaitable = mode.run_shared(py, call)?;
                progress_module(py)?.invoke_method("watched", (awaitable, bar))
            }
            CallMode::Sync => {
                let Call { future, finish, .. } = call;
                let bar = self.bar(py)?.unbind();
                let draw = |py: Python<'_>| {
                    bar.bind(py).invoke_method(intern!(py, "draw"), ()).map(|_| ())
                };
                let outcome = block_in(py, PoolSlot::shared, future, draw);
                bar.bind(py).invoke_method(intern!(py, "close"), ())?;
                finish(py, outcome?).map(|object| object.into_bound(py))
            }
        }
    }

    fn bar<'py>(self, py: Python<'py>) -> PyResult<Bound<'py, PyAny>> {
        let count = Counter(Box::new(move || Some(self.count.load(Ordering::Relaxed))));
        let (total, count) = (Bound::new(py, Counter(self.total))?, Bound::new(py, count)?);
        progress_module(py)?.invoke_method("Bar", (self.label, self.unit, total, count))
    }
}

fn progress_module(py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
    import(py, "boardlot._support.progress")
}

/// A number of items, for Python.
#[pyclass(frozen, module = "boardlot._core")]
struct Counter(CountFn);

#[pymethods]
impl Counter {
    fn __call__(&self) -> Option<u64> {
        (self.0)()
    }
}
