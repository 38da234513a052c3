//! The blocking pool: a blocking call drives its own connection, on its own thread.
//!
//! On the shared runtime, a blocking call passes its request to other threads and is woken by them:
//! five context switches, which cost as much as the request itself. A call therefore borrows a
//! local runtime, which runs only while a call waits in it, with an HTTP client whose connections
//! belong to it.
//!
//! A task that others wait for must not be spawned on a local runtime: it would stop when the call
//! ends.

use std::{
    future::Future,
    pin::{Pin, pin},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use futures_util::future::{Either, select};
use tokio::{
    runtime::{Builder, Runtime},
    task::{unconstrained, yield_now},
    time::{Sleep, timeout},
};

use super::{connection::IDLE_MAX, http_client::HttpClient};
use crate::{
    error::Result,
    os::runtime::{build, runtime},
};

/// Maximum number of local runtimes for the clients that share their connections. Each runtime uses
/// four file descriptors.
const SIZE_MAX: usize = 32;

tokio::task_local! {
    static LOCAL_CLIENT: Arc<HttpClient>;
}

/// Returns the HTTP client of the local runtime on which this runs; none on the shared runtime.
pub fn local_client() -> Option<Arc<HttpClient>> {
    LOCAL_CLIENT.try_with(Clone::clone).ok()
}

/// The slot in which a blocking call waits.
#[derive(Debug)]
pub enum PoolSlot {
    /// On a local runtime.
    Local(LocalRuntime, Arc<BlockingPool>),
    /// On the shared runtime.
    Shared(Arc<Runtime>),
}

/// A runtime that runs only while a call waits in it.
#[derive(Debug)]
pub struct LocalRuntime {
    runtime: Runtime,
    client: Arc<HttpClient>,
    alarm: Alarm,
    used: Instant,
}

/// A timer that stays set from one call to the next. A timer set by each call would be the earliest
/// of its runtime, and setting the earliest timer wakes the runtime: two writes and an `epoll_wait`
/// for each call.
#[derive(Debug)]
struct Alarm(Pin<Box<Sleep>>);

/// The local runtimes of the clients in one process that share their connections.
#[derive(Debug)]
pub struct BlockingPool {
    /// The idle runtimes; the last one was used most recently.
    idle: Mutex<Vec<LocalRuntime>>,
    /// The number of slots, idle or not.
    count: AtomicUsize,
}

impl PoolSlot {
    /// Returns a slot on the shared runtime.
    pub fn shared() -> Result<PoolSlot> {
        runtime().map(PoolSlot::Shared)
    }

    /// Waits for a future, at most this long. Returns none if it is not ready by then.
    pub fn wait<F: Future>(&mut self, limit: Duration, future: F) -> Option<F::Output> {
        match self {
            PoolSlot::Local(LocalRuntime { runtime, client, alarm, .. }, _) => {
                runtime.block_on(LOCAL_CLIENT.scope(client.clone(), alarm.wait(limit, future)))
            }
            PoolSlot::Shared(runtime) => {
                runtime.block_on(async { timeout(limit, future).await.ok() })
            }
        }
    }

    /// Ends the call. The request of a cancelled call would stay open until the next call, so its
    /// connection is closed now unless the call is `settled`.
    pub fn release(self, settled: bool) {
        match self {
            PoolSlot::Local(local, pool) if settled => pool.release(local),
            PoolSlot::Local(local, pool) => pool.close(local),
            PoolSlot::Shared(_) => {}
        }
    }
}

impl LocalRuntime {
    fn new(client: reqwest::Client) -> Result<Self> {
        let client = Arc::new(HttpClient::new(client));
        let runtime = build(&mut Builder::new_current_thread())?;
        let alarm = {
            let _entered = runtime.enter();
            Alarm(Box::pin(tokio::time::sleep(Duration::ZERO)))
        };
        Ok(LocalRuntime { runtime, client, alarm, used: Instant::now() })
    }

    /// Processes the events since the last call, first in the runtime and then in the connections,
    /// so that a request is not sent on a connection that the other end has closed.
    fn catch_up(&self) {
        self.runtime.block_on(async {
            yield_now().await;
            yield_now().await;
        });
    }
}

impl Alarm {
    /// Waits for a future, at most this long. The wait ends with an earlier wait if the end of that
    /// one comes first.
    async fn wait<F: Future>(&mut self, limit: Duration, future: F) -> Option<F::Output> {
        let future = pin!(future);
        let now = tokio::time::Instant::now();
        if self.0.deadline() <= now || self.0.deadline() > now + limit {
            self.0.as_mut().reset(now + limit);
        }
        // Polled outside of tokio's cooperation budget, which a future that is never idle uses up.
        let alarm = unconstrained(self.0.as_mut());
        match select(future, alarm).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }
}

impl BlockingPool {
    /// Creates an empty pool.
    pub fn new() -> Arc<Self> {
        Arc::new(BlockingPool { idle: Mutex::default(), count: AtomicUsize::new(0) })
    }

    /// Returns an idle local runtime, or a new one for an HTTP client; the shared runtime if there
    /// are `SIZE_MAX` local ones.
    pub fn borrow(
        self: &Arc<Self>,
        client: impl FnOnce() -> Result<reqwest::Client>,
    ) -> Result<PoolSlot> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let local = match idle {
            Some(local) => local,
            None if self.count.load(Ordering::Relaxed) >= SIZE_MAX => return PoolSlot::shared(),
            None => {
                let local = LocalRuntime::new(client()?)?;
                self.count.fetch_add(1, Ordering::Relaxed);
                local
            }
        };
        local.catch_up();
        Ok(PoolSlot::Local(local, self.clone()))
    }

    fn release(&self, mut local: LocalRuntime) {
        local.used = Instant::now();
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        idle.push(local);
        let oldest = idle.first().is_some_and(|first| first.used.elapsed() > IDLE_MAX);
        let unused = oldest.then(|| idle.remove(0));
        drop(idle);
        if let Some(local) = unused {
            self.close(local);
        }
    }

    fn close(&self, local: LocalRuntime) {
        self.count.fetch_sub(1, Ordering::Relaxed);
        // Does not wait for the runtime's threads, which is not allowed everywhere. Nothing on it
        // is needed any more.
        local.runtime.shutdown_background();
    }
}

