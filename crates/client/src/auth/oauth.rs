//! OAuth credentials: the tokens of a login, stored and refreshed.
//!
//! Refreshes are single-flight: within a process, all callers that need a new token of a user share
//! one refresh and its outcome, success or failure.

use std::sync::{Arc, OnceLock};

use zeroize::Zeroizing;

use super::{
    login_slot::{LoginSlot, RefreshFailure, TokenEndpoint},
    login_slots::{OwnSlot, SharedStore},
    origin::Origin,
    store::{Secret, refusal_key, registration_key, token_key, user_key},
    store_thread::StoreThread,
    token::{Registration, TokenSet},
};
use crate::{
    error::{Error, ErrorKind, Login, Redactor, Result},
    os::{callback_pool, origin::origin},
};

/// Maximum length of a user's name.
const USER_MAX_CHARS: usize = 256;

/// The tokens of a login: the tokens of one client in a store, for one service. They are refreshed
/// when needed, once for all callers that wait.
///
/// In another run, the tokens that a [`LoginFlow`](crate::LoginFlow) has stored are found by the
/// `client_id` of that login, which the program keeps:
///
/// ```no_run
/// use boardlot_client::{Client, ClientOptions, Credentials, KeychainStore, OAuth, Result};
/// use std::sync::Arc;
///
/// # fn connect(client_id: String) -> Result<Client> {
/// let login = Arc::new(OAuth::new(client_id, None, Arc::new(KeychainStore)));
/// Client::new("https://api.example.com", ClientOptions::of(Credentials::OAuth(login)))
/// # }
/// ```
pub struct OAuth {
    /// The id of the client.
    pub client_id: String,
    user: Option<String>,
    /// The profile that the credentials come from.
    pub(super) profile: OnceLock<String>,
    pub(super) client_secret: Option<Zeroizing<String>>,
    pub(super) store: SharedStore,
    /// The service's address: passed, or the address of the first client that uses these
    /// credentials.
    origin: Origin,
    /// Shared by all credentials of the same user.
    slot: OwnSlot,
}

impl OAuth {
    /// Creates the credentials of a client whose tokens are in the store. The tokens of a
    /// confidential client that a login has registered include its secret.
    pub fn new(
        client_id: String,
        client_secret: Option<Zeroizing<String>>,
        store: impl Into<SharedStore>,
    ) -> Self {
        OAuth {
            client_id,
            user: None,
            profile: OnceLock::new(),
            client_secret,
            store: store.into(),
            origin: Origin::default(),
            slot: OwnSlot::new(),
        }
    }

    /// Makes these the credentials of one user of an application.
    #[doc(hidden)]
    pub fn of_user(self, user: Option<String>) -> Result<Self> {
        check_client_secret(self.client_secret())?;
        if let Some(user) = &user {
            let expected = format!(
                "a non-empty string of at most {USER_MAX_CHARS} characters without control characters"
            );
            let refuse = |value| Err(Error::argument("user", value, &expected));
            match user.chars().count() {
                0 => return refuse("empty"),
                1..=USER_MAX_CHARS if !user.chars().any(char::is_control) => {}
                _ => return refuse("not valid"),
            }
        }
        Ok(OAuth { user, ..self })
    }

    /// Returns the user of the application, if it has several.
    #[doc(hidden)]
    pub fn user(&self) -> Option<&str> {
        self.user.as_deref()
    }

    /// Returns the client secret that the caller passed, not the one in the store.
    #[doc(hidden)]
    pub fn client_secret(&self) -> Option<&str> {
        self.client_secret.as_ref().map(|secret| secret.as_str())
    }

    /// Sets the profile that the credentials come from, for errors to name.
    #[doc(hidden)]
    pub fn set_profile(&self, name: String) {
        let _ = self.profile.set(name);
    }

    /// Returns the login to do if the tokens cannot be used. None if neither profile nor service is
    /// known.
    #[doc(hidden)]
    pub fn login(&self) -> Option<Login> {
        let profile = self.profile.get().cloned().map(Login::Profile);
        let of_user = self.user.as_ref().map(|_| Login::OfUser);
        let service = || self.origin().map(|origin| Login::Service(origin.to_string()));
        profile.or(of_user).or_else(service)
    }

    /// Returns the service that the credentials belong to, if already known.
    #[doc(hidden)]
    pub fn origin(&self) -> Option<Arc<String>> {
        self.origin.get()
    }

    /// Binds the credentials to this service. Fails if they belong to another one.
    #[doc(hidden)]
    pub fn bind(&self, origin: &str) -> Result<()> {
        self.origin.bind(origin)
    }

    /// Returns the token in use if it needs no refresh.
    #[doc(hidden)]
    pub fn cached_token(&self, rejected: Option<&TokenSet>) -> Result<Option<Arc<TokenSet>>> {
        let ready = self.slot()?.ready(&self.client_secret);
        Ok(ready.filter(|tokens| is_other(tokens, rejected)))
    }

