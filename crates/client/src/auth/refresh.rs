//! Refreshes the stored tokens of a login. Across processes, the store's own lock decides which
//! process sends the request. The others find its outcome when they read the store again: the new
//! token, or the service's refusal.
//!
//! A refusal is saved beside the tokens and does not replace them. The store is read again before
//! new tokens are saved: it may have the tokens of a new login, or none after a logout.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::{
    OAuth,
    login_slot::{LoginSlot, RefreshFailure, RefreshResult, Refusal, TokenEndpoint},
    oauth::blocking,
    store::refusal_key,
    store_thread::StoreThread,
    token::{TokenSet, now_ms},
};
use crate::{
    api::Argument,
    error::{Error, ErrorKind, Result, excerpt, is_temporary, says_client_unknown},
};

/// The error code of RFC 6749 for a client that was not authenticated.
const INVALID_CLIENT: &str = "invalid_client";
const CLIENT_SECRET_ADVICE: &str = "Pass the `client_secret` of the registration to `OAuth` or `OAuthApp`; the stored login is unchanged. \
     If the client no longer exists, register it again and log in.";

impl OAuth {
    /// Returns the current token, refreshed if necessary. One call at a time runs in this process.
    pub(super) async fn refresh(
        self: Arc<Self>,
        slot: Arc<LoginSlot>,
        endpoint: Arc<dyn TokenEndpoint>,
        rejected: Option<Zeroizing<String>>,
    ) -> RefreshResult {
        // Read without the lock first: usually another process has refreshed, or this is the first
        // use.
        let this = self.clone();
        let (stored, is_refused) = blocking(move || this.load()).await?;
        let stored = slot.newest(stored);
        self.check_refresh(&slot, &stored, is_refused)?;
        if usable(&stored, rejected.as_ref()) {
            return Ok(slot.set_tokens(stored));
        }
        let _turn = slot.turn().await?;
        let thread = StoreThread::start(self.store.store()).await?;
        let this = self.clone();
        let (in_store, is_refused) = thread.run_locked(self.key()?, move || this.load()).await?;
        let stored = slot.newest(in_store.clone());
        let (oauth, slot, rejected) = (&self, &*slot, rejected.as_ref());
        let refresh = LockedRefresh { oauth, slot, thread: &thread, rejected, in_store, stored };
        let outcome = refresh.run(&*endpoint, is_refused).await;
        let failed = matches!(
            &outcome,
            Err(RefreshFailure::OfAll(error)) if matches!(*error.kind, ErrorKind::Store(_))
        );
        // The store may commit its changes only when it is unlocked.
        let released = thread.release(failed).await;
        let current = outcome?;
        released.map_err(|error| error.redacted(&self.redactor(&current)))?;
        Ok(current)
    }

    /// Fails if the service has refused to refresh these tokens, so that no request is sent again.
    pub(super) fn check_refused(
        &self,
        slot: &LoginSlot,
        stored: &TokenSet,
        is_refused: bool,
    ) -> Result<()> {
        match slot.refusal(stored) {
            Some(error) => Err(error),
            None if is_refused => {
                Err(self.login_required("invalid_grant", "the service rejected the refresh"))
            }
            None => Ok(()),
        }
    }

    /// Fails also if the service has not accepted the secret for these tokens.
    fn check_refresh(
        &self,
        slot: &LoginSlot,
        stored: &TokenSet,
        is_refused: bool,
    ) -> Result<(), RefreshFailure> {
        self.check_refused(slot, stored, is_refused)?;
        let refused = slot.refusal_of_secret(&self.client_secret, stored);
        refused.map_or(Ok(()), |error| Err(RefreshFailure::OfSecret(error)))
    }

    /// Returns the error for a client that the service did not authenticate. The tokens are not the
    /// cause.
    fn invalid_client(&self, sent: bool, description: &str) -> Error {
        let why = if description.is_empty() { INVALID_CLIENT } else { description };
        let client_id = excerpt(&self.client_id);
        let (why, advice) = match (says_client_unknown(description), sent) {
            (true, _) => (
                format!("client_id '{client_id}' is not known to the service ({why})"),
                "Register the client again, and log in with its new id: the registration was removed, or \
                 belongs to another service. The stored login is unchanged.",
            ),
            (false, true) => (
                format!("client_secret is wrong; expected the one from the registration ({why})"),
                CLIENT_SECRET_ADVICE,
            ),
            (false, false) => (
                format!("client_secret is missing; expected the one from the registration ({why})"),
                CLIENT_SECRET_ADVICE,
            ),
        };
        let error = self.login_required(INVALID_CLIENT, &why);
        // The secret of a profile comes from its login.
        if self.profile.get().is_some() {
            error
        } else {
            error.with_advice(advice).with_login(None)
        }
    }
}

/// A refresh that holds the lock of the store.
struct LockedRefresh<'a> {
    oauth: &'a Arc<OAuth>,
    slot: &'a LoginSlot,
    thread: &'a StoreThread,
    /// The access token that the service has just rejected.
    rejected: Option<&'a Zeroizing<String>>,
    /// The tokens read from the store.
    in_store: TokenSet,
    /// The tokens from the store, or the tokens that replaced them and could not be saved.
    stored: Arc<TokenSet>,
}

