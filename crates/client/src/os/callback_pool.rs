//! Threads for code of the caller's, such as hooks and token stores, and for frame libraries.
//!
//! Such code takes as long as it likes, and may wait for calls of its own, which need threads for their
//! hooks. A pool of a fixed size that is full of hooks which wait for hooks would wait forever, and so would
//! everything else that the pool is for, such as looking up names. So the runtime's own pool runs none of it,
//! and a callback waits at most a tenth of a second for a thread.

use std::{sync::Arc, time::Duration};

use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
    task::JoinHandle,
    time::timeout,
};

use crate::{
    error::{Error, Result},
    os::{
        origin::{origin, waited_for_by},
        process, simulated,
    },
};

/// The number of callbacks that run at once, unless they take long. More would only wait for each
/// other.
const THREADS: usize = 64;
/// The time that a callback waits for others to end. After that it gets a thread of its own.
const WAIT_MAX: Duration = Duration::from_millis(100);
/// In effect no limit.
const THREADS_MAX: usize = 1 << 20;

#[derive(Debug)]
struct CallbackPool {
    /// Only its blocking threads are used: no task is ever spawned on it.
    runtime: Runtime,
    free: Arc<Semaphore>,
}

/// Runs a callback on a thread of the pool.
pub async fn run<T: Send + 'static>(callback: impl FnOnce() -> T + Send + 'static) -> Result<T> {
    start(Box::new(callback)).await?.await.map_err(|error| Error::aborted(&error))
}

/// Starts a callback on a thread of the pool. Boxed, so that tokio's code for a task is compiled once for
/// each type of result and not for each callback.
pub async fn start<T: Send + 'static>(
    callback: Box<dyn FnOnce() -> T + Send>,
) -> Result<JoinHandle<T>> {
    if simulated::is_on() {
        // On the paused runtime: its time waits for the callback.
        return Ok(tokio::task::spawn_blocking(callback));
    }
    let pool = pool()?;
    let free = timeout(WAIT_MAX, pool.free.clone().acquire_owned()).await;
    let origin = origin();
    Ok(pool.runtime.spawn_blocking(move || {
        let _free = free;
        waited_for_by(&origin, callback)
    }))
}

/// Runs a callback that nobody waits for.
pub fn spawn(callback: impl FnOnce() + Send + 'static) {
    if let Ok(pool) = pool() {
        pool.runtime.spawn_blocking(callback);
    }
}

fn pool() -> Result<Arc<CallbackPool>> {
    process::shared_or_make(|| {
        let runtime = Builder::new_current_thread()
            .max_blocking_threads(THREADS_MAX)
            .thread_name("boardlot-callback")
            .build()
            .map_err(|error| Error::config(format!("threads cannot be started: {error}")))?;
        Ok(CallbackPool { runtime, free: Arc::new(Semaphore::new(THREADS)) })
    })
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
