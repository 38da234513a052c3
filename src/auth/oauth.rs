//! OAuth credentials: the stored tokens, renewed once for all who wait.
//!
//! Within a process one flight renews, and whoever needs a token meanwhile waits for its outcome,
//! success or failure. Across processes the store's own lock decides who renews; the others find
//! the new token when they read again.

use std::{future::Future, pin::Pin, sync::Arc};

use zeroize::Zeroizing;

use super::{
    live::{Live, Outcome},
    origin::Origin,
    store::{Guard, TokenStore, registration_key, token_key},
    token::{Registration, TokenAnswer, TokenSet, now_ms},
};
use crate::{
    error::{Error, ErrorKind, Redactor, Result, excerpt, is_temporary},
    process::PerProcess,
};

/// What a refresh sends.
pub struct RefreshGrant {
    pub client_id: String,
    pub client_secret: Option<Zeroizing<String>>,
    pub refresh_token: Zeroizing<String>,
}

impl std::fmt::Debug for RefreshGrant {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "RefreshGrant({}, ...)", self.client_id)
    }
}

/// Sends a refresh, with the proxy, the certificates and the limits of the client it is for.
pub trait TokenEndpoint: Send + Sync + 'static {
    fn refresh(&self, grant: RefreshGrant) -> RefreshFuture<'_>;
}

pub type RefreshFuture<'a> = Pin<Box<dyn Future<Output = Result<TokenAnswer>> + Send + 'a>>;

/// The tokens of one client in a store, for one service.
pub struct OAuth {
    client_id: String,
    client_secret: Option<Zeroizing<String>>,
    store: Arc<dyn TokenStore>,
    /// The service's address: given, or that of the first client which uses these credentials.
    origin: Origin,
    live: PerProcess<Live>,
}

impl OAuth {
    pub fn new(
        client_id: String,
        client_secret: Option<Zeroizing<String>>,
        store: Arc<dyn TokenStore>,
    ) -> Self {
        let (origin, live) = (Origin::default(), PerProcess::new());
        OAuth { client_id, client_secret, store, origin, live }
    }

    pub fn client_id(&self) -> &str {
        &self.client_id
    }

    /// The secret of the client that was given here, and not found in the store.
    pub fn client_secret(&self) -> Option<&str> {
        self.client_secret.as_ref().map(|secret| secret.as_str())
    }

    /// The service that the credentials belong to, once that is known.
    pub fn origin(&self) -> Option<Arc<String>> {
        self.origin.get()
    }

    /// Makes the credentials belong to this service; those of another are refused.
    pub fn bind(&self, origin: &str) -> Result<()> {
        self.origin.bind(origin)
    }

    /// A token that can be sent without asking anybody.
    pub fn cached_token(&self, rejected: Option<&TokenSet>) -> Result<Option<Arc<TokenSet>>> {
        let live = self.live()?;
        Ok(live.current.load_full().filter(|current| {
            is_other(current, rejected)
                && !live.must_save()
                && (!current.ends_soon(now_ms()) || live.pauses_for(current))
        }))
    }

    /// A token to send now. `rejected` is the one that the service has just refused.
    pub async fn token(
        self: &Arc<Self>,
        endpoint: &Arc<dyn TokenEndpoint>,
        rejected: Option<&TokenSet>,
    ) -> Outcome {
        let live = self.live()?;
        if let Some(current) = self.cached_token(rejected)? {
            return Ok(current);
        }
        let refused = rejected.map(|set| set.access_token.clone());
        // A flight that began before this token was refused may come back with it: then once more.
        for _ in 0..2 {
            let renew = || self.clone().renew(live.clone(), endpoint.clone(), refused.clone());
            let mut flight = live.join(renew)?;
            let landed = flight.wait_for(Option::is_some).await.ok();
            let token = match landed.and_then(|outcome| outcome.clone()) {
                Some(outcome) => outcome?,
                None => break,
            };
            if is_other(&token, rejected) {
                return Ok(token);
            }
        }
        Err(ErrorKind::Store("the refresh was given up; call again".into()).into())
    }

    /// The stored tokens as they are, for a look at scopes and expiry.
    pub async fn stored_token(self: &Arc<Self>) -> Outcome {
        let live = self.live()?;
        if let Some(current) = live.current.load_full() {
            return Ok(current);
        }
        let this = self.clone();
        let set = Arc::new(blocking(move || this.load()).await?);
        live.current.store(Some(set.clone()));
        Ok(set)
    }

