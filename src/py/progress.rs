//! Progress bars: counted in Rust, drawn by `boardlot.results.progress` where tqdm is installed.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use pyo3::prelude::*;

use super::fork_safe_cell::intern;
use super::{
    bridge::{Call, CallMode, block},
    shutdown_gate,
};

/// A bar that may be shown while an operation runs.
pub struct Progress<'a> {
    pub shown: bool,
    pub label: &'a str,
    pub unit: &'static str,
    pub total: Option<usize>,
    pub count: Arc<AtomicU64>,
}

impl Progress<'_> {
    /// Runs an operation under the bar.
    pub fn run<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        mode: CallMode,
        call: Call<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if !self.shown {
            return mode.run(py, call);
        }
        let _inside = shutdown_gate::enter(py);
        let module = py.import("boardlot.results.progress")?;
        let count = Bound::new(py, Counter(self.count.clone()))?;
        let bar = module.call_method1("Bar", (self.label, self.unit, self.total, count))?;
        match mode {
            CallMode::Async => {
                let awaitable = mode.run(py, call)?;
                module.call_method1("watched", (awaitable, bar))
            }
            CallMode::Sync => {
                let bar = bar.unbind();
                let draw = |py: Python<'_>| bar.call_method0(py, intern!(py, "draw")).map(|_| ());
                let outcome = block(py, call.future, draw);
                bar.call_method0(py, intern!(py, "close"))?;
                (call.finish)(py, outcome?).map(|object| object.into_bound(py))
            }
        }
    }
}

/// How far it is: called by the bar.
#[pyclass(frozen, module = "boardlot._core")]
struct Counter(Arc<AtomicU64>);

#[pymethods]
impl Counter {
    fn __call__(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