    /// Returns the tokens that the service may repeat: the tokens in use and the ones before them.
    #[doc(hidden)]
    pub fn known_tokens(&self) -> impl Iterator<Item = Arc<TokenSet>> {
        self.slot().ok().map(|slot| slot.known_tokens()).into_iter().flatten().flatten()
    }

    /// Returns a token to send now. `rejected` is a token that the service has just rejected.
    #[doc(hidden)]
    pub async fn token(
        self: &Arc<Self>,
        endpoint: &Arc<dyn TokenEndpoint>,
        rejected: Option<&TokenSet>,
    ) -> Result<Arc<TokenSet>> {
        let slot = self.slot()?;
        if let Some(current) = self.cached_token(rejected)? {
            return Ok(current);
        }
        if origin().refreshing == Some(slot.id()) {
            // This code is a hook, log handler or store that the refresh waits for.
            return slot.valid().filter(|token| is_other(token, rejected)).ok_or_else(|| {
                let what = "this code runs during a refresh of the token, so it cannot wait for the new \
                            token";
                ErrorKind::Store(what.into()).into()
            });
        }
        let rejected_token = rejected.map(|set| set.access_token.clone());
        // A refresh that another caller began may have used another secret, or may have begun
        // before this token was rejected. If its outcome is useless, this joins the next one. The
        // deadline of the call ends the loop.
        loop {
            let mut is_own = false;
            let start = || {
                is_own = true;
                self.clone().refresh(slot.clone(), endpoint.clone(), rejected_token.clone())
            };
            let mut refresh = slot.join_refresh(&self.client_secret, start)?;
            let outcome = refresh.outcome.wait_for(Option::is_some).await.ok();
            let Some(outcome) = outcome.and_then(|outcome| outcome.clone()) else {
                let what = "the refresh was aborted; call again";
                return Err(ErrorKind::Store(what.into()).into());
            };
            match outcome {
                Ok(token) if is_own || is_other(&token, rejected) => return Ok(token),
                Err(RefreshFailure::OfAll(error)) => return Err(error),
                Err(RefreshFailure::OfSecret(error))
                    if refresh.client_secret == self.client_secret =>
                {
                    return Err(error);
                }
                Ok(_) | Err(RefreshFailure::OfSecret(_)) => {}
            }
        }
    }

    /// Returns the stored tokens, expired or not: for their scopes and expiry.
    pub async fn stored_token(self: &Arc<Self>) -> Result<Arc<TokenSet>> {
        let slot = self.slot()?;
        if let Some(current) = slot.tokens() {
            return Ok(current);
        }
        let this = self.clone();
        let stored = slot.newest(blocking(move || this.load_tokens()).await?);
        Ok(if slot.refusal(&stored).is_none() { slot.set_tokens(stored) } else { stored })
    }

    /// Reads the stored tokens again: another process may have replaced or deleted them. Fails if
    /// the service rejected their refresh.
    pub async fn reload(self: &Arc<Self>) -> Result<Arc<TokenSet>> {
        let slot = self.slot()?;
        let this = self.clone();
        let (stored, is_refused) = blocking(move || this.load()).await.inspect_err(|error| {
            if matches!(error.kind.as_ref(), ErrorKind::LoginRequired { .. }) {
                slot.clear();
            }
        })?;
        let stored = slot.newest(stored);
        self.check_refused(&slot, &stored, is_refused)?;
        Ok(slot.set_tokens(stored))
    }

    /// Saves the tokens of a new login, and the registration for the next one.
    #[doc(hidden)]
    pub async fn save_login(
        self: &Arc<Self>,
        set: TokenSet,
        registration: Registration,
    ) -> Result<()> {
        let (key, value) = (registration_key(&self.known_origin()?), registration.write()?);
        self.save_tokens(set, Some((key, value.into()))).await
    }

    /// Saves the tokens of a user of an application.
    #[doc(hidden)]
    pub async fn save_user(self: &Arc<Self>, set: TokenSet) -> Result<()> {
        self.save_tokens(set, None).await
    }

    async fn save_tokens(
        self: &Arc<Self>,
        set: TokenSet,
        registration: Option<(String, Secret)>,
    ) -> Result<()> {
        let slot = self.slot()?;
        let (this, stored) = (self.clone(), set.clone());
        self.change(&slot, move || {
            if let Some((key, value)) = registration {
                this.store.save(&key, &value)?;
            }
            this.store.save(&this.key()?, &stored.write()?)
        })
        .await
        .map_err(|error| error.redacted(&self.redactor(&set)))?;
        slot.set_tokens(Arc::new(set));
        Ok(())
    }

