//! Refreshes the stored tokens of a login. Across processes the store's own lock decides which one
//! sends the request; the others find the new token when they read the store again.
//!
//! A store may have no such lock, or lose it while a request is sent. So what the store has is read again
//! before anything is saved, and whoever finds newer tokens uses them. A refusal is saved beside the tokens
//! and not over them.

use std::{sync::Arc, time::Duration};

use zeroize::Zeroizing;

use super::{
    OAuth,
    oauth::blocking,
    store::refusal_key,
    store_thread::StoreThread,
    token::{Refusal, TokenSet, now_ms},
    token_cache::{RefreshResult, TokenCache, TokenEndpoint},
};
use crate::{
    api::Argument,
    error::{Error, ErrorKind, Result, excerpt, is_temporary},
};

/// The error code of RFC 6749 for a client that was not authenticated.
const INVALID_CLIENT: &str = "invalid_client";

/// The codes of RFC 6749, section 5.2, which are final. Whatever else comes back may be of a proxy.
const FINAL_CODES: [&str; 6] = [
    "invalid_grant",
    INVALID_CLIENT,
    "invalid_request",
    "invalid_scope",
    "unauthorized_client",
    "unsupported_grant_type",
];

/// The waits for the tokens of another process, if the store has no lock that excludes it: the service
/// refuses a refresh token that it has just exchanged for a new one. The response may still be on its way
/// to the other process, and a busy machine can stop that one for half a second.
const WAITS_FOR_OTHERS: [Duration; 5] = [
    Duration::from_millis(50),
    Duration::from_millis(150),
    Duration::from_millis(300),
    Duration::from_millis(500),
    Duration::from_millis(1_000),
];

/// How often tokens that another process has just stored are tried in place of refused ones.
const ATTEMPTS_MAX: u32 = 3;

