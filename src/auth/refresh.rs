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

/// The error code of RFC 6749 for a client that was not authenticated.
const INVALID_CLIENT: &str = "invalid_client";

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
        if unsaved.is_none() {
            self.check_refused(&cache, &stored)?;
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

    /// An error if the service has refused to refresh these tokens: it is not asked again.
    pub(super) fn check_refused(&self, cache: &TokenCache, stored: &TokenSet) -> Result<()> {
        let error = match cache.refusal(stored) {
            // The refresh token is good: it is this caller that was rejected.
            Some(error) if !stored.refresh_refused => error,
            None if !stored.refresh_refused => return Ok(()),
            _ => self.login_required("invalid_grant", "the service refused the refresh"),
        };
        Err(error)
    }

    /// The service did not authenticate the client. The tokens are not at fault.
    fn wrong_client_secret(&self, sent: bool, description: &str) -> Error {
        let state = match sent {
            true => "wrong",
            false => "missing",
        };
        let why = if description.is_empty() { "invalid_client" } else { description };
        let why = format!("client_secret is {state}; expected that of the registration ({why})");
        let advice = "Pass the `client_secret` of the registration to `OAuth` or `OAuthApp`; the stored \
                      login is unchanged. If the client no longer exists, log in again.";
        self.login_required(INVALID_CLIENT, &why).with_advice(advice.to_owned())
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
        oauth.check_refused(cache, &stored)?;
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
        let sends_secret = grant.client_secret.is_some();
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
            Err(error) => self.after_failure(error, stored, rejected, sends_secret).await,
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
        sends_secret: bool,
    ) -> Outcome {
        let (oauth, cache) = (self.oauth, self.cache);
        let error = error.redacted(&oauth.redactor(&stored));
        if let ErrorKind::OAuth { error, description } = error.kind.as_ref()
            && !is_temporary(error)
        {
            let description = excerpt(description);
            // A caller without the right secret must not end the login for the others, so that is only
            // remembered here.
            let is_of_caller = error == INVALID_CLIENT;
            let error = if is_of_caller {
                oauth.wrong_client_secret(sends_secret, &description)
            } else {
                oauth.login_required(error, &description)
            };
            cache.mark_refused(stored.clone(), error.clone());
            if !is_of_caller {
                // The waiting processes find it in the store. If it cannot be saved, each of them
                // asks once itself.
                let _ = self.save(stored.with_refresh_refused()).await;
            }
            return Err(error);
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
