//! The tokio runtime of this process.

use std::{
    io,
    num::NonZero,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::Arc,
};

use tokio::runtime::{Builder, Runtime};

use super::{process, simulated};
use crate::error::{Delivery, ErrorKind, Result};

/// The most worker threads. Sending, signing and scanning take less time than the one thread that uses the
/// responses, so more workers would only wake each other: 16 workers on two cores cost a sixth more CPU for
/// the same requests.
const WORKERS_MAX: usize = 4;

/// The one tokio runtime of this process.
pub fn runtime() -> Result<Arc<Runtime>> {
    process::shared_or_make(|| {
        let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
        build(
            Builder::new_multi_thread()
                .worker_threads(cores.min(WORKERS_MAX))
                .thread_name("boardlot"),
        )
    })
}

/// Builds a runtime.
pub fn build(builder: &mut Builder) -> Result<Runtime> {
    // tokio panics if it cannot start a worker thread.
    let built = catch_unwind(AssertUnwindSafe(|| builder.enable_all().build()));
    built.unwrap_or_else(|_| Err(io::Error::other("no thread can be started"))).map_err(|error| {
        let message = format!("no connection can be opened: {error}");
        ErrorKind::Transport { message, sent: Delivery::NotSent }.into()
    })
}

/// Spawns a task on the runtime of the process: it goes on if the call that spawns it ends.
pub fn spawn_shared(task: impl Future<Output = ()> + Send + 'static) -> Result<()> {
    if simulated::is_on() {
        tokio::spawn(task);
    } else {
        runtime()?.spawn(task);
    }
    Ok(())
}