    /// Keeps the tokens of a new login, and the registration for the next one.
    pub async fn save_login(
        self: &Arc<Self>,
        set: TokenSet,
        registration: Registration,
    ) -> Result<()> {
        let live = self.live()?;
        let (this, stored) = (self.clone(), set.clone());
        blocking(move || {
            let origin = this.known_origin()?;
            let _guard = this.store.lock(&this.key()?)?;
            this.store.save(&registration_key(&origin), &registration.write()?)?;
            this.store.save(&this.key()?, &stored.write()?)
        })
        .await
        .map_err(|error| error.redacted(&self.redactor(&set)))?;
        live.forget();
        live.take(set);
        Ok(())
    }

    /// Forgets the tokens and the client's registration. Where there are none, nothing is written.
    pub async fn log_out(self: &Arc<Self>) -> Result<()> {
        let live = self.live()?;
        let this = self.clone();
        live.forget();
        let outcome = blocking(move || {
            let (key, registration_key) = (this.key()?, registration_key(&this.known_origin()?));
            let is_registered = || match this.store.load(&registration_key)? {
                Some(bytes) => {
                    let registration = Registration::read(&bytes, "the registration")?;
                    Ok(registration.client_id == this.client_id)
                }
                None => Ok::<_, Error>(false),
            };
            // Even the file of a lock would be something left behind.
            if this.store.load(&key)?.is_none() && !is_registered()? {
                return Ok(());
            }
            let _guard = this.store.lock(&key)?;
            this.store.delete(&key)?;
            if is_registered()? { this.store.delete(&registration_key) } else { Ok(()) }
        })
        .await;
        // A refresh that ended meanwhile may have put its token there.
        live.forget();
        outcome
    }

    /// Finds every secret of these credentials in what the service says.
    fn redactor(&self, used: &TokenSet) -> Redactor {
        Redactor::new(used.secrets().chain(self.client_secret()))
    }

    async fn renew(
        self: Arc<Self>,
        live: Arc<Live>,
        endpoint: Arc<dyn TokenEndpoint>,
        rejected: Option<Zeroizing<String>>,
    ) -> Outcome {
        // Read without the lock first: mostly another process was faster, or this is the first use.
        let this = self.clone();
        let stored = match blocking(move || this.load()).await {
            Ok(stored) => stored,
            Err(error) => return self.without_store(&live, error, rejected.as_ref()),
        };
        let unsaved = live.unsaved_after(&stored);
        if unsaved.is_none() && live.has_refused(&stored) {
            return Err(self.refused_before());
        }
        if unsaved.is_none() && usable(&stored, rejected.as_ref()) {
            live.saved();
            return Ok(live.take(stored));
        }
        let this = self.clone();
        let held = blocking(move || {
            let guard = this.store.lock(&this.key()?)?;
            Ok((guard, this.load()?))
        })
        .await;
        let (guard, stored) = match held {
            Ok(held) => held,
            Err(error) => return self.without_store(&live, error, rejected.as_ref()),
        };
        // Tokens that could not be saved before are the ones to go on with.
        let (guard, in_store, stored) = match live.unsaved_after(&stored) {
            None => (guard, stored.clone(), stored),
            Some(renewed) => match self.save(guard, renewed.clone()).await? {
                (guard, Ok(())) => {
                    live.saved();
                    (guard, renewed.clone(), renewed)
                }
                (guard, Err(_)) => {
                    live.save_again_later();
                    (guard, stored, renewed)
                }
            },
        };
        if live.has_refused(&stored) {
            return Err(self.refused_before());
        }
        if usable(&stored, rejected.as_ref()) {
            return Ok(live.take(stored));
        }
        let Some(refresh_token) = stored.refresh_token.clone() else {
            return Err(self.login_required("invalid_grant", "there is no refresh token"));
        };
        let grant = RefreshGrant {
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone().or_else(|| stored.client_secret.clone()),
            refresh_token,
        };
        let asked_at_ms = now_ms();
        match endpoint.refresh(grant).await {
            Ok(answer) => {
                let renewed = stored.refreshed(answer, asked_at_ms);
                // Before it is stored: what the service gave is good, whatever the disk says.
                live.take(renewed.clone());
                let (_guard, saved) = self.save(guard, renewed.clone()).await?;
                if let Err(error) = saved {
                    let error = error.redacted(&self.redactor(&renewed));
                    live.save_later(in_store, renewed);
                    return Err(error);
                }
                live.saved();
                Ok(Arc::new(renewed))
            }
            Err(error) => self.after_failure(&live, guard, error, stored, rejected.as_ref()).await,
        }
    }

