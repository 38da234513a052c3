//! State that belongs to one process: after a fork the child makes its own.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use tokio::runtime::{Builder, Runtime};

use crate::error::{Error, Result};

static RUNTIME: PerProcess<Runtime> = PerProcess::new();

/// The one tokio runtime of this process.
pub fn runtime() -> Result<Arc<Runtime>> {
    RUNTIME.get_or_make(|| {
        Builder::new_multi_thread()
            .thread_name("boardlot")
            .enable_all()
            .build()
            .map_err(|error| Error::config(format!("no worker threads can be started: {error}")))
    })
}

/// The outcome of a future that runs on the runtime's own threads, so that whoever waits for it can
/// look for signals while it computes. It ends when nobody waits any more.
pub async fn spawned<T: Send + 'static>(
    future: impl Future<Output = Result<T>> + Send + 'static,
) -> Result<T> {
    /// A forked child has the handle of a task that does not run there.
    struct Task<T>(tokio::task::JoinHandle<T>, u32);
    impl<T> Drop for Task<T> {
        fn drop(&mut self) {
            if self.1 == std::process::id() {
                self.0.abort();
            }
        }
    }
    let mut task = Task(tokio::spawn(future), std::process::id());
    (&mut task.0).await.map_err(|error| Error::aborted(&error))?
}

/// A value that is made on first use in each process. Reading it takes no lock, since a lock held
/// by another thread at the moment of a fork would stay locked in the child for good.
pub struct PerProcess<T>(ArcSwapOption<(u32, Arc<T>)>);

impl<T: Send + Sync + 'static> PerProcess<T> {
    pub const fn new() -> Self {
        PerProcess(ArcSwapOption::const_empty())
    }

    /// The value of this process, if it was made.
    pub fn get(&self) -> Option<Arc<T>> {
        let entry = self.0.load();
        entry.as_ref().filter(|entry| entry.0 == std::process::id()).map(|entry| entry.1.clone())
    }

    /// Lets go of this process's value; those who hold it keep it.
    pub fn forget(&self) {
        if self.get().is_some() {
            self.0.store(None);
        }
    }

    pub fn get_or_make(&self, make: impl FnOnce() -> Result<T>) -> Result<Arc<T>> {
        if let Some(value) = self.get() {
            return Ok(value);
        }
        let process = std::process::id();
        let made = Arc::new((process, Arc::new(make()?)));
        let winner = loop {
            let current = self.0.load_full();
            if let Some(entry) = &current
                && entry.0 == process
            {
                // Another thread was faster. Dropping a runtime waits for its threads, which a task
                // must not do.
                let entry = entry.clone();
                let loser = std::thread::Builder::new();
                let _ = loser.spawn(move || drop(made));
                break entry;
            }
            let before = self.0.compare_and_swap(&current, Some(made.clone()));
            if arc_ptr(before.as_ref()) == arc_ptr(current.as_ref()) {
                // The parent's value: its threads do not exist here, so dropping it could wait for
                // them for ever. It is leaked once a fork.
                if let Some(parent) = current {
                    std::mem::forget(parent);
                }
                break made;
            }
        };
        Ok(winner.1.clone())
    }
}

impl<T: Send + Sync + 'static> Default for PerProcess<T> {
    fn default() -> Self {
        Self::new()
    }
}

impl<T> std::fmt::Debug for PerProcess<T> {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        out.write_str("PerProcess(..)")
    }
}

fn arc_ptr<T>(arc: Option<&Arc<T>>) -> *const T {
    arc.map_or(std::ptr::null(), Arc::as_ptr)
}
