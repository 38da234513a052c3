//! One thread for all work of a refresh, a login or a logout with a store: a store may have one
//! connection for each thread, and its lock may belong to the thread that took it.

use std::sync::{Arc, Mutex, PoisonError, mpsc};

use tokio::sync::oneshot;

use super::store::{Guard, TokenStore};
use crate::{
    error::{Error, ErrorKind, Result},
    os::callback_pool,
    os::simulated,
};

/// A thread that calls one store until this is dropped. The drop releases the lock.
pub struct StoreThread {
    store: Arc<dyn TokenStore>,
    jobs: mpsc::Sender<Job>,
    /// In a simulation the caller runs the jobs: the simulated time would otherwise wait for the
    /// thread to end.
    simulated: Option<Mutex<Option<Guard>>>,
}

type Job = Box<dyn FnOnce(&mut Option<Guard>) + Send>;

impl StoreThread {
    /// Starts the thread.
    pub async fn start(store: Arc<dyn TokenStore>) -> Result<Self> {
        let (jobs, inbox) = mpsc::channel::<Job>();
        if simulated::is_on() {
            return Ok(StoreThread { store, jobs, simulated: Some(Mutex::default()) });
        }
        let own = store.clone();
        let thread = callback_pool::start(Box::new(move || {
            own.on_one_thread(Box::new(move || {
                let mut guard = None;
                while let Ok(job) = inbox.recv() {
                    job(&mut guard);
                }
            }));
        }))
        .await?;
        // The thread ends with the last sender of jobs.
        drop(thread);
        Ok(StoreThread { store, jobs, simulated: None })
    }

    /// Runs work on the thread.
    pub async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        self.run_with(|_| work()).await
    }

    /// Takes the lock of a key, and runs work under it.
    pub async fn run_locked<T: Send + 'static>(
        &self,
        key: String,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let store = self.store.clone();
        self.run_with(move |guard| {
            *guard = Some(store.lock(&key)?);
            work()
        })
        .await
    }

    /// Releases the lock. An error means that the changes under it may be lost.
    pub async fn release(&self, failed: bool) -> Result<()> {
        self.run_with(move |guard| guard.take().map_or(Ok(()), |guard| guard.release(failed))).await
    }

    async fn run_with<T: Send + 'static>(
        &self,
        work: impl FnOnce(&mut Option<Guard>) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if let Some(guard) = &self.simulated {
            return work(&mut guard.lock().unwrap_or_else(PoisonError::into_inner));
        }
        let (reply, outcome) = oneshot::channel();
        let job = Box::new(move |guard: &mut Option<Guard>| {
            let _ = reply.send(work(guard));
        });
        self.jobs.send(job).map_err(|error| aborted(&error))?;
        outcome.await.unwrap_or_else(|error| Err(aborted(&error)))
    }
}

fn aborted(error: &dyn std::fmt::Display) -> Error {
    ErrorKind::Store(format!("the token store was aborted: {error}; call again")).into()
}
