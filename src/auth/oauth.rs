//! OAuth credentials: the stored tokens, renewed once for all who wait.
//!
//! Within a process one flight renews, and whoever needs a token meanwhile waits for its outcome,
//! success or failure. Across processes the store's own lock decides who renews; the others find
//! the new token when they read again.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use tokio::sync::watch;
use zeroize::Zeroizing;

use super::{
    origin::Origin,
    store::{Guard, TokenStore, registration_key, token_key},
    token::{Registration, TokenAnswer, TokenSet, now_ms},
};
use crate::{
    error::{Error, ErrorKind, Result},
    process::{PerProcess, runtime},
};

/// After a renewal ahead of the end failed, the token that still holds is used for so long.
const PAUSE_AFTER_FAILURE: Duration = Duration::from_secs(10);

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
    fn refresh(&self, grant: RefreshGrant) -> Answered<'_>;
}

pub type Answered<'a> = Pin<Box<dyn Future<Output = Result<TokenAnswer>> + Send + 'a>>;

type Outcome = Result<Arc<TokenSet>>;

/// The tokens of one client in a store, for one service.
pub struct OAuth {
    client_id: String,
    client_secret: Option<Zeroizing<String>>,
    store: Arc<dyn TokenStore>,
    /// The service's address: given, or that of the first client which uses these credentials.
    origin: Origin,
    live: PerProcess<Live>,
}

/// What this process knows besides the store.
#[derive(Default)]
struct Live {
    current: ArcSwapOption<TokenSet>,
    flight: Mutex<Option<watch::Receiver<Option<Outcome>>>>,
    /// The refresh token that the service refused for good: it is not asked again.
    refused: ArcSwapOption<Zeroizing<String>>,
    pause_until: ArcSwapOption<Instant>,
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

