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
pub enum Lane {
    Own(Engine, Arc<Lanes>),
    Shared(Arc<Runtime>),
}

/// A runtime that stands still until somebody waits in it.
#[derive(Debug)]
pub struct Engine {
    runtime: Runtime,
    client: reqwest::Client,
    used: Instant,
}

/// The lanes of one client in one process.
#[derive(Debug)]
pub struct Lanes {
    /// The last was used last.
    idle: Mutex<Vec<Engine>>,
    /// How many there are, in use or not.
    count: AtomicUsize,
    process: u32,
}

impl Lane {
    pub fn shared() -> Result<Lane> {
        runtime().map(Lane::Shared)
    }

    pub fn block_on<F: Future>(&self, future: F) -> F::Output {
        match self {
            Lane::Own(Engine { runtime, client, .. }, _) => {
                runtime.block_on(OWN_CLIENT.scope(client.clone(), future))
            }
            Lane::Shared(runtime) => runtime.block_on(future),
        }
    }

    /// Ends the call. A request that was given up midway would stay open until the next call comes:
    /// unless all is `settled`, the connection is closed now.
    pub fn leave(self, settled: bool) {
        match self {
            Lane::Own(engine, lanes) if settled => lanes.give_back(engine),
            Lane::Own(engine, lanes) => lanes.close(engine),
            Lane::Shared(_) => {}
        }
    }
}

impl Engine {
    fn new(client: reqwest::Client) -> Result<Self> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::config(format!("no connection can be driven: {error}")))?;
        Ok(Engine { runtime, client, used: Instant::now() })
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

impl Lanes {
    pub fn new() -> Arc<Self> {
        Arc::new(Lanes {
            idle: Mutex::default(),
            count: AtomicUsize::new(0),
            process: std::process::id(),
        })
    }

    /// An idle lane, or a new one around an HTTP client; the shared runtime where there are enough.
    pub fn borrow(
        self: &Arc<Self>,
        client: impl FnOnce() -> Result<reqwest::Client>,
    ) -> Result<Lane> {
        let idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        let engine = match idle {
            Some(engine) => engine,
            None if self.count.load(Ordering::Relaxed) >= MOST => return Lane::shared(),
            None => {
                let engine = Engine::new(client()?)?;
                self.count.fetch_add(1, Ordering::Relaxed);
                engine
            }
        };
        engine.catch_up();
        Ok(Lane::Own(engine, self.clone()))
    }

    fn give_back(&self, mut engine: Engine) {
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

    fn close(&self, engine: Engine) {
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

impl Drop for Lanes {
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

    fn borrow(lanes: &Arc<Lanes>) -> Lane {
        lanes.borrow(|| Ok(reqwest::Client::new())).expect("a lane")
    }

    fn count(lanes: &Lanes) -> usize {
        lanes.count.load(Ordering::Relaxed)
    }

    #[test]
    fn calls_one_after_another_share_a_lane_with_its_client() {
        let lanes = Lanes::new();
        for _ in 0..3 {
            let lane = borrow(&lanes);
            assert!(lane.block_on(async { own_client().is_some() }));
            lane.leave(true);
        }
        assert_eq!(count(&lanes), 1);
    }

    #[test]
    fn a_lane_with_something_still_under_way_is_closed() {
        let lanes = Lanes::new();
        borrow(&lanes).leave(false);
        assert_eq!(count(&lanes), 0);
    }

    #[test]
    fn calls_beyond_the_most_lanes_use_the_shared_runtime() {
        let lanes = Lanes::new();
        let taken: Vec<Lane> = (0..MOST).map(|_| borrow(&lanes)).collect();
        let beyond = borrow(&lanes);
        assert!(matches!(beyond, Lane::Shared(_)));
        assert!(beyond.block_on(async { own_client().is_none() }));
        taken.into_iter().for_each(|lane| lane.leave(true));
        assert!(matches!(borrow(&lanes), Lane::Own(..)));
    }

    #[test]
    fn what_a_lane_started_beside_the_call_ends_with_it() {
        let lanes = Lanes::new();
        let lane = borrow(&lanes);
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        lane.block_on(async {
            drop(tokio::spawn(async move {
                tokio::time::sleep(Duration::from_secs(3600)).await;
                drop(sender);
            }));
        });
        lane.leave(false);
        assert!(
            receiver
                .recv_timeout(Duration::from_secs(10))
                .is_err_and(|error| { error == std::sync::mpsc::RecvTimeoutError::Disconnected })
        );
    }
}
