//! OAuth credentials: the tokens of a login, stored and refreshed.
//!
//! Refreshes are single-flight: within a process all callers that need a new token share one refresh
//! and its outcome, success or failure.

use std::sync::Arc;

use zeroize::Zeroizing;

use super::{
    origin::Origin,
    store::{TokenStore, registration_key, token_key},
    token::{Registration, TokenSet, now_ms},
    token_cache::{Outcome, TokenCache},
    token_endpoint::TokenEndpoint,
};
use crate::{
    error::{Error, ErrorKind, Redactor, Result},
    process::PerProcess,
};

/// The tokens of one client in a store, for one service.
pub struct OAuth {
    pub(super) client_id: String,
    pub(super) client_secret: Option<Zeroizing<String>>,
    pub(super) store: Arc<dyn TokenStore>,
    /// The service's address: passed, or that of the first client that uses these credentials.
    origin: Origin,
    cache: PerProcess<TokenCache>,
}

impl OAuth {
    /// The credentials of a client, whose tokens are in the store.
    pub fn new(
        client_id: String,
        client_secret: Option<Zeroizing<String>>,
        store: Arc<dyn TokenStore>,
    ) -> Self {
        let (origin, cache) = (Origin::default(), PerProcess::new());
        OAuth { client_id, client_secret, store, origin, cache }
    }

    /// The client that the tokens were issued to.
    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The client secret that the caller passed; not the one in the store.
    pub fn client_secret(&self) -> Option<&str> {
        self.client_secret.as_ref().map(|secret| secret.as_str())
    }

    /// The service that the credentials belong to, if already known.
    pub fn origin(&self) -> Option<Arc<String>> {
        self.origin.get()
    }

    /// Binds the credentials to this service; an error if they belong to another one.
    pub fn bind(&self, origin: &str) -> Result<()> {
        self.origin.bind(origin)
    }

    /// The token in use, if it needs neither a refresh nor saving.
    pub fn cached_token(&self, rejected: Option<&TokenSet>) -> Result<Option<Arc<TokenSet>>> {
        let cache = self.cache()?;
        Ok(cache.current.load_full().filter(|current| {
            is_other(current, rejected)
                && !cache.save_is_due()
                && (!current.expires_soon(now_ms()) || cache.refresh_is_paused(current))
        }))
    }

    /// A token to send now. `rejected` is one that the service has just rejected.
    pub async fn token(
        self: &Arc<Self>,
        endpoint: &Arc<dyn TokenEndpoint>,
        rejected: Option<&TokenSet>,
    ) -> Outcome {
        let cache = self.cache()?;
        if let Some(current) = self.cached_token(rejected)? {
            return Ok(current);
        }
        let rejected_token = rejected.map(|set| set.access_token.clone());
        // A refresh that began before this token was rejected may return it: then refresh once more.
        for _ in 0..2 {
            let start =
                || self.clone().refresh(cache.clone(), endpoint.clone(), rejected_token.clone());
            let mut refresh = cache.join_refresh(start)?;
            let outcome = refresh.wait_for(Option::is_some).await.ok();
            let token = match outcome.and_then(|outcome| outcome.clone()) {
                Some(outcome) => outcome?,
                None => break,
            };
            if is_other(&token, rejected) {
                return Ok(token);
            }
        }
        Err(ErrorKind::Store("the refresh was aborted; call again".into()).into())
    }

    /// The stored tokens, expired or not: for their scopes and expiry.
    pub async fn stored_token(self: &Arc<Self>) -> Outcome {
        let cache = self.cache()?;
        if let Some(current) = cache.current.load_full() {
            return Ok(current);
        }
        let this = self.clone();
        let set = Arc::new(blocking(move || this.load()).await?);
        cache.current.store(Some(set.clone()));
        Ok(set)
    }

    /// Saves the tokens of a new login, and the registration for the next one.
    pub async fn save_login(
        self: &Arc<Self>,
        set: TokenSet,
        registration: Registration,
    ) -> Result<()> {
        let cache = self.cache()?;
        let (this, stored) = (self.clone(), set.clone());
        blocking(move || {
            let origin = this.known_origin()?;
            let _guard = this.store.lock(&this.key()?)?;
            this.store.save(&registration_key(&origin), &registration.write()?)?;
            this.store.save(&this.key()?, &stored.write()?)
        })
        .await
        .map_err(|error| error.redacted(&self.redactor(&set)))?;
        cache.clear();
        cache.set_current(set);
        Ok(())
    }

    /// Deletes the tokens and the client's registration. If there are none, nothing is written.
    pub async fn log_out(self: &Arc<Self>) -> Result<()> {
        let cache = self.cache()?;
        let this = self.clone();
        cache.clear();
        let outcome = blocking(move || {
            let (key, registration_key) = (this.key()?, registration_key(&this.known_origin()?));
            let is_registered = || match this.store.load(&registration_key)? {
                Some(bytes) => {
                    let registration = Registration::read(&bytes, "the registration")?;
                    Ok(registration.client_id == this.client_id)
                }
                None => Ok::<_, Error>(false),
            };
            // Taking the lock would create its file.
            if this.store.load(&key)?.is_none() && !is_registered()? {
                return Ok(());
            }
            let _guard = this.store.lock(&key)?;
            this.store.delete(&key)?;
            if is_registered()? { this.store.delete(&registration_key) } else { Ok(()) }
        })
        .await;
        // A refresh that ended meanwhile may have set its token.
        cache.clear();
        outcome
    }

    /// Redacts every secret of these credentials.
    pub(super) fn redactor(&self, used: &TokenSet) -> Redactor {
        Redactor::new(used.secrets().chain(self.client_secret()))
    }

    pub(super) fn load(&self) -> Result<TokenSet> {
        let key = self.key()?;
        match self.store.load(&key)? {
            Some(bytes) => TokenSet::read(&bytes, &format!("the store's entry '{key}'")),
            None => Err(self.login_required("login_required", "the store has no token")),
        }
    }

    pub(super) fn key(&self) -> Result<String> {
        Ok(token_key(&self.known_origin()?, &self.client_id))
    }

    fn known_origin(&self) -> Result<Arc<String>> {
        self.origin().ok_or_else(|| {
            Error::config(
                "the credentials are not bound to a service yet; pass base_url, or use a client first",
            )
        })
    }

    pub(super) fn login_required(&self, error: &str, why: &str) -> Error {
        let origin = self.origin().map(|origin| origin.to_string());
        let service = origin.as_deref().unwrap_or_default();
        let why = if why.is_empty() { "the tokens are no longer valid" } else { why };
        let message = format!("client '{}' at {service}: {why}", self.client_id.escape_debug());
        ErrorKind::LoginRequired { error: error.to_owned(), message, origin }.into()
    }

    fn cache(&self) -> Result<Arc<TokenCache>> {
        self.cache.get_or_make(|| Ok(TokenCache::default()))
    }
}

impl std::fmt::Debug for OAuth {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "OAuth({})", self.client_id)
    }
}

/// Runs blocking work on a thread for it.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(ErrorKind::Store(format!("the token store was aborted: {error}")).into())
    })
}

fn is_other(current: &TokenSet, rejected: Option<&TokenSet>) -> bool {
    rejected.is_none_or(|rejected| rejected.access_token != current.access_token)
}
