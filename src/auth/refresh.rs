//! Refreshes the stored tokens of a login. Across processes the store's own lock decides which one
//! sends the request; the others find the new token when they read the store again.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::{
    OAuth,
    store_thread::StoreThread,
    token::{TokenSet, now_ms},
    token_cache::{Outcome, TokenCache},
    token_endpoint::{RefreshGrant, TokenEndpoint},
};
use crate::error::{Error, ErrorKind, Result, excerpt, is_temporary};

impl OAuth {
    /// The current token, refreshed if necessary. One call at a time runs in this process.
    pub(super) async fn refresh(
        self: Arc<Self>,
        cache: Arc<TokenCache>,
        endpoint: Arc<dyn TokenEndpoint>,
        rejected: Option<Zeroizing<String>>,
    ) -> Outcome {
        let thread = StoreThread::start().await?;
        // Read without the lock first: usually another process has refreshed, or this is the first use.
        let this = self.clone();
        let stored = match thread.run(move || this.load()).await {
            Ok(stored) => stored,
            Err(error) => return self.unsaved_token(&cache, error, rejected.as_ref()),
        };
        let unsaved = cache.unsaved_replacing(&stored);
        if unsaved.is_none() && cache.is_refused(&stored) {
            return Err(self.already_refused());
        }
        if unsaved.is_none() && usable(&stored, rejected.as_ref()) {
            cache.clear_unsaved();
            return Ok(cache.set_current(stored));
        }
        let this = self.clone();
        let locked = thread.run_locked(self.store.store(), self.key()?, move || this.load()).await;
        let in_store = match locked {
            Ok(stored) => stored,
            Err(error) => return self.unsaved_token(&cache, error, rejected.as_ref()),
        };
        let work = LockedRefresh { oauth: &self, cache: &cache, thread: &thread };
        let outcome = work.run(&*endpoint, in_store.clone(), rejected.as_ref()).await;
        let failed =
            outcome.as_ref().is_err_and(|error| matches!(*error.kind, ErrorKind::Store(_)));
        match (outcome, thread.release(failed).await) {
            // The store may commit its changes only when it is unlocked.
            (Ok(current), Err(error)) => {
                cache.record_unsaved(in_store, TokenSet::clone(&current));
                Err(error.redacted(&self.redactor(&current)))
            }
            (outcome, _) => outcome,
        }
    }

    /// If the store cannot be read or locked, tokens that could not be saved before are still used.
    fn unsaved_token(
        &self,
        cache: &TokenCache,
        error: Error,
        rejected: Option<&Zeroizing<String>>,
    ) -> Outcome {
        match cache.unsaved() {
            Some(renewed)
                if matches!(error.kind.as_ref(), ErrorKind::Store(_))
                    && usable(&renewed, rejected) =>
            {
                cache.postpone_save();
                Ok(cache.set_current(renewed))
            }
            _ => Err(error),
        }
    }

    pub(super) fn already_refused(&self) -> Error {
        self.login_required("invalid_grant", "the service refused the refresh")
    }
}

/// What a refresh does under the lock of the store.
struct LockedRefresh<'a> {
    oauth: &'a Arc<OAuth>,
    cache: &'a TokenCache,
    thread: &'a StoreThread,
}

impl LockedRefresh<'_> {
    async fn run(
        &self,
        endpoint: &dyn TokenEndpoint,
        stored: TokenSet,
        rejected: Option<&Zeroizing<String>>,
    ) -> Outcome {
        let (oauth, cache) = (self.oauth, self.cache);
        // Tokens that could not be saved before are newer than the stored ones.
        let (in_store, stored) = match cache.unsaved_replacing(&stored) {
            None => (stored.clone(), stored),
            Some(renewed) => match self.save(renewed.clone()).await {
                Ok(()) => {
                    cache.clear_unsaved();
                    (renewed.clone(), renewed)
                }
                Err(_) => {
                    cache.postpone_save();
                    (stored, renewed)
                }
            },
        };
        if cache.is_refused(&stored) {
            return Err(oauth.already_refused());
        }
        if usable(&stored, rejected) {
            return Ok(cache.set_current(stored));
        }
        let Some(refresh_token) = stored.refresh_token.clone() else {
            return Err(oauth.login_required("invalid_grant", "there is no refresh token"));
        };
        let grant = RefreshGrant {
            client_id: oauth.client_id.clone(),
            client_secret: oauth.client_secret.clone().or_else(|| stored.client_secret.clone()),
            refresh_token,
        };
        let requested_at_ms = now_ms();
        match endpoint.refresh(grant).await {
            Ok(answer) => {
                let renewed = stored.refreshed(answer, requested_at_ms);
                // Before it is saved: the new token is valid even if saving it fails.
                let current = cache.set_current(renewed.clone());
                if let Err(error) = self.save(renewed.clone()).await {
                    let error = error.redacted(&oauth.redactor(&renewed));
                    cache.record_unsaved(in_store, renewed);
                    return Err(error);
                }
                cache.clear_unsaved();
                Ok(current)
            }
            Err(error) => self.after_failure(error, stored, rejected).await,
        }
    }

    async fn save(&self, set: TokenSet) -> Result<()> {
        let oauth = self.oauth.clone();
        self.thread.run(move || oauth.store.save(&oauth.key()?, &set.write()?)).await
    }

    async fn after_failure(
        &self,
        error: Error,
        stored: TokenSet,
        rejected: Option<&Zeroizing<String>>,
    ) -> Outcome {
        let (oauth, cache) = (self.oauth, self.cache);
        let error = error.redacted(&oauth.redactor(&stored));
        if let ErrorKind::OAuth { error, description } = error.kind.as_ref()
            && !is_temporary(error)
        {
            cache.mark_refused(stored.clone());
            // A wrong secret of this caller does not invalidate the tokens of the others.
            let is_of_caller = error == "invalid_client"
                && oauth.client_secret.is_some()
                && oauth.client_secret != stored.client_secret;
            if !is_of_caller {
                // The waiting processes find it in the store. If it cannot be saved, each of them
                // asks once itself.
                let _ = self.save(stored.with_refresh_refused()).await;
            }
            return Err(oauth.login_required(error, &excerpt(description)));
        }
        // Until it expires the token is still valid, and the service may recover before that.
        if rejected.is_none() && !stored.is_expired(now_ms()) {
            cache.pause_refresh();
            return Ok(cache.set_current(stored));
        }
        Err(error)
    }
}

fn usable(set: &TokenSet, rejected: Option<&Zeroizing<String>>) -> bool {
    rejected != Some(&set.access_token) && !set.expires_soon(now_ms())
}
