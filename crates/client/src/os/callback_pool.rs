//! Threads for the caller's own code, such as hooks and token stores, and for frame libraries.
//!
//! Such code may run for any time, and may wait for calls of its own, which need threads for their
//! hooks. A pool of a fixed size that is full of hooks waiting for hooks would wait forever, and so
//! would all other work of the pool, such as looking up names. The runtime's own pool therefore
//! runs no callbacks, and a callback waits at most a tenth of a second for a thread.

use std::{sync::Arc, time::Duration};

use futures_util::future::BoxFuture;
use tokio::{sync::Semaphore, time::timeout};

use super::threads;
use crate::{
    error::{Error, Result},
    os::{
        origin::{origin, waited_for_by},
        process, simulated,
    },
};

/// Number of callbacks that run at once, unless they take long. More would only wait for each
/// other.
const THREADS: usize = 64;
/// Time that a callback waits for others to end. After that it gets a thread of its own.
const WAIT_MAX: Duration = Duration::from_millis(100);

/// Permits for the callbacks that may begin at once.
#[derive(Debug)]
struct Free(Arc<Semaphore>);

impl Default for Free {
    fn default() -> Self {
        Free(Arc::new(Semaphore::new(THREADS)))
    }
}

/// Runs a callback on a thread of the pool.
pub async fn run<T: Send + 'static>(callback: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    start(Box::new(callback)).await?.await
}

/// Starts a callback on a thread of the pool; its end can be waited for. It is boxed, so that the
/// code is compiled once for each type of result and not for each callback.
pub async fn start<T: Send + 'static>(
    callback: Box<dyn FnOnce() -> T + Send>,
) -> Result<BoxFuture<'static, Result<T>>> {
    if simulated::is_on() {
        // On the paused runtime of a simulation, time waits for the callback.
        let task = tokio::task::spawn_blocking(callback);
        return Ok(Box::pin(async { task.await.map_err(|error| Error::aborted(&error)) }));
    }
    let free = process::shared::<Free>()?;
    let free = timeout(WAIT_MAX, free.0.clone().acquire_owned()).await;
    let origin = origin();
    let outcome = threads::run_for(move || {
        let _free = free;
        waited_for_by(&origin, callback)
    })?;
    Ok(Box::pin(async { outcome.await.map_err(|_| Error::aborted(&"its callback panicked")) }))
}

/// Runs a callback that nobody waits for, or drops it if there is no thread for it.
pub fn spawn(callback: impl FnOnce() + Send + 'static) {
    let _ = threads::run(Box::new(callback));
}

#[cfg(test)]
mod tests {
    use std::sync::Barrier;

    use futures_util::future::join_all;

    use super::*;

    #[tokio::test]
    async fn a_thousand_callbacks_that_wait_for_each_other_all_end() {
        let together = Arc::new(Barrier::new(1_000));
        let callbacks = (0..1_000).map(|_| {
            let together = together.clone();
            run(move || together.wait().is_leader())
        });
        assert!(join_all(callbacks).await.iter().all(Result::is_ok));
    }
}
