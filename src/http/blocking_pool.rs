//! Lanes: where a call that blocks drives its own connection.
//!
//! On the shared runtime such a call hands its request to other threads and is woken by them: five
//! switches of threads, which cost as much as the request itself. So it borrows a lane: a runtime
//! that runs only while a call waits in it, with an HTTP client whose connections live on it.
//!
//! What others wait for must not be started there: it would stand still from the end of the call on.

use std::{
    future::Future,
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use tokio::{
    runtime::{Builder, Runtime},
    task::yield_now,
};

use crate::{
    error::{Error, Result},
    process::runtime,
};

/// How many blocking calls of one client have a lane at once: each costs four file descriptors.
const MOST: usize = 32;
/// A lane that nobody needed for so long is closed, with its connections.
const IDLE_MAX: Duration = Duration::from_secs(90);

tokio::task_local! {
    static OWN_CLIENT: reqwest::Client;
}

/// The HTTP client of the lane that this runs in; none on the shared runtime.
pub fn own_client() -> Option<reqwest::Client> {
    OWN_CLIENT.try_with(Clone::clone).ok()
}

/// Where a blocking call waits.
#[derive(Debug)]
pub enum PoolSlot {
    Own(LocalRuntime, Arc<BlockingPool>),
    Shared(Arc<Runtime>),
}

/// A runtime that stands still until somebody waits in it.
#[derive(Debug)]
pub struct LocalRuntime {
    runtime: Runtime,
    client: reqwest::Client,
    used: Instant,
}

/// The lanes of one client in one process.
#[derive(Debug)]
pub struct BlockingPool {
    /// The last was used last.
    idle: Mutex<Vec<LocalRuntime>>,
    /// How many there are, in use or not.
    count: AtomicUsize,
    process: u32,
}

impl PoolSlot {
    pub fn shared() -> Result<PoolSlot> {
        runtime().map(PoolSlot::Shared)
    }

    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match self {
            PoolSlot::Own(LocalRuntime { runtime, client, .. }, _) => {
                runtime.block_on(OWN_CLIENT.scope(client.clone(), future))
            }
            PoolSlot::Shared(runtime) => runtime.block_on(future),
        }
    }

    /// Ends the call. A request that was given up midway would stay open until the next call comes:
    /// unless all is `settled`, the connection is closed now.
    pub fn leave(self, settled: bool) {
        match self {
            PoolSlot::Own(engine, blocking_pool) if settled => blocking_pool.give_back(engine),
            PoolSlot::Own(engine, blocking_pool) => blocking_pool.close(engine),
            PoolSlot::Shared(_) => {}
        }
    }
}

impl LocalRuntime {
    fn new(client: reqwest::Client) -> Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::config(format!("no connection can be driven: {error}")))?;
        Ok(LocalRuntime { runtime, client, used: Instant::now() })
    }

    /// Takes notice of what happened meanwhile, lest a request goes into a connection that the other
    /// end has closed: first the runtime does, then the connections.
    fn catch_up(&self) {
        self.runtime.block_on(async {
            yield_now().await;
            yield_now().await;
        });
    }
}

impl BlockingPool {
    pub fn new() -> Arc<Self> {
        Arc::new(BlockingPool {
            idle: Mutex::default(),
            count: AtomicUsize::new(0),
            process: std::process::id(),
        })
    }

    /// An idle lane, or a new one around an HTTP client; the shared runtime where there are enough.
    pub fn borrow(
        self: &Arc<Self>,
        client: impl FnOnce() -> Result<reqwest::Client>,
    ) -> Result<PoolSlot> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let engine = match idle {
            Some(engine) => engine,
            None if self.count.load(Ordering::Relaxed) >= MOST => return PoolSlot::shared(),
            None => {
                let engine = LocalRuntime::new(client()?)?;
                self.count.fetch_add(1, Ordering::Relaxed);
                engine
            }
        };
        engine.catch_up();
        Ok(PoolSlot::Own(engine, self.clone()))
    }

    fn give_back(&self, mut engine: LocalRuntime) {
        engine.used = Instant::now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(engine);
        let oldest = idle.first().is_some_and(|first| first.used.elapsed() > IDLE_MAX);
        let unused = oldest.then(|| idle.remove(0));
        drop(idle);
        if let Some(engine) = unused {
            self.close(engine);
        }
    }

    fn close(&self, engine: LocalRuntime) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        if self.process == std::process::id() {
            // Waiting for its threads is not allowed everywhere, and nothing there is still wanted.
            engine.runtime.shutdown_background();
        } else {
            // Closing would take the parent's sockets out of its, and our, poll.
            std::mem::forget(engine);
        }
    }
}

impl Drop for BlockingPool {
    fn drop(&mut self) {
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        for engine in idle {
            self.close(engine);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn borrow(blocking_pool: &Arc<BlockingPool>) -> PoolSlot {
        blocking_pool.borrow(|| Ok(reqwest::Client::new())).expect("a lane")
    }

    fn count(blocking_pool: &BlockingPool) -> usize {
        blocking_pool.count.load(Ordering::Relaxed)
    }

    #[test]
    fn calls_one_after_another_share_a_lane_with_its_client() {
        let blocking_pool = BlockingPool::new();
        for _ in 0..3 {
            let slot = borrow(&blocking_pool);
            assert!(slot.block_on(async { own_client().is_some() }));
            slot.leave(true);
        }
        assert_eq!(count(&blocking_pool), 1);
    }

    #[test]
    fn a_lane_with_something_still_under_way_is_closed() {
        let blocking_pool = BlockingPool::new();
        borrow(&blocking_pool).leave(false);
        assert_eq!(count(&blocking_pool), 0);
    }

    #[test]
    fn calls_beyond_the_most_lanes_use_the_shared_runtime() {
        let blocking_pool = BlockingPool::new();
        let taken: Vec<PoolSlot> = (0..MOST).map(|_| borrow(&blocking_pool)).collect();
        let beyond = borrow(&blocking_pool);
        assert!(matches!(beyond, PoolSlot::Shared(_)));
        assert!(beyond.block_on(async { own_client().is_none() }));
        taken.into_iter().for_each(|slot| slot.leave(true));
        assert!(matches!(borrow(&blocking_pool), PoolSlot::Own(..)));
    }

    #[test]
    fn what_a_lane_started_beside_the_call_ends_with_it() {
        let blocking_pool = BlockingPool::new();
        let slot = borrow(&blocking_pool);
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        slot.block_on(async {
            drop(tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                drop(sender);
            }));
        });
        slot.leave(false);
        assert!(
            receiver
                .recv_timeout(Duration::from_secs(10))
                .is_err_and(|error| { error == std::sync::mpsc::RecvTimeoutError::Disconnected })
        );
    }
}
