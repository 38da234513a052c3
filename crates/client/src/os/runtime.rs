//! The tokio runtime of this process.

use std::{
    hash::RandomState,
    io,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use tokio::runtime::{Builder, Runtime};

use super::{entropy, process, simulated, threads};
use crate::error::{Delivery, Error, ErrorKind, Result};

/// Maximum number of worker threads. Sending, signing and scanning take less time than the one
/// thread that uses the responses, so more workers would only wake each other: on two cores, 16
/// workers cost a sixth more CPU for the same requests.
const WORKERS_MAX: usize = 4;

/// Returns the one tokio runtime of this process.
pub fn runtime() -> Result<Arc<Runtime>> {
    process::shared_or_make(|| {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        let workers = cores.min(WORKERS_MAX);
        // tokio panics if it cannot start a worker, and before that waits forever for the workers
        // that it has started.
        threads::check_room(workers)?;
        entropy::check()?;
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(workers).thread_name("boardlot").on_thread_start(|| {
            // Gets this thread's keys for hash tables now, because the system may refuse random
            // numbers later.
            let _ = RandomState::new();
        });
        // The resources may be gone by now.
        catch_unwind(AssertUnwindSafe(|| build(&mut builder)))
            .unwrap_or_else(|_| Err(threads::unavailable(&io::ErrorKind::WouldBlock.into())))
    })
}

/// Builds a runtime.
pub fn build(builder: &mut Builder) -> Result<Runtime> {
    builder.enable_all().build().map_err(|error| {
        let message = format!("no connection can be opened: {error}");
        Error::from(ErrorKind::Transport { message, sent: Delivery::NotSent }).caused_by(&error)
    })
}

/// Spawns a task on the runtime of the process: the task continues if the call that spawned it
/// ends.
pub fn spawn_shared(task: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    if simulated::is_on() {
        tokio::spawn(task);
    } else {
        runtime()?.spawn(task);
    }
    Ok(())
}