    pub fn has_own_secret(&self) -> bool {
        self.client_secret.is_some()
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
    pub fn ready(&self, rejected: Option<&TokenSet>) -> Result<Option<Arc<TokenSet>>> {
        let live = self.live()?;
        Ok(live.current.load_full().filter(|current| {
            is_other(current, rejected)
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
        if let Some(current) = self.ready(rejected)? {
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
    pub async fn peek(self: &Arc<Self>) -> Outcome {
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
    pub async fn keep(self: &Arc<Self>, set: TokenSet, registration: Registration) -> Result<()> {
        let live = self.live()?;
        let (this, stored) = (self.clone(), set.clone());
        blocking(move || {
            let origin = this.known_origin()?;
            let _guard = this.store.hold(&this.key()?)?;
            this.store.save(&registration_key(&origin), &registration.write()?)?;
            this.store.save(&this.key()?, &stored.write()?)
        })
        .await
        .map_err(|error| strike(error, &set))?;
        live.current.store(Some(Arc::new(set)));
        Ok(())
    }

    /// Forgets the tokens and the client's registration.
    pub async fn log_out(self: &Arc<Self>) -> Result<()> {
        let live = self.live()?;
        let this = self.clone();
        live.current.store(None);
        let outcome = blocking(move || {
            let origin = this.known_origin()?;
            let _guard = this.store.hold(&this.key()?)?;
            this.store.delete(&this.key()?)?;
            let key = registration_key(&origin);
            if let Some(bytes) = this.store.load(&key)?
                && Registration::read(&bytes, "the registration")?.client_id == this.client_id
            {
                this.store.delete(&key)?;
            }
            Ok(())
        })
        .await;
        // A refresh that ended meanwhile may have put its token there.
        live.current.store(None);
        outcome
    }

    /// The same error without any secret of these credentials.
    pub fn strike(&self, error: Error, used: Option<&TokenSet>) -> Error {
        let error = match used {
            Some(set) => strike(error, set),
            None => error,
        };
        match &self.client_secret {
            Some(secret) => error.without(secret),
            None => error,
        }
    }

    async fn renew(
        self: Arc<Self>,
        live: Arc<Live>,
        endpoint: Arc<dyn TokenEndpoint>,
        rejected: Option<Zeroizing<String>>,
    ) -> Outcome {
        // Read without the lock first: mostly another process was faster, or this is the first use.
        let this = self.clone();
        let stored = blocking(move || this.load()).await?;
        if usable(&stored, rejected.as_ref()) {
            return Ok(live.take(stored));
        }
        let this = self.clone();
        let (guard, stored) = blocking(move || {
            let guard = this.store.hold(&this.key()?)?;
            Ok((guard, this.load()?))
        })
        .await?;
        if usable(&stored, rejected.as_ref()) {
            return Ok(live.take(stored));
        }
        let Some(refresh_token) = stored.refresh_token.clone() else {
            return Err(self.login_required("invalid_grant", "there is no refresh token"));
        };
        if stored.refresh_refused {
            return Err(self.login_required("invalid_grant", "the service refused the refresh"));
        }
        if live.refused.load_full().is_some_and(|refused| *refused == refresh_token) {
            return Err(self.login_required("invalid_grant", "the service refused the refresh"));
        }
        let grant = RefreshGrant {
            client_id: self.client_id.clone(),
            client_secret: self.client_secret.clone().or_else(|| stored.client_secret.clone()),
            refresh_token: refresh_token.clone(),
        };
        let asked_at_ms = now_ms();
        match endpoint.refresh(grant).await {
            Ok(answer) => {
                let renewed = stored.refreshed(answer, asked_at_ms);
                // Before it is stored: what the service gave is good, whatever the disk says.
                live.take(renewed.clone());
                self.store_under(guard, renewed.clone())
                    .await
                    .map_err(|error| self.strike(error, Some(&renewed)))?;
                Ok(Arc::new(renewed))
            }
            Err(error) => self.after_failure(&live, guard, error, stored, rejected.as_ref()).await,
        }
    }

    async fn store_under(self: &Arc<Self>, guard: Guard, set: TokenSet) -> Result<()> {
        let this = self.clone();
        blocking(move || {
            let _guard = guard;
            this.store.save(&this.key()?, &set.write()?)
        })
        .await
    }

    async fn after_failure(
        self: &Arc<Self>,
        live: &Live,
        guard: Guard,
        error: Error,
        stored: TokenSet,
        rejected: Option<&Zeroizing<String>>,
    ) -> Outcome {
        let error = self.strike(error, Some(&stored));
        if let ErrorKind::OAuth { error, description } = error.kind.as_ref()
            && matches!(error.as_str(), "invalid_grant" | "invalid_client" | "unauthorized_client")
        {
            live.current.store(None);
            live.refused.store(stored.refresh_token.clone().map(Arc::new));
            // The other processes that wait find it there. Where it cannot be written down, each
            // of them asks once itself.
            let _ = self.store_under(guard, stored.refused()).await;
            return Err(self.login_required(error, description));
        }
        // Ahead of its end the token still serves; the service may be back before that.
        if error.retryable() && rejected.is_none() && !stored.has_ended(now_ms()) {
            live.pause_until.store(Some(Arc::new(Instant::now() + PAUSE_AFTER_FAILURE)));
            return Ok(live.take(stored));
        }
        Err(error)
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

impl Live {
    fn take(&self, set: TokenSet) -> Arc<TokenSet> {
        let set = Arc::new(set);
        self.current.store(Some(set.clone()));
        set
    }

    fn pauses_for(&self, current: &TokenSet) -> bool {
        !current.has_ended(now_ms())
            && self.pause_until.load().as_ref().is_some_and(|until| Instant::now() < **until)
    }

    /// The flight that is under way, or a new one. It runs by itself, so that a caller that gives
    /// up does not end it for the others.
    fn join<F>(
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

fn strike(error: Error, set: &TokenSet) -> Error {
    set.secrets().fold(error, Error::without)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicU32, Ordering};

    use super::*;
    use crate::auth::store::Memory;

    const ORIGIN: &str = "https://api.example.com";

    /// Answers after a while with tokens that count up, or with a failure.
    struct Fake {
        asked: AtomicU32,
        failure: Option<ErrorKind>,
    }

    impl TokenEndpoint for Fake {
        fn refresh(&self, grant: RefreshGrant) -> Answered<'_> {
            Box::pin(async move {
                assert_eq!(grant.refresh_token.as_str(), "refresh");
                let number = self.asked.fetch_add(1, Ordering::SeqCst) + 1;
                tokio::time::sleep(Duration::from_millis(50)).await;
                match &self.failure {
                    Some(failure) => Err(failure.clone().into()),
                    None => Ok(answer(&format!("access-{number}"), 3600)),
                }
            })
        }
    }

    fn answer(access: &str, seconds: u64) -> TokenAnswer {
        TokenAnswer {
            access_token: Zeroizing::new(access.to_owned()),
            refresh_token: None,
            lifetime: Duration::from_secs(seconds),
            scopes: None,
        }
    }

    /// Credentials whose stored token, `access-0`, is as good as `seconds` from `at_ms` on.
    async fn credentials(store: &Arc<Memory>, seconds: u64, at_ms: i64) -> Arc<OAuth> {
        let oauth = Arc::new(OAuth::new("c".into(), None, store.clone()));
        oauth.bind(ORIGIN).expect("bound");
        let registration = Registration::new("c".into(), None, 4000);
        let mut first = answer("access-0", seconds);
        first.refresh_token = Some(Zeroizing::new("refresh".into()));
        let set = TokenSet::new(&registration, first, at_ms);
        oauth.keep(set, registration).await.expect("kept");
        oauth
    }

    fn endpoint(failure: Option<ErrorKind>) -> (Arc<Fake>, Arc<dyn TokenEndpoint>) {
        let fake = Arc::new(Fake { asked: AtomicU32::new(0), failure });
        (fake.clone(), fake)
    }

    fn invalid_grant() -> ErrorKind {
        ErrorKind::OAuth { error: "invalid_grant".into(), description: "revoked".into() }
    }

    #[tokio::test]
    async fn many_that_wait_share_one_refresh() {
        let store = Arc::new(Memory::default());
        let oauth = credentials(&store, 10, 0).await;
        // Another object over the same store, as another client would have it.
        let other = Arc::new(OAuth::new("c".into(), None, store));
        other.bind(ORIGIN).expect("bound");
        let (fake, endpoint) = endpoint(None);
        let mut waiting = tokio::task::JoinSet::new();
        for number in 0..200 {
            let oauth = if number % 2 == 0 { oauth.clone() } else { other.clone() };
            let endpoint = endpoint.clone();
            waiting.spawn(async move { oauth.token(&endpoint, None).await });
        }
        while let Some(token) = waiting.join_next().await {
            let token = token.expect("no panic").expect("a token");
            assert_eq!(token.access_token.as_str(), "access-1");
        }
        assert_eq!(fake.asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_refused_token_is_renewed_and_a_newer_one_is_taken() {
        let store = Arc::new(Memory::default());
        let oauth = credentials(&store, 3600, now_ms()).await;
        let (fake, endpoint) = endpoint(None);
        let first = oauth.token(&endpoint, None).await.expect("a token");
        assert_eq!(fake.asked.load(Ordering::SeqCst), 0);
        let second = oauth.token(&endpoint, Some(&first)).await.expect("a token");
        let third = oauth.token(&endpoint, Some(&first)).await.expect("a token");
        assert_eq!(second.access_token.as_str(), "access-1");
        assert_eq!(second.access_token, third.access_token);
        assert_eq!(second.refresh_token.as_deref().map(String::as_str), Some("refresh"));
        assert_eq!(fake.asked.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn invalid_grant_is_asked_once_until_a_new_login() {
        let store = Arc::new(Memory::default());
        let oauth = credentials(&store, 10, 0).await;
        let (fake, endpoint) = endpoint(Some(invalid_grant()));
        for _ in 0..3 {
            let error = oauth.token(&endpoint, None).await.expect_err("refused");
            assert!(matches!(error.kind.as_ref(), ErrorKind::LoginRequired { .. }), "{error}");
            assert!(error.hint().contains("boardlot login"));
        }
        assert_eq!(fake.asked.load(Ordering::SeqCst), 1);
        let again = credentials(&store, 3600, now_ms()).await;
        assert!(again.token(&endpoint, None).await.is_ok());
    }

    #[tokio::test]
    async fn ahead_of_its_end_a_token_serves_while_the_service_is_away() {
        let store = Arc::new(Memory::default());
        let oauth = credentials(&store, 600, now_ms() - 560_000).await;
        let away = ErrorKind::Timeout("away".into());
        let (fake, endpoint) = endpoint(Some(away));
        for _ in 0..3 {
            let token = oauth.token(&endpoint, None).await.expect("still good");
            assert_eq!(token.access_token.as_str(), "access-0");
        }
        assert_eq!(fake.asked.load(Ordering::SeqCst), 1);
        let token = oauth.peek().await.expect("a token");
        assert!(oauth.token(&endpoint, Some(&token)).await.is_err());
    }

    #[tokio::test]
    async fn credentials_belong_to_one_service_and_can_be_forgotten() {
        let store = Arc::new(Memory::default());
        let oauth = credentials(&store, 3600, now_ms()).await;
        let error = oauth.bind("https://other.example.com").expect_err("refused");
        assert!(matches!(error.kind.as_ref(), ErrorKind::Config(_)));
        oauth.log_out().await.expect("forgotten");
        assert!(store.load(&registration_key(ORIGIN)).expect("loads").is_none());
        let (fake, endpoint) = endpoint(None);
        let error = oauth.token(&endpoint, None).await.expect_err("nothing");
        assert!(matches!(error.kind.as_ref(), ErrorKind::LoginRequired { .. }));
        assert_eq!(fake.asked.load(Ordering::SeqCst), 0);
    }
}
