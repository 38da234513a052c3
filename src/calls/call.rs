//! A call of a client or a pager, which blocks in `Client` and is awaited in `AsyncClient`.

use std::future::Future;

use futures_util::{FutureExt, future::BoxFuture};

use super::{
    blocking::block_in,
    completion::{Completed, Finished, Startable},
    operation::Operation,
};
use crate::prelude::*;
use boardlot_client::http::{PoolSlot, Transport};

/// The mode of a client or pager: it returns results, or awaitables of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallMode {
    Sync,
    Async,
}

/// A call that has not started.
pub struct Call<T> {
    /// The method, for messages.
    name: String,
    start: Start<T>,
    finish: Finish<T>,
    /// The Python object that keeps alive what the core has weak references to.
    owner: Option<Py<PyAny>>,
}

/// Starts a call: at once, or at the first `await`.
pub type Start<T> = Box<dyn FnOnce(Python<'_>) -> PyResult<BoxFuture<'static, Result<T>>> + Send>;

/// Converts the result of a call, on the thread that receives it.
pub type Finish<T> = Box<dyn FnOnce(Python<'_>, T) -> PyResult<Py<PyAny>> + Send>;

impl CallMode {
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
                let (future, finish) = call.start(py)?;
                let value = block_in(py, slot, future, |_| Ok(()))?;
                finish(py, value).map(|object| object.into_bound(py))
            }
            CallMode::Async => Operation::awaitable(py, Box::new(call)),
        }
    }
}

impl<T: Send + 'static> Call<T> {
    pub fn new(
        name: impl Into<String>,
        future: impl Future<Output = Result<T>> + Send + 'static,
        finish: Finish<T>,
    ) -> Self {
        Call::deferred(name, Box::new(move |_| Ok(future.boxed())), finish)
    }

    /// A call whose future can only be made when it starts.
    pub fn deferred(name: impl Into<String>, start: Start<T>, finish: Finish<T>) -> Self {
        Call { name: name.into(), start, finish, owner: None }
    }

    #[must_use]
    pub fn owned_by(mut self, owner: Option<Py<PyAny>>) -> Self {
        self.owner = owner;
        self
    }

    /// Starts it for a thread that waits.
    pub fn start(self, py: Python<'_>) -> PyResult<(BoxFuture<'static, Result<T>>, Finish<T>)> {
        Ok(((self.start)(py)?, self.finish))
    }
}

impl<T: Send + 'static> Startable for Call<T> {
    fn start(self: Box<Self>, py: Python<'_>) -> PyResult<BoxFuture<'static, Finished>> {
        let (future, finish) = (*self).start(py)?;
        let finish = move |py: Python<'_>, value| finish(py, value).map(Completed::With);
        Ok(future.map(|result| Finished::new(result, finish)).boxed())
    }

    fn name(&self) -> String {
        self.name.clone()
    }

    fn owner(&self) -> Option<&Py<PyAny>> {
        self.owner.as_ref()
    }
}