    /// Deletes the tokens and, unless they belong to a user of an application, the client's
    /// registration. Writes nothing if there are none.
    pub async fn log_out(self: &Arc<Self>) -> Result<()> {
        let slot = self.slot()?;
        slot.clear();
        let (this, locked) = (self.clone(), self.clone());
        let outcome = async {
            // Taking the lock would create its file.
            if blocking(move || Ok(!this.is_stored()? && !this.is_registered()?)).await? {
                return Ok(());
            }
            self.change(&slot, move || {
                let key = locked.key()?;
                locked.store.delete(&refusal_key(&key))?;
                locked.store.delete(&key)?;
                if locked.is_registered()? {
                    locked.store.delete(&registration_key(&locked.known_origin()?))?;
                }
                Ok(())
            })
            .await
        };
        let outcome = outcome.await;
        // A refresh that ended in the meantime may have set its token.
        slot.clear();
        outcome
    }

    /// Changes the store under the lock of these tokens.
    async fn change(
        &self,
        slot: &LoginSlot,
        change: impl FnOnce() -> Result<()> + Send + 'static,
    ) -> Result<()> {
        let _turn = slot.turn().await?;
        let thread = StoreThread::start(self.store.store()).await?;
        let changed = thread.run_locked(self.key()?, change).await;
        let released = thread.release(changed.is_err()).await;
        changed.and(released)
    }

    fn is_stored(&self) -> Result<bool> {
        Ok(self.store.load(&self.key()?)?.is_some())
    }

    /// Returns true if the store's registration belongs to this client. Users of an application
    /// have none.
    fn is_registered(&self) -> Result<bool> {
        if self.user.is_some() {
            return Ok(false);
        }
        let Some(bytes) = self.store.load(&registration_key(&self.known_origin()?))? else {
            return Ok(false);
        };
        let registration = Registration::read(&bytes, "the registration")?;
        Ok(registration.client_id == self.client_id)
    }

    /// Redacts every secret of these credentials.
    pub(super) fn redactor(&self, used: &TokenSet) -> Redactor {
        Redactor::new(used.secrets().chain(self.client_secret()))
    }

    /// Reads the stored tokens, and whether the service refused to refresh them.
    pub(super) fn load(&self) -> Result<(TokenSet, bool)> {
        let set = self.load_tokens()?;
        let refused = self.store.load(&refusal_key(&self.key()?))?;
        let is_refused = refused.is_some_and(|refused| *refused == *set.fingerprint().as_bytes());
        Ok((set, is_refused))
    }

    fn load_tokens(&self) -> Result<TokenSet> {
        let key = self.key()?;
        let Some(bytes) = self.store.load(&key)? else {
            return Err(self.login_required("login_required", self.store.why_empty(&key)));
        };
        let what = format!("the store's entry '{key}'");
        let set = TokenSet::read(&bytes, &what)?;
        // A store that ignores case or cuts keys would mix users up.
        if set.client_id != self.client_id || set.user != self.user {
            return Err(ErrorKind::Store(format!(
                "{what} belongs to another client or user; expected a store that compares keys exactly"
            ))
            .into());
        }
        Ok(set)
    }

    pub(super) fn key(&self) -> Result<String> {
        let origin = self.known_origin()?;
        Ok(match &self.user {
            None => token_key(&origin, &self.client_id),
            Some(user) => user_key(&origin, &self.client_id, user),
        })
    }

    fn known_origin(&self) -> Result<Arc<String>> {
        self.origin().ok_or_else(|| {
            Error::config(
                "the credentials are not bound to a service yet; pass base_url, or use a client first",
            )
        })
    }

    pub(super) fn login_required(&self, error: &str, why: &str) -> Error {
        let origin = self.origin();
        let service = origin.as_deref().map_or("", String::as_str);
        let why = if why.is_empty() { "the tokens are no longer valid" } else { why };
        let client = self.client_id.escape_debug();
        let user = self.user.as_ref().map(|user| format!("user '{}' of ", user.escape_debug()));
        let message = format!("{}client '{client}' at {service}: {why}", user.unwrap_or_default());
        let kind = ErrorKind::LoginRequired { error: error.to_owned(), message };
        Error::from(kind).with_login(self.login())
    }

    fn slot(&self) -> Result<Arc<LoginSlot>> {
        self.slot.get(&self.store, || self.key())
    }
}

boardlot_service::shown_as!(OAuth, |this| "OAuth({})", this.client_id);

/// Runs blocking work on a thread for such work.
pub async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T> + Send + 'static,
) -> Result<T> {
    callback_pool::run(work).await?
}

/// Checks a client secret (RFC 6749, appendix A.2). A client without a secret has none rather than
/// an empty one.
pub fn check_client_secret(secret: Option<&str>) -> Result<()> {
    let refuse = |value| {
        let expected = "the secret of the registration, or none if the client has none";
        Err(Error::argument("client_secret", value, expected))
    };
    match secret {
        Some("") => refuse("empty"),
        Some(secret) if secret.chars().any(char::is_control) => refuse("not valid"),
        _ => Ok(()),
    }
}

fn is_other(current: &TokenSet, rejected: Option<&TokenSet>) -> bool {
    rejected.is_none_or(|rejected| rejected.access_token != current.access_token)
}
