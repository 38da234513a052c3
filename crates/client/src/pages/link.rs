//! Links: requests that are sent once for all callers that wait for them.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use futures_util::future::BoxFuture;
use tokio::sync::watch;

use crate::{
    error::{Error, Result},
    os::task::AbortOnDrop,
};

/// A result that is requested once. A wait that is dropped leaves the request running.
#[derive(Debug)]
pub struct Link<T>(Mutex<Option<Arc<Request<T>>>>);

/// A request, which is aborted when its last user is dropped.
#[derive(Debug)]
pub struct Request<T> {
    outcome: watch::Receiver<Option<Result<T>>>,
    _task: Option<AbortOnDrop<()>>,
}

impl<T> Default for Link<T> {
    fn default() -> Self {
        Link(Mutex::default())
    }
}

impl<T: Clone + Send + Sync + 'static> Link<T> {
    /// Creates a link to a known result.
    pub fn to(known: T) -> Self {
        let (_, outcome) = watch::channel(Some(Ok(known)));
        Link(Mutex::new(Some(Arc::new(Request { outcome, _task: None }))))
    }

    /// Returns true if the request was begun.
    pub fn is_begun(&self) -> bool {
        self.lock().is_some()
    }

    /// Waits for the request, if one was begun.
    pub async fn wait_if_begun(&self) -> Option<Result<T>> {
        let request = self.lock().clone()?;
        Some(self.wait(request).await)
    }

    /// Returns the request that was begun, or begins one.
    pub fn begin(
        &self,
        request: impl FnOnce() -> BoxFuture<'static, Result<T>>,
    ) -> Arc<Request<T>> {
        self.lock().get_or_insert_with(|| Arc::new(Request::new(request()))).clone()
    }

    /// Drops the linked request or result.
    pub fn clear(&self) {
        let before = self.lock().take();
        drop(before);
    }

    /// Waits for a request of this link. A failure is not kept: the next caller sends the request
    /// again.
    pub async fn wait(&self, request: Arc<Request<T>>) -> Result<T> {
        let outcome = request.outcome().await;
        if outcome.is_err() {
            self.lock().take_if(|current| Arc::ptr_eq(current, &request));
        }
        outcome
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Request<T>>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Clone + Send + Sync + 'static> Request<T> {
    fn new(request: BoxFuture<'static, Result<T>>) -> Self {
        let (sender, outcome) = watch::channel(None);
        let task = AbortOnDrop::poll_or_spawn(Box::pin(async move {
            sender.send_replace(Some(request.await));
            Ok(())
        }));
        Request { outcome, _task: Some(task) }
    }

    async fn outcome(&self) -> Result<T> {
        let mut outcome = self.outcome.clone();
        let known = outcome.wait_for(Option::is_some).await.ok().and_then(|known| known.clone());
        known.unwrap_or_else(|| Err(Error::aborted(&"its task ended early")))
    }
}
