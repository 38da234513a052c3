//! The state of one login in a process: its tokens, the refresh that is under way, or a refusal by
//! the service.

use std::{
    future::Future,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::{
    sync::{Mutex as AsyncMutex, OwnedMutexGuard, watch},
    time::{Instant, timeout},
};
use zeroize::Zeroizing;

use super::{
    store::{REFRESH_LOCK_TIMEOUT, still_locked},
    token::{TokenResponse, TokenSet, now_ms},
};
use crate::{
    api::Argument,
    error::{Error, Result},
    os::{
        origin::{Origin, on_behalf_of, origin},
        runtime::spawn_shared,
    },
};

/// Time to use a token that is still valid after an early refresh has failed.
const RETRY_INTERVAL: Duration = Duration::from_secs(10);

/// Sends requests for tokens, with the proxy, certificates and limits of the client that uses them.
/// `http` implements it.
pub trait TokenEndpoint: Send + Sync + 'static {
    /// Sends a refresh request with these arguments, and returns the new tokens.
    fn refresh(
        &self,
        arguments: Vec<(&'static str, Argument)>,
    ) -> BoxFuture<'_, Result<TokenResponse>>;
}

/// The one slot of a login in this process. All credentials with the same key in the same store
/// share it.
///
/// | From | By | To |
/// |---|---|---|
/// | any | [`set_tokens`](Self::set_tokens): tokens were read, received or saved | `Fresh` |
/// | any | [`refuse`](Self::refuse): the service refused to refresh the stored tokens | `Refused` |
/// | any | [`clear`](Self::clear): a logout, or the store has no tokens | `Empty` |
/// | `Empty`, `Fresh`, `Refused` | [`join_refresh`](Self::join_refresh): a caller needs other tokens | `Refreshing` |
/// | `Refreshing` | its task ends, however it does | `Empty`, `Fresh` or `Refused` |
///
/// The first three change the known state; a refresh that is under way continues.
pub struct LoginSlot {
    login: Mutex<Login>,
    /// Held by the caller that takes the lock of the store. The others wait without a thread.
    turn: Arc<AsyncMutex<()>>,
}

#[derive(Default)]
struct Login {
    state: State,
    /// The tokens that the current ones replaced. The service may still repeat them, and the store
    /// still has them if the current ones could not be saved.
    replaced: Option<Arc<TokenSet>>,
    /// Client secrets that the service did not accept for the stored tokens. The tokens themselves
    /// are not refused: callers with the right secret refresh them.
    refused_secrets: Vec<(ClientSecret, Refusal)>,
}

/// The secret that the caller of a refresh passed. Without one, the secret of the stored tokens is
/// sent.
pub type ClientSecret = Option<Zeroizing<String>>;

#[derive(Default)]
enum State {
    /// Nothing is known: before the first use, and after a logout.
    #[default]
    Empty,
    /// Tokens to send. An early refresh of them has failed if it is `paused_until` a later time.
    Fresh { tokens: Arc<TokenSet>, paused_until: Option<Instant> },
    /// A task is getting new tokens. `known` is one of the other states, which holds during the
    /// refresh and after it.
    Refreshing { known: Box<State>, refresh: Refresh },
    /// The service refused to refresh the stored tokens. No request is sent until the store has
    /// others.
    Refused(Refusal),
}

/// A refusal of the service, which lasts for as long as the store has these tokens.
pub struct Refusal {
    pub stored: Arc<TokenSet>,
    pub error: Error,
}

/// A refresh that is under way.
#[derive(Clone)]
pub struct Refresh {
    /// The secret of the caller that started the refresh.
    pub client_secret: ClientSecret,
    pub outcome: watch::Receiver<Option<RefreshResult>>,
}

/// The outcome of a refresh, for all callers that wait for it.
pub type RefreshResult = Result<Arc<TokenSet>, RefreshFailure>;

/// Reason for a failed refresh, by the callers that it concerns.
#[derive(Clone)]
pub enum RefreshFailure {
    /// The error of all callers.
    OfAll(Error),
    /// The service did not accept the client secret: the error of the callers with the same secret.
    OfSecret(Error),
}

impl From<Error> for RefreshFailure {
    fn from(error: Error) -> Self {
        RefreshFailure::OfAll(error)
    }
}

impl State {
    /// Returns the state without the refresh that may be under way.
    fn known(&self) -> &State {
        match self {
            State::Refreshing { known, .. } => known,
            known => known,
        }
    }

    fn known_mut(&mut self) -> &mut State {
        match self {
            State::Refreshing { known, .. } => known,
            known => known,
        }
    }

    fn tokens(&self) -> Option<&Arc<TokenSet>> {
        match self.known() {
            State::Fresh { tokens, .. } => Some(tokens),
            _ => None,
        }
    }
}

impl Login {
    fn refusal_of_secret(&self, secret: &ClientSecret, stored: &TokenSet) -> Option<&Error> {
        let mut refused = self.refused_secrets.iter();
        let found = refused.find(|(other, of)| other == secret && of.stored.is_same(stored));
        found.map(|(_, refusal)| &refusal.error)
    }
}

impl LoginSlot {
    /// Creates the slot of a login of which nothing is known.
    pub fn new() -> Self {
        LoginSlot { login: Mutex::default(), turn: Arc::default() }
    }

    /// Identifies the slot in this process.
    pub fn id(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Returns the current tokens, even if they have expired.
    pub fn tokens(&self) -> Option<Arc<TokenSet>> {
        self.login().state.tokens().cloned()
    }

    /// Returns the current tokens if a caller with this secret can send them without a refresh.
    pub fn ready(&self, secret: &ClientSecret) -> Option<Arc<TokenSet>> {
        let login = self.login();
        let State::Fresh { tokens, paused_until } = login.state.known() else { return None };
        if login.refusal_of_secret(secret, tokens).is_some() {
            return None;
        }
        let is_paused = || {
            !tokens.is_expired(now_ms()) && paused_until.is_some_and(|until| Instant::now() < until)
        };
        (!tokens.expires_soon(now_ms()) || is_paused()).then(|| tokens.clone())
    }

    /// Returns the current tokens if they have not expired.
    pub fn valid(&self) -> Option<Arc<TokenSet>> {
        self.tokens().filter(|tokens| !tokens.is_expired(now_ms()))
    }

    /// Returns the tokens that the service may repeat: the current ones and the ones before them.
    pub fn known_tokens(&self) -> [Option<Arc<TokenSet>>; 2] {
        let login = self.login();
        let current = match login.state.known() {
            State::Refused(refusal) => Some(&refusal.stored),
            known => known.tokens(),
        };
        [current.cloned(), login.replaced.clone()]
    }

    /// Returns the stored tokens, or the current ones if they replaced the stored tokens and could
    /// not be saved.
    pub fn newest(&self, stored: TokenSet) -> Arc<TokenSet> {
        let login = self.login();
        let is_replaced = login.replaced.as_ref().is_some_and(|replaced| replaced.is_same(&stored));
        match login.state.tokens() {
            Some(current) if is_replaced || current.is_same(&stored) => current.clone(),
            _ => Arc::new(stored),
        }
    }

    /// Returns the error of an earlier refresh of these tokens by this process, if the service
    /// refused it.
    pub fn refusal(&self, stored: &TokenSet) -> Option<Error> {
        match self.login().state.known() {
            State::Refused(refusal) if refusal.stored.is_same(stored) => {
                Some(refusal.error.clone())
            }
            _ => None,
        }
    }

    /// Returns the error of an earlier refresh of these tokens, if the service did not accept this
    /// secret.
    pub fn refusal_of_secret(&self, secret: &ClientSecret, stored: &TokenSet) -> Option<Error> {
        self.login().refusal_of_secret(secret, stored).cloned()
    }

    /// Makes these the current tokens.
    pub fn set_tokens(&self, tokens: Arc<TokenSet>) -> Arc<TokenSet> {
        let mut login = self.login();
        match login.state.tokens() {
            Some(before) if before.is_same(&tokens) => return tokens,
            Some(before) => login.replaced = Some(before.clone()),
            None => {}
        }
        login.refused_secrets.retain(|(_, refusal)| refusal.stored.is_same(&tokens));
        *login.state.known_mut() = State::Fresh { tokens: tokens.clone(), paused_until: None };
        tokens
    }

    /// Remembers tokens that the current ones have replaced in the store, or will replace when they
    /// can be saved.
    pub fn set_replaced(&self, tokens: TokenSet) {
        self.login().replaced = Some(Arc::new(tokens));
    }

    /// Postpones the next early refresh of the current tokens.
    pub fn pause_refresh(&self) {
        if let State::Fresh { paused_until, .. } = self.login().state.known_mut() {
            *paused_until = Some(Instant::now() + RETRY_INTERVAL);
        }
    }

    /// Remembers that the service refused to refresh the stored tokens.
    pub fn refuse(&self, refusal: Refusal) {
        *self.login().state.known_mut() = State::Refused(refusal);
    }

    /// Remembers that the service did not accept this secret for the stored tokens.
    pub fn refuse_secret(&self, secret: ClientSecret, refusal: Refusal) {
        let refused = &mut self.login().refused_secrets;
        refused.retain(|(other, of)| *other != secret && of.stored.is_same(&refusal.stored));
        refused.push((secret, refusal));
    }

    /// Forgets the tokens and the refusals.
    pub fn clear(&self) {
        *self.login().state.known_mut() = State::Empty;
    }

    /// Waits until no other caller in this process changes these tokens in the store.
    pub async fn turn(&self) -> Result<OwnedMutexGuard<()>> {
        let turn = self.turn.clone().lock_owned();
        timeout(REFRESH_LOCK_TIMEOUT, turn).await.map_err(|_| still_locked())
    }

    /// Returns the refresh that is under way, or starts one. A refresh is a task of its own, so
    /// that a cancelled caller does not end it for the others.
    pub fn join_refresh<F>(
        self: &Arc<Self>,
        client_secret: &ClientSecret,
        start: impl FnOnce() -> F,
    ) -> Result<Refresh>
    where
        F: Future<Output = RefreshResult> + Send + 'static,
    {
        let mut login = self.login();
        if let State::Refreshing { refresh, .. } = &login.state {
            return Ok(refresh.clone());
        }
        let (sender, outcome) = watch::channel(None);
        let refresh = Refresh { client_secret: client_secret.clone(), outcome };
        let known = Box::new(std::mem::take(&mut login.state));
        login.state = State::Refreshing { known, refresh: refresh.clone() };
        drop(login);
        // Created before the task: a task that is never polled, panics or cannot be spawned must
        // not keep callers waiting forever.
        let (work, under_way) = (start(), UnderWay(self.clone()));
        let origin = Origin { refreshing: Some(self.id()), ..origin() };
        spawn_shared(on_behalf_of(origin, async move {
            let outcome = work.await;
            drop(under_way);
            sender.send_replace(Some(outcome));
        }))?;
        Ok(refresh)
    }

    fn login(&self) -> MutexGuard<'_, Login> {
        self.login.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A refresh that is under way; the next one can start when this is dropped.
struct UnderWay(Arc<LoginSlot>);

impl Drop for UnderWay {
    fn drop(&mut self) {
        let state = &mut self.0.login().state;
        if let State::Refreshing { known, .. } = state {
            *state = std::mem::take(known);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{auth::Registration, error::ErrorKind};

    fn tokens(access: &str, seconds: u64) -> TokenSet {
        let response = TokenResponse {
            access_token: Zeroizing::new(access.to_owned()),
            refresh_token: None,
            lifetime: Some(Duration::from_secs(seconds)),
            scopes: None,
        };
        TokenSet::new(&Registration::new("c".to_owned(), None, 4000), response, now_ms())
    }

    fn refusal(stored: &TokenSet) -> Refusal {
        let error = ErrorKind::Store("refused".to_owned()).into();
        Refusal { stored: Arc::new(stored.clone()), error }
    }

    /// The known state: the access token, "refused" or "nothing".
    fn known(slot: &LoginSlot) -> String {
        match slot.login().state.known() {
            State::Empty => "nothing".to_owned(),
            State::Fresh { tokens, .. } => tokens.access_token.to_string(),
            State::Refused(_) => "refused".to_owned(),
            State::Refreshing { .. } => "twice".to_owned(),
        }
    }

    type Change<'a> = &'a dyn Fn(&LoginSlot);

    /// Starts a refresh that ends when the test tells it to.
    fn refreshing(slot: &Arc<LoginSlot>) -> tokio::sync::oneshot::Sender<RefreshResult> {
        let (end, outcome) = tokio::sync::oneshot::channel();
        let start = || async { outcome.await.expect("an outcome") };
        slot.join_refresh(&None, start).expect("a refresh");
        assert!(matches!(slot.login().state, State::Refreshing { .. }));
        end
    }

    #[tokio::test]
    async fn every_change_is_possible_in_every_state_and_outlasts_a_refresh() {
        let (a, b) = (tokens("a", 3600), tokens("b", 3600));
        let changes: [(&str, Change<'_>); 4] = [
            ("nothing", &|slot| slot.clear()),
            ("a", &|slot| drop(slot.set_tokens(Arc::new(a.clone())))),
            ("b", &|slot| drop(slot.set_tokens(Arc::new(b.clone())))),
            ("refused", &|slot| slot.refuse(refusal(&a))),
        ];
        for (before, first) in changes {
            for (after, second) in changes {
                for is_refreshing in [false, true] {
                    let slot = Arc::new(LoginSlot::new());
                    first(&slot);
                    assert_eq!(known(&slot), before);
                    let end = is_refreshing.then(|| refreshing(&slot));
                    assert_eq!(known(&slot), before);
                    second(&slot);
                    assert_eq!(known(&slot), after);
                    if let Some(end) = end {
                        let failed = Error::config("failed").into();
                        assert!(end.send(Err(failed)).is_ok());
                        while matches!(slot.login().state, State::Refreshing { .. }) {
                            tokio::task::yield_now().await;
                        }
                        assert_eq!(known(&slot), after);
                    }
                    assert_eq!(slot.refusal(&a).is_some(), after == "refused");
                    assert!(slot.refusal(&b).is_none());
                }
            }
        }
    }

    #[tokio::test]
    async fn a_refresh_is_joined_until_it_ends_and_knows_the_secret_of_the_one_who_began_it() {
        let slot = Arc::new(LoginSlot::new());
        let secret = Some(Zeroizing::new("s".to_owned()));
        let first = slot.join_refresh(&secret, std::future::pending).expect("a refresh");
        let joined = slot.join_refresh(&None, || async { panic!("a second refresh") });
        let joined = joined.expect("the first one");
        assert!(joined.outcome.same_channel(&first.outcome));
        assert_eq!(joined.client_secret, secret);
    }

    #[test]
    fn an_expiring_token_is_ready_only_while_its_refresh_is_paused() {
        let slot = LoginSlot::new();
        let mut expiring = tokens("a", 3600);
        expiring.refresh_at_ms = Some(now_ms() - 1);
        slot.set_tokens(Arc::new(expiring.clone()));
        assert!(slot.ready(&None).is_none() && slot.valid().is_some());
        slot.pause_refresh();
        assert!(slot.ready(&None).is_some());
        // The same tokens, read again, are still paused; other tokens are not.
        slot.set_tokens(Arc::new(expiring.clone()));
        assert!(slot.ready(&None).is_some());
        expiring.access_token = Zeroizing::new("b".to_owned());
        slot.set_tokens(Arc::new(expiring));
        assert!(slot.ready(&None).is_none());
    }

    #[test]
    fn a_refused_secret_is_remembered_for_callers_that_have_it_and_while_the_tokens_are_stored() {
        let slot = LoginSlot::new();
        let (a, b) = (tokens("a", 3600), tokens("b", 3600));
        let [wrong, other] = ["wrong", "other"].map(|it| Some(Zeroizing::new(it.to_owned())));
        slot.set_tokens(Arc::new(a.clone()));
        for _ in 0..2 {
            slot.refuse_secret(wrong.clone(), refusal(&a));
            slot.refuse_secret(other.clone(), refusal(&a));
        }
        assert_eq!(slot.login().refused_secrets.len(), 2);
        for secret in [&wrong, &other] {
            assert!(slot.refusal_of_secret(secret, &a).is_some() && slot.ready(secret).is_none());
            assert!(slot.refusal_of_secret(secret, &b).is_none());
        }
        assert!(slot.ready(&None).is_some() && slot.refusal(&a).is_none());
        slot.set_tokens(Arc::new(b));
        assert!(slot.ready(&wrong).is_some());
        assert!(slot.login().refused_secrets.is_empty());
    }

    #[test]
    fn the_tokens_that_the_service_may_repeat_are_known_in_every_state() {
        let slot = LoginSlot::new();
        let known = |slot: &LoginSlot| {
            let known = slot.known_tokens().into_iter().flatten();
            known.map(|set| set.access_token.to_string()).collect::<Vec<_>>()
        };
        for access in ["a", "b"] {
            slot.set_tokens(Arc::new(tokens(access, 3600)));
        }
        assert_eq!(known(&slot), ["b", "a"]);
        slot.refuse(refusal(&tokens("b", 3600)));
        assert_eq!(known(&slot), ["b", "a"]);
        slot.clear();
        assert_eq!(known(&slot), ["a"]);
    }
}
