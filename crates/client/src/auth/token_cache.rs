//! The token cache of a process: the token in use, the refresh that is under way, and the outcome of
//! earlier ones.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwapOption;
use futures_util::future::BoxFuture;
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch},
    time::{Instant, timeout},
};

use super::{
    store::{REFRESH_LOCK_TIMEOUT, still_locked},
    token::{TokenResponse, TokenSet, now_ms},
};
use crate::{
    api::Argument,
    error::{Error, Result},
    os::{
        origin::{Origin, on_behalf_of, origin},
        runtime::spawn_shared,
    },
};

/// The time for which to use a token that is still valid after an early refresh has failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// The outcome of a refresh.
pub type RefreshResult = Result<Arc<TokenSet>>;

/// Sends requests for tokens, with the proxy, certificates and limits of the client that uses them.
/// `http` implements it.
pub trait TokenEndpoint: Send + Sync + 'static {
    /// Sends a refresh request with these arguments, and returns the new tokens.
    fn refresh(
        &self,
        arguments: Vec<(&'static str, Argument)>,
    ) -> BoxFuture<'_, Result<TokenResponse>>;
}

#[derive(Default)]
pub struct TokenCache {
    pub current: ArcSwapOption<TokenSet>,
    /// The tokens that the current ones replaced: the service may still repeat them, and the store still has
    /// them if the current ones could not be saved.
    replaced: ArcSwapOption<TokenSet>,
    refresh: Mutex<Option<watch::Receiver<Option<RefreshResult>>>>,
    /// The stored tokens whose refresh the service rejected permanently: it is not repeated.
    refused: ArcSwapOption<Refused>,
    pause_until: ArcSwapOption<Instant>,
    /// Held by the caller that takes the lock of the store. The others wait without a thread.
    turn: Arc<AsyncMutex<()>>,
    /// The cache of the same key for callers without a secret: all change the same entry, so its turn counts.
    turn_of: Option<Arc<TokenCache>>,
}

/// A rejected refresh.
struct Refused {
    stored: Arc<TokenSet>,
    error: Error,
}

impl TokenCache {
    /// A cache that shares the turn of another one.
    pub fn with_turn_of(turn_of: Option<Arc<TokenCache>>) -> Self {
        TokenCache { turn_of, ..TokenCache::default() }
    }

    /// Identifies it in this process.
    pub fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// The token in use, if it has not expired.
    pub fn valid_token(&self) -> Option<Arc<TokenSet>> {
        self.current.load_full().filter(|current| !current.is_expired(now_ms()))
    }

    pub fn set_current(&self, set: Arc<TokenSet>) -> Arc<TokenSet> {
        if let Some(before) = self.current.swap(Some(set.clone()))
            && !before.is_same(&set)
        {
            self.replaced.store(Some(before));
        }
        set
    }

    /// Sets the tokens that the current ones have replaced.
    pub fn set_replaced(&self, set: TokenSet) {
        self.replaced.store(Some(Arc::new(set)));
    }

    /// Returns the stored tokens, or the current ones if they replaced those and could not be
    /// saved.
    pub fn newest(&self, stored: TokenSet) -> Arc<TokenSet> {
        let replaced = self.replaced.load();
        let is_replaced = replaced.as_ref().is_some_and(|replaced| replaced.is_same(&stored));
        match self.current.load_full() {
            Some(current) if is_replaced || current.is_same(&stored) => current,
            _ => Arc::new(stored),
        }
    }

    /// The tokens that the current ones have replaced.
    pub fn replaced(&self) -> Option<Arc<TokenSet>> {
        self.replaced.load_full()
    }

    /// Waits until nothing else in this process changes these tokens in the store.
    pub async fn turn(&self) -> Result<OwnedMutexGuard<()>> {
        let turn = self.turn_of.as_ref().map_or(&self.turn, |cache| &cache.turn);
        timeout(REFRESH_LOCK_TIMEOUT, turn.clone().lock_owned()).await.map_err(|_| still_locked())
    }

    /// Clears everything but a refresh that is under way.
    pub fn clear(&self) {
        self.current.store(None);
        self.refused.store(None);
    }

    /// Records that the service refused to refresh these tokens, and the error to raise from now on.
    pub fn mark_refused(&self, stored: Arc<TokenSet>, error: Error) {
        self.clear();
        self.refused.store(Some(Arc::new(Refused { stored, error })));
    }

    /// The error of an earlier refresh of these tokens by this process, if the service refused it.
    pub fn refusal(&self, stored: &TokenSet) -> Option<Error> {
        let refused = self.refused.load_full()?;
        refused.stored.is_same(stored).then(|| refused.error.clone())
    }

    /// Postpones the next early refresh.
    pub fn pause_refresh(&self) {
        self.pause_until.store(Some(Arc::new(Instant::now() + RETRY_INTERVAL)));
    }

    pub fn refresh_is_paused(&self, current: &TokenSet) -> bool {
        !current.is_expired(now_ms())
            && self.pause_until.load().as_ref().is_some_and(|until| Instant::now() < **until)
    }

    /// The refresh that is under way, or a new one. It is a task of its own, so that a cancelled caller
    /// does not end it for the others.
    pub fn join_refresh<F>(
        self: &Arc<Self>,
        start: impl FnOnce() -> F,
    ) -> Result<watch::Receiver<Option<RefreshResult>>>
    where
        F: Future<Output = RefreshResult> + Send + 'static,
    {
        let mut refresh = self.refresh.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(under_way) = &*refresh {
            return Ok(under_way.clone());
        }
        let (sender, receiver) = watch::channel(None);
        *refresh = Some(receiver.clone());
        drop(refresh);
        // Made before the task: one that is never polled, panics or cannot be spawned must not keep callers
        // waiting forever.
        let (work, under_way) = (start(), UnderWay(self.clone()));
        let origin = Origin { refreshing: Some(self.id()), ..origin() };
        spawn_shared(on_behalf_of(origin, async move {
            let outcome = work.await;
            drop(under_way);
            sender.send_replace(Some(outcome));
        }))?;
        Ok(receiver)
    }
}

/// A refresh that is under way; the next one can start when this is dropped.
struct UnderWay(Arc<TokenCache>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        *self.0.refresh.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