    /// Saves tokens under the lock; how that went, and the lock.
    async fn save(self: &Arc<Self>, guard: Guard, set: TokenSet) -> Result<(Guard, Result<()>)> {
        let this = self.clone();
        blocking(move || {
            let save = || this.store.save(&this.key()?, &set.write()?);
            Ok((guard, save()))
        })
        .await
    }

    /// The store cannot be read or locked: tokens that it could not take before still serve.
    fn without_store(
        &self,
        live: &Live,
        error: Error,
        rejected: Option<&Zeroizing<String>>,
    ) -> Outcome {
        match live.unsaved() {
            Some(renewed)
                if matches!(error.kind.as_ref(), ErrorKind::Store(_))
                    && usable(&renewed, rejected) =>
            {
                live.save_again_later();
                Ok(live.take(renewed))
            }
            _ => Err(error),
        }
    }

    async fn after_failure(
        self: &Arc<Self>,
        live: &Live,
        guard: Guard,
        error: Error,
        stored: TokenSet,
        rejected: Option<&Zeroizing<String>>,
    ) -> Outcome {
        let error = error.redacted(&self.redactor(&stored));
        if let ErrorKind::OAuth { error, description } = error.kind.as_ref()
            && !is_temporary(error)
        {
            live.refuse(stored.clone());
            // A wrong secret of this caller's own says nothing about the tokens of the others.
            let is_of_caller = error == "invalid_client"
                && self.client_secret.is_some()
                && self.client_secret != stored.client_secret;
            if !is_of_caller {
                // The other processes that wait find it there. Where it cannot be written down,
                // each of them asks once itself.
                let _ = self.save(guard, stored.refused()).await;
            }
            return Err(self.login_required(error, &excerpt(description)));
        }
        // Ahead of its end the token still serves; the service may be back before that.
        if rejected.is_none() && !stored.has_ended(now_ms()) {
            live.pause();
            return Ok(live.take(stored));
        }
        Err(error)
    }

    fn refused_before(&self) -> Error {
        self.login_required("invalid_grant", "the service refused the refresh")
    }

    fn load(&self) -> Result<TokenSet> {
        let key = self.key()?;
        match self.store.load(&key)? {
            Some(bytes) => TokenSet::read(&bytes, &format!("the store's entry '{key}'")),
            None => Err(self.login_required("login_required", "the store holds no token")),
        }
    }

    fn key(&self) -> Result<String> {
        Ok(token_key(&self.known_origin()?, &self.client_id))
    }

    fn known_origin(&self) -> Result<Arc<String>> {
        self.origin().ok_or_else(|| {
            Error::config(
                "the credentials belong to no service yet; give base_url, or use a client first",
            )
        })
    }

    fn login_required(&self, error: &str, why: &str) -> Error {
        let origin = self.origin().map(|origin| origin.to_string());
        let at = origin.as_deref().unwrap_or_default();
        let why = if why.is_empty() { "the tokens are no longer valid" } else { why };
        let message = format!("client '{}' at {at}: {why}", self.client_id.escape_debug());
        ErrorKind::LoginRequired { error: error.to_owned(), message, origin }.into()
    }

    fn live(&self) -> Result<Arc<Live>> {
        self.live.get_or_make(|| Ok(Live::default()))
    }
}

impl std::fmt::Debug for OAuth {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "OAuth({})", self.client_id)
    }
}

/// Runs what may block where that is fine.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    tokio::task::spawn_blocking(work).await.unwrap_or_else(|error| {
        Err(ErrorKind::Store(format!("the token store was given up: {error}")).into())
    })
}

fn usable(set: &TokenSet, rejected: Option<&Zeroizing<String>>) -> bool {
    rejected != Some(&set.access_token) && !set.ends_soon(now_ms())
}

fn is_other(current: &TokenSet, rejected: Option<&TokenSet>) -> bool {
    rejected.is_none_or(|rejected| rejected.access_token != current.access_token)
}
