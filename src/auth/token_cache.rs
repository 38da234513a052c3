//! What one process knows of a login besides the store: the token in use, the refresh under way, and
//! what came of earlier ones.

use std::{
    future::Future,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use tokio::sync::watch;

use super::token::{TokenSet, now_ms};
use crate::{error::Result, process::runtime};

/// After a renewal ahead of the end failed, the token that still holds is used for so long; and so
/// long after they could not be saved, tokens are not saved again.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);

pub type Outcome = Result<Arc<TokenSet>>;

#[derive(Default)]
pub struct Live {
    pub current: ArcSwapOption<TokenSet>,
    flight: Mutex<Option<watch::Receiver<Option<Outcome>>>>,
    /// The stored tokens whose refresh the service refused for good: it is not asked again.
    refused: ArcSwapOption<TokenSet>,
    unsaved: ArcSwapOption<Unsaved>,
    pause_until: ArcSwapOption<Instant>,
}

/// Tokens that the service gave and the store did not take.
struct Unsaved {
    /// What the store held then: where it holds something else, another process was there.
    stored: TokenSet,
    renewed: TokenSet,
    try_again: Instant,
}

impl Live {
    pub fn take(&self, set: TokenSet) -> Arc<TokenSet> {
        let set = Arc::new(set);
        self.current.store(Some(set.clone()));
        set
    }

    /// Forgets everything but a refresh that is under way.
    pub fn forget(&self) {
        self.current.store(None);
        self.refused.store(None);
        self.unsaved.store(None);
    }

    /// Notes that the service refused to refresh these tokens.
    pub fn refuse(&self, stored: TokenSet) {
        self.forget();
        self.refused.store(Some(Arc::new(stored)));
    }

    /// Whether these tokens are known to be refused a refresh.
    pub fn has_refused(&self, stored: &TokenSet) -> bool {
        stored.refresh_refused
            || self.refused.load().as_ref().is_some_and(|refused| refused.is_same(stored))
    }

    /// Notes that tokens could not be saved in the place of the stored ones.
    pub fn save_later(&self, stored: TokenSet, renewed: TokenSet) {
        let try_again = Instant::now() + PAUSE_AFTER_FAILURE;
        self.unsaved.store(Some(Arc::new(Unsaved { stored, renewed, try_again })));
    }

    /// Saving failed again.
    pub fn save_again_later(&self) {
        if let Some(unsaved) = self.unsaved.load_full() {
            self.save_later(unsaved.stored.clone(), unsaved.renewed.clone());
        }
    }

    pub fn saved(&self) {
        self.unsaved.store(None);
    }

    /// The tokens that still have to be saved.
    pub fn unsaved(&self) -> Option<TokenSet> {
        self.unsaved.load().as_ref().map(|unsaved| unsaved.renewed.clone())
    }

    /// Those that still have to be saved in the place of these.
    pub fn unsaved_after(&self, stored: &TokenSet) -> Option<TokenSet> {
        let unsaved = self.unsaved.load_full()?;
        unsaved.stored.is_same(stored).then(|| unsaved.renewed.clone())
    }

    /// Whether it is time to save what could not be saved.
    pub fn must_save(&self) -> bool {
        self.unsaved.load().as_ref().is_some_and(|unsaved| Instant::now() >= unsaved.try_again)
    }

    /// Uses the token that still holds for a while.
    pub fn pause(&self) {
        self.pause_until.store(Some(Arc::new(Instant::now() + PAUSE_AFTER_FAILURE)));
    }

    pub fn pauses_for(&self, current: &TokenSet) -> bool {
        !current.has_ended(now_ms())
            && self.pause_until.load().as_ref().is_some_and(|until| Instant::now() < **until)
    }

    /// The flight that is under way, or a new one. It runs by itself, so that a caller that gives
    /// up does not end it for the others.
    pub fn join<F>(
        self: &Arc<Self>,
        start: impl FnOnce() -> F,
    ) -> Result<watch::Receiver<Option<Outcome>>>
    where
        F: Future<Output = Outcome> + Send + 'static,
    {
        let mut flight = self.flight.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(under_way) = &*flight {
            return Ok(under_way.clone());
        }
        let runtime = runtime()?;
        let (sender, receiver) = watch::channel(None);
        *flight = Some(receiver.clone());
        let (work, live) = (start(), self.clone());
        runtime.spawn(async move {
            // Also where the work panics: nobody shall wait for ever.
            let landed = Landing(live);
            let outcome = work.await;
            drop(landed);
            sender.send_replace(Some(outcome));
        });
        Ok(receiver)
    }
}

/// Clears the way for the next flight.
struct Landing(Arc<Live>);

impl Drop for Landing {
    fn drop(&mut self) {
        *self.0.flight.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}