impl LockedRefresh<'_> {
    async fn run(&self, endpoint: &dyn TokenEndpoint, is_refused: bool) -> RefreshResult {
        let (oauth, slot, stored) = (self.oauth, self.slot, &self.stored);
        oauth.check_refresh(slot, stored, is_refused)?;
        if usable(stored, self.rejected) {
            return Ok(slot.set_tokens(stored.clone()));
        }
        let Some(refresh_token) = &stored.refresh_token else {
            return Err(oauth.login_required("invalid_grant", "there is no refresh token").into());
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
                let renewed = Arc::new(stored.refreshed(response, requested_at_ms));
                // Set before they are saved: the new token is valid even if saving it fails.
                slot.set_tokens(renewed.clone());
                slot.set_replaced(self.in_store.clone());
                Ok(self.save(renewed).await?)
            }
            Err(error) => self.after_failure(error, sends_secret).await,
        }
    }

    /// Replaces the tokens that were read by new ones. Returns the tokens of another login or
    /// refresh if the store has usable ones by now. Fails if the user has logged out in the
    /// meantime.
    async fn save(&self, renewed: Arc<TokenSet>) -> Result<Arc<TokenSet>> {
        let (oauth, before, new) = (self.oauth.clone(), self.in_store.clone(), renewed.clone());
        let rejected = self.rejected.cloned();
        let work = move || {
            let (now, _) = oauth.load()?;
            if !now.is_same(&before) && usable(&now, rejected.as_ref()) {
                return Ok(Arc::new(now));
            }
            oauth.store.save(&oauth.key()?, &new.write()?)?;
            Ok(new)
        };
        match self.thread.run(work).await {
            Ok(saved) => Ok(self.slot.set_tokens(saved)),
            Err(error) => {
                if matches!(*error.kind, ErrorKind::LoginRequired { .. }) {
                    self.slot.clear();
                }
                Err(error.redacted(&self.oauth.redactor(&renewed)))
            }
        }
    }

    async fn after_failure(&self, error: Error, sends_secret: bool) -> RefreshResult {
        let (oauth, slot, stored) = (self.oauth, self.slot, &self.stored);
        let error = error.redacted(&oauth.redactor(stored));
        if let ErrorKind::OAuth { error, description } = error.kind.as_ref()
            && !is_temporary(error)
        {
            return self.after_refusal(error, &excerpt(description), sends_secret).await;
        }
        // Until it expires the token is still valid, and the service may recover before then.
        if self.rejected.is_none() && !stored.is_expired(now_ms()) {
            let tokens = slot.set_tokens(stored.clone());
            slot.pause_refresh();
            return Ok(tokens);
        }
        let error = match error.kind.as_ref() {
            ErrorKind::GrantRejected { error, description } if !is_temporary(error) => {
                let advice = "Call again: the stored login is unchanged, since a proxy may have sent this \
                              response.";
                oauth.login_required(error, &excerpt(description)).with_advice(advice)
            }
            _ => error,
        };
        Err(error.into())
    }

    /// Handles a response by which the service refuses the refresh token or this client.
    async fn after_refusal(
        &self,
        error: &str,
        description: &str,
        sends_secret: bool,
    ) -> RefreshResult {
        let (oauth, slot) = (self.oauth, self.slot);
        // A caller without the right secret must not end the login for the others.
        if error == INVALID_CLIENT {
            let error = oauth.invalid_client(sends_secret, description);
            let refusal = Refusal { stored: self.stored.clone(), error: error.clone() };
            slot.refuse_secret(oauth.client_secret.clone(), refusal);
            return Err(RefreshFailure::OfSecret(error));
        }
        // A new login may have been saved in the meantime. If the refusal cannot be saved, each
        // waiting process sends one request of its own.
        let (this, refused) = (oauth.clone(), self.stored.clone());
        let (before, rejected) = (self.in_store.clone(), self.rejected.cloned());
        let work = move || {
            let (now, _) = this.load()?;
            if !now.is_same(&before) && usable(&now, rejected.as_ref()) {
                return Ok(Some(now));
            }
            this.store.save(&refusal_key(&this.key()?), refused.fingerprint().as_bytes())?;
            Ok(None)
        };
        match self.thread.run(work).await {
            Ok(Some(newer)) => return Ok(slot.set_tokens(Arc::new(newer))),
            Err(error) if matches!(*error.kind, ErrorKind::LoginRequired { .. }) => {
                slot.clear();
                return Err(error.into());
            }
            Ok(None) | Err(_) => {}
        }
        let error = oauth.login_required(error, description);
        slot.refuse(Refusal { stored: self.stored.clone(), error: error.clone() });
        Err(error.into())
    }
}

fn usable(set: &TokenSet, rejected: Option<&Zeroizing<String>>) -> bool {
    rejected != Some(&set.access_token) && !set.expires_soon(now_ms())
}