impl OAuth {
    /// The current token, refreshed if necessary. One call at a time runs in this process.
    pub(super) async fn refresh(
        self: Arc<Self>,
        cache: Arc<TokenCache>,
        endpoint: Arc<dyn TokenEndpoint>,
        rejected: Option<Zeroizing<String>>,
    ) -> RefreshResult {
        // Read without the lock first: usually another process has refreshed, or this is the first use.
        let this = self.clone();
        let stored = match blocking(move || this.load()).await {
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
        let _turn = cache.turn().await?;
        let thread = StoreThread::start(self.store.store()).await?;
        let this = self.clone();
        let in_store = match thread.run_locked(self.key()?, move || this.load()).await {
            Ok(stored) => stored,
            Err(error) => return self.unsaved_token(&cache, error, rejected.as_ref()),
        };
        let rejected = rejected.as_ref();
        let mut work =
            LockedRefresh { oauth: &self, cache: &cache, thread: &thread, rejected, in_store };
        let outcome = work.run(&*endpoint).await;
        let failed =
            outcome.as_ref().is_err_and(|error| matches!(*error.kind, ErrorKind::Store(_)));
        let in_store = work.in_store;
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
    ) -> RefreshResult {
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

    /// An error if the service has refused to refresh these tokens: it is not requested again.
    pub(super) fn check_refused(&self, cache: &TokenCache, stored: &TokenSet) -> Result<()> {
        let error = match cache.refusal(stored) {
            // The refresh token is good: it is this caller that was rejected.
            Some(error) if !stored.refresh_refused => error,
            None if !stored.refresh_refused => return Ok(()),
            _ => self.login_required("invalid_grant", "the service rejected the refresh"),
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
        let why =
            format!("client_secret is {state}; expected the one from the registration ({why})");
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
    /// The access token that the service has just rejected.
    rejected: Option<&'a Zeroizing<String>>,
    /// What was last read from the store.
    in_store: TokenSet,
}

/// How an attempt to refresh ends, if it does not fail.
enum Attempt {
    Token(Arc<TokenSet>),
    /// Meanwhile the store was given these.
    Changed(TokenSet),
}

impl LockedRefresh<'_> {
    async fn run(&mut self, endpoint: &dyn TokenEndpoint) -> RefreshResult {
        for _ in 0..ATTEMPTS_MAX {
            match self.attempt(endpoint).await? {
                Attempt::Token(token) => return Ok(token),
                Attempt::Changed(newer) => self.in_store = newer,
            }
        }
        let what = "other processes keep refreshing the same tokens; call again";
        Err(ErrorKind::Store(what.into()).into())
    }

    async fn attempt(&mut self, endpoint: &dyn TokenEndpoint) -> Result<Attempt> {
        let (oauth, cache) = (self.oauth, self.cache);
        // Tokens that could not be saved before are newer than the stored ones.
        let stored = match cache.unsaved_replacing(&self.in_store) {
            None => self.in_store.clone(),
            Some(renewed) => {
                match self.replace(renewed.clone()).await {
                    Ok(None) => {
                        cache.clear_unsaved();
                        self.in_store = renewed.clone();
                    }
                    Ok(Some(newer)) => {
                        cache.clear_unsaved();
                        return Ok(Attempt::Changed(newer));
                    }
                    Err(_) => cache.postpone_save(),
                }
                renewed
            }
        };
        oauth.check_refused(cache, &stored)?;
        if self.is_usable(&stored) {
            return Ok(Attempt::Token(cache.set_current(stored)));
        }
        let Some(refresh_token) = &stored.refresh_token else {
            return Err(oauth.login_required("invalid_grant", "there is no refresh token"));
        };
        let mut arguments = vec![
            ("grant_type", Argument::text("refresh_token")),
            ("refresh_token", Argument::secret(refresh_token)),
            ("client_id", Argument::text(&oauth.client_id)),
        ];
        let secret = oauth.client_secret.as_ref().or(stored.client_secret.as_ref());
        arguments.extend(secret.map(|secret| ("client_secret", Argument::secret(secret))));
        let (requested_at_ms, sends_secret) = (now_ms(), secret.is_some());
        match endpoint.refresh(arguments).await {
            Ok(response) => {
                self.cache.remember_replaced(&stored);
                self.after_success(stored.refreshed(response, requested_at_ms)).await
            }
            Err(error) => self.after_failure(error, stored, sends_secret).await,
        }
    }

    async fn after_success(&self, renewed: TokenSet) -> Result<Attempt> {
        let (oauth, cache) = (self.oauth, self.cache);
        // Before it is saved: the new token is valid even if saving it fails.
        let current = cache.set_current(renewed.clone());
        match self.replace(renewed.clone()).await {
            Ok(newer) => {
                cache.clear_unsaved();
                Ok(newer.map_or(Attempt::Token(current), Attempt::Changed))
            }
            Err(error) if matches!(*error.kind, ErrorKind::LoginRequired { .. }) => {
                cache.clear();
                Err(error)
            }
            Err(error) => {
                let error = error.redacted(&oauth.redactor(&renewed));
                cache.record_unsaved(self.in_store.clone(), renewed);
                Err(error)
            }
        }
    }

    /// Saves new tokens in place of those that were read. If others are there by now that can be used, it
    /// returns them. An error if the user has logged out meanwhile.
    async fn replace(&self, renewed: TokenSet) -> Result<Option<TokenSet>> {
        let (oauth, before) = (self.oauth.clone(), self.in_store.clone());
        let rejected = self.rejected.cloned();
        let work = move || {
            let now = oauth.load()?;
            if !now.is_same(&before) && !now.refresh_refused && usable(&now, rejected.as_ref()) {
                return Ok(Some(now));
            }
            oauth.store.save(&oauth.key()?, &renewed.write()?).map(|()| None)
        };
        self.thread.run(work).await
    }

    async fn after_failure(
        &self,
        error: Error,
        stored: TokenSet,
        sends_secret: bool,
    ) -> Result<Attempt> {
        let (oauth, cache) = (self.oauth, self.cache);
        let error = error.redacted(&oauth.redactor(&stored));
        if let ErrorKind::OAuth { error, description } = error.kind.as_ref()
            && FINAL_CODES.contains(&error.as_str())
        {
            return self.after_refusal(error, &excerpt(description), sends_secret).await;
        }
        // Until it expires the token is still valid, and the service may recover before that.
        if self.rejected.is_none() && !stored.is_expired(now_ms()) {
            cache.pause_refresh();
            return Ok(Attempt::Token(cache.set_current(stored)));
        }
        Err(match error.kind.as_ref() {
            ErrorKind::OAuth { error, description }
            | ErrorKind::GrantRejected { error, description }
                if !is_temporary(error) =>
            {
                let required = oauth.login_required(error, &excerpt(description));
                let advice = format!(
                    "Call again: the stored login is unchanged, since a proxy may have sent this response. {}",
                    required.hint()
                );
                required.with_advice(advice)
            }
            _ => error,
        })
    }

    /// The service has refused the refresh token, or this client.
    async fn after_refusal(
        &self,
        error: &str,
        description: &str,
        sends_secret: bool,
    ) -> Result<Attempt> {
        let (oauth, cache) = (self.oauth, self.cache);
        // A caller without the right secret must not end the login for the others, so that is only
        // remembered here.
        if error == INVALID_CLIENT {
            let error = oauth.wrong_client_secret(sends_secret, description);
            cache.mark_refused(self.in_store.clone(), error.clone());
            return Err(error);
        }
        if let Some(newer) = self.newer_tokens().await? {
            cache.clear_unsaved();
            return Ok(Attempt::Changed(newer));
        }
        let error = oauth.login_required(error, description);
        cache.mark_refused(self.in_store.clone(), error.clone());
        // The waiting processes find it in the store. If it cannot be saved, each of them requests once itself.
        let (oauth, refusal) = (self.oauth.clone(), Refusal::of(&self.in_store));
        let save = move || oauth.store.save(&refusal_key(&oauth.key()?), &refusal.write()?);
        let _ = self.thread.run(save).await;
        Err(error)
    }

    /// What the store has now, if that is not what was refused. An error if the user has logged out.
    async fn newer_tokens(&self) -> Result<Option<TokenSet>> {
        let waits: &[Duration] = match self.oauth.store.excludes_other_processes() {
            true => &[],
            false => &WAITS_FOR_OTHERS,
        };
        let mut waits = waits.iter();
        loop {
            let oauth = self.oauth.clone();
            match self.thread.run(move || oauth.load()).await {
                Ok(now) if !now.is_same(&self.in_store) => return Ok(Some(now)),
                Err(error) if matches!(*error.kind, ErrorKind::LoginRequired { .. }) => {
                    self.cache.clear();
                    return Err(error);
                }
                _ => {}
            }
            let Some(wait) = waits.next() else { return Ok(None) };
            tokio::time::sleep(*wait).await;
        }
    }

    fn is_usable(&self, set: &TokenSet) -> bool {
        usable(set, self.rejected)
    }
}

fn usable(set: &TokenSet, rejected: Option<&Zeroizing<String>>) -> bool {
    rejected != Some(&set.access_token) && !set.expires_soon(now_ms())
}
