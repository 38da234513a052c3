//! A call of a client or a pager, which blocks in `Client` and is awaited in `AsyncClient`.

use std::future::Future;

use futures_util::{FutureExt, future::BoxFuture};

use super::{
    awaited_call::{AwaitedCall, PythonResult},
    blocking::block_in,
};
use crate::prelude::*;
use boardlot_client::extension::http::{PoolSlot, Transport};

/// The mode of a client or pager: it returns results, or awaitables of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallMode {
    Sync,
    Async,
}

/// A call that has not started.
pub struct Call<T> {
    pub(super) future: BoxFuture<'static, Result<T>>,
    pub(super) finish: Finish<T>,
    /// The Python object that keeps alive the objects to which the core has weak references.
    owner: Option<Py<PyAny>>,
}

/// Converts the result of a call, on the thread that receives it.
pub type Finish<T> = Box<dyn FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send>;

impl CallMode {
    /// Returns `Async` for the mode that Python calls `"async"`, otherwise `Sync`.
    pub fn named(mode: &str) -> Self {
        if mode == "async" { CallMode::Async } else { CallMode::Sync }
    }

    /// Runs a call on the shared runtime: returns its result, or an awaitable of it.
    pub fn run_shared<T: Send + 'static>(
        self,
        py: Python<'_>,
        call: Call<T>,
    ) -> PyResult<Bound<'_, PyAny>> {
        self.run(py, PoolSlot::shared, call)
    }

    /// Runs a call that spawns no tasks: one that blocks drives its own connection.
    pub fn run_pooled<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        transport: &Transport,
        call: Call<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        self.run(py, || transport.slot(), call)
    }

    fn run<'py, T: Send + 'static>(
        self,
        py: Python<'py>,
        slot: impl FnOnce() -> Result<PoolSlot> + Send,
        call: Call<T>,
    ) -> PyResult<Bound<'py, PyAny>> {
        match self {
            CallMode::Sync => {
                let Call { future, finish, .. } = call;
                let value = block_in(py, slot, future, |_| Ok(()))?;
                finish(py, value).map(|object| object.into_bound(py))
            }
            CallMode::Async => call.awaited(py),
        }
    }
}

impl<T: Send + 'static> Call<T> {
    pub fn new(
        future: impl Future<Output = Result<T>> + Send + 'static,
        finish: Finish<T>,
    ) -> Self {
        Call { future: future.boxed(), finish, owner: None }
    }

    #[must_use]
    pub fn owned_by(mut self, owner: Option<Py<PyAny>>) -> Self {
        self.owner = owner;
        self
    }

    /// The call, to be awaited.
    fn awaited(self, py: Python<'_>) -> PyResult<Bound<'_, PyAny>> {
        let Call { future, finish, owner } = self;
        let work = future.map(|result| -> PythonResult {
            Box::new(move |py| result.or_raise(py).and_then(|value| finish(py, value)))
        });
        Ok(Bound::new(py, AwaitedCall::new(work.boxed(), owner))?.into_any())
    }
}
