//! Refreshes the stored tokens of a login. Across processes the store's own lock decides which one
//! sends the request; the others find the new token when they read the store again.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::{
    OAuth,
    oauth::blocking,
    store::Guard,
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
        // Read without the lock first: usually another process has refreshed, or this is the first use.
        let this = self.clone();
        let stored = match blocking(move || this.load()).await {
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
        let locked = blocking(move || {
            let guard = this.store.lock(&this.key()?)?;
            Ok((guard, this.load()?))
        })
        .await;
        let (guard, stored) = match locked {
            Ok(locked) => locked,
            Err(error) => return self.unsaved_token(&cache, error, rejected.as_ref()),
        };
        // Tokens that could not be saved before are newer than the stored ones.
        let (guard, in_store, stored) = match cache.unsaved_replacing(&stored) {
            None => (guard, stored.clone(), stored),
            Some(renewed) => match self.save(guard, renewed.clone()).await? {
                (guard, Ok(())) => {
                    cache.clear_unsaved();
                    (guard, renewed.clone(), renewed)
                }
                (guard, Err(_)) => {
                    cache.postpone_save();
                    (guard, stored, renewed)
                }
            },
        };
        if cache.is_refused(&stored) {
            return Err(self.already_refused());
        }
        if usable(&stored, rejected.as_ref()) {
            return Ok(cache.set_current(stored));
        }
        let Some(refresh_token) = stored.refresh_token.clone() else {
            return Err(self.login_required("invalid_grant", "there is no refresh token"));
        };
        let grant = RefreshGrant {
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone().or_else(|| stored.client_secret.clone()),
            refresh_token,
        };
        let requested_at_ms = now_ms();
        match endpoint.refresh(grant).await {
            Ok(answer) => {
                let renewed = stored.refreshed(answer, requested_at_ms);
                // Before it is saved: the new token is valid even if saving it fails.
                cache.set_current(renewed.clone());
                let (_guard, saved) = self.save(guard, renewed.clone()).await?;
                if let Err(error) = saved {
                    let error = error.redacted(&self.redactor(&renewed));
                    cache.record_unsaved(in_store, renewed);
                    return Err(error);
                }
                cache.clear_unsaved();
                Ok(Arc::new(renewed))
            }
            Err(error) => self.after_failure(&cache, guard, error, stored, rejected.as_ref()).await,
        }
    }

    /// Saves tokens under the lock; returns the lock and whether saving succeeded.
    async fn save(self: &Arc<Self>, guard: Guard, set: TokenSet) -> Result<(Guard, Result<()>)> {
        let this = self.clone();
        blocking(move || {
            let save = || this.store.save(&this.key()?, &set.write()?);
            Ok((guard, save()))
        })
        .await
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

    async fn after_failure(
        self: &Arc<Self>,
        cache: &TokenCache,
        guard: Guard,
        error: Error,
        stored: TokenSet,
        rejected: Option<&Zeroizing<String>>,
    ) -> Outcome {
        let error = error.redacted(&self.redactor(&stored));
        if let ErrorKind::OAuth { error, description } = error.kind.as_ref()
            && !is_temporary(error)
        {
            cache.mark_refused(stored.clone());
            // A wrong secret of this caller does not invalidate the tokens of the others.
            let is_of_caller = error == "invalid_client"
                && self.client_secret.is_some()
                && self.client_secret != stored.client_secret;
            if !is_of_caller {
                // The waiting processes find it in the store. If it cannot be saved, each of them
                // asks once itself.
                let _ = self.save(guard, stored.with_refresh_refused()).await;
            }
            return Err(self.login_required(error, &excerpt(description)));
        }
        // Until it expires the token is still valid, and the service may recover before that.
        if rejected.is_none() && !stored.is_expired(now_ms()) {
            cache.pause_refresh();
            return Ok(cache.set_current(stored));
        }
        Err(error)
    }

    fn already_refused(&self) -> Error {
        self.login_required("invalid_grant", "the service refused the refresh")
    }
}

fn usable(set: &TokenSet, rejected: Option<&Zeroizing<String>>) -> bool {
    rejected != Some(&set.access_token) && !set.expires_soon(now_ms())
}