impl Drop for BlockingPool {
    fn drop(&mut self) {
        let idle = std::mem::take(self.idle.get_mut().unwrap_or_else(PoisonError::into_inner));
        for local in idle {
            self.close(local);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{future::pending, thread::sleep};

    use tokio::task::coop::consume_budget;

    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn borrow(pool: &Arc<BlockingPool>) -> PoolSlot {
        pool.borrow(|| Ok(reqwest::Client::new())).expect("a slot")
    }

    fn count(pool: &BlockingPool) -> usize {
        pool.count.load(Ordering::Relaxed)
    }

    #[test]
    fn successive_calls_share_a_local_runtime_with_its_client() {
        let pool = BlockingPool::new();
        for _ in 0..3 {
            let mut slot = borrow(&pool);
            assert_eq!(slot.wait(SECOND, async { local_client().is_some() }), Some(true));
            slot.release(true);
        }
        assert_eq!(count(&pool), 1);
    }

    #[test]
    fn the_local_runtime_of_a_cancelled_call_is_closed() {
        let pool = BlockingPool::new();
        borrow(&pool).release(false);
        assert_eq!(count(&pool), 0);
    }

    #[test]
    fn calls_beyond_the_size_of_the_pool_use_the_shared_runtime() {
        let pool = BlockingPool::new();
        let taken: Vec<PoolSlot> = (0..SIZE_MAX).map(|_| borrow(&pool)).collect();
        let mut beyond = borrow(&pool);
        assert!(matches!(beyond, PoolSlot::Shared(_)));
        assert_eq!(beyond.wait(SECOND, async { local_client().is_none() }), Some(true));
        taken.into_iter().for_each(|slot| slot.release(true));
        assert!(matches!(borrow(&pool), PoolSlot::Local(..)));
    }

    #[test]
    fn a_wait_ends_at_its_limit_whatever_the_waits_before_it() {
        let limit = Duration::from_millis(50);
        let pool = BlockingPool::new();
        let mut taken: Vec<PoolSlot> = (0..=SIZE_MAX).map(|_| borrow(&pool)).collect();
        for slot in [taken.remove(0), taken.remove(SIZE_MAX - 1)].iter_mut() {
            let mut waits_in_vain = || {
                let started = Instant::now();
                assert_eq!(slot.wait(limit, pending::<()>()), None);
                started.elapsed()
            };
            assert!(waits_in_vain() >= limit / 2);
            // Far below the longest limit, however busy the machine is.
            assert!(waits_in_vain() < SECOND * 60);
            sleep(limit * 2);
            assert!(waits_in_vain() >= limit / 2);
            // A future that is never idle, such as one that reads a body that has arrived.
            let busy = async {
                loop {
                    consume_budget().await;
                }
            };
            assert_eq!(slot.wait(limit, busy), None);
            // The limit may differ, and the future may be ready.
            assert_eq!(slot.wait(SECOND * 3600, async { 1 }), Some(1));
            let started = Instant::now();
            assert_eq!(slot.wait(limit, pending::<()>()), None);
            assert!(started.elapsed() < SECOND * 60);
        }
    }

    #[test]
    fn a_task_spawned_by_a_call_ends_with_it() {
        let pool = BlockingPool::new();
        let mut slot = borrow(&pool);
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        slot.wait(SECOND, async {
            drop(tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                drop(sender);
            }));
        });
        slot.release(false);
        assert!(
            receiver
                .recv_timeout(SECOND * 60)
                .is_err_and(|error| { error == std::sync::mpsc::RecvTimeoutError::Disconnected })
        );
    }
}
