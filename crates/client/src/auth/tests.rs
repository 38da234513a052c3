//! The refresh of a login's tokens, against a fake token endpoint.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use futures_util::future::BoxFuture;
use tokio::sync::Semaphore;
use zeroize::Zeroizing;

use super::{
    OAuth, Registration, SharedStore, TokenEndpoint, TokenResponse, TokenSet, now_ms,
    store::{Memory, Secret, TokenStore, registration_key},
};
use crate::{
    api::Argument,
    error::{Delivery, ErrorKind, Login, Result},
};

const ORIGIN: &str = "https://api.example.com";

/// Responds with numbered tokens or with a failure, once this many callers wait.
struct Fake {
    requests: AtomicU32,
    failure: Option<ErrorKind>,
    /// A request with another secret is refused.
    secret: Option<&'static str>,
    callers: Semaphore,
}

impl TokenEndpoint for Fake {
    fn refresh(
        &self,
        arguments: Vec<(&'static str, Argument)>,
    ) -> BoxFuture<'_, Result<TokenResponse>> {
        Box::pin(async move {
            assert!(arguments.contains(&("refresh_token", Argument::secret("refresh"))));
            let number = self.requests.fetch_add(1, Ordering::SeqCst) + 1;
            let _ = self.callers.acquire().await;
            if self.secret.is_some_and(|secret| {
                !arguments.contains(&("client_secret", Argument::secret(secret)))
            }) {
                let (error, description) = ("invalid_client".into(), "unknown".into());
                return Err(ErrorKind::OAuth { error, description }.into());
            }
            match &self.failure {
                Some(failure) => Err(failure.clone().into()),
                None => Ok(response(&format!("access-{number}"), 3600)),
            }
        })
    }
}

fn response(access: &str, seconds: u64) -> TokenResponse {
    TokenResponse {
        access_token: Zeroizing::new(access.to_owned()),
        refresh_token: None,
        lifetime: Some(Duration::from_secs(seconds)),
        scopes: None,
    }
}

/// Credentials whose stored token, `access-0`, is valid for `seconds` from `at_ms`.
async fn credentials(store: &SharedStore, seconds: u64, at_ms: i64) -> Arc<OAuth> {
    let oauth = with_secret(store, None);
    let registration = Registration::new("c".into(), None, 4000);
    let mut first = response("access-0", seconds);
    first.refresh_token = Some(Zeroizing::new("refresh".into()));
    let set = TokenSet::new(&registration, first, at_ms);
    oauth.save_login(set, registration).await.expect("saved");
    oauth
}

/// Credentials over a store, with a client secret from the caller.
fn with_secret(store: &SharedStore, secret: Option<&str>) -> Arc<OAuth> {
    let secret = secret.map(|secret| Zeroizing::new(secret.to_owned()));
    let oauth = Arc::new(OAuth::new("c".into(), secret, store.clone()));
    oauth.bind(ORIGIN).expect("bound");
    oauth
}

fn endpoint(failure: Option<ErrorKind>) -> (Arc<Fake>, Arc<dyn TokenEndpoint>) {
    endpoint_for(failure, None)
}

fn endpoint_for(
    failure: Option<ErrorKind>,
    secret: Option<&'static str>,
) -> (Arc<Fake>, Arc<dyn TokenEndpoint>) {
    let (requests, callers) = (AtomicU32::new(0), Semaphore::new(1));
    let fake = Arc::new(Fake { requests, failure, secret, callers });
    (fake.clone(), fake)
}

impl Fake {
    /// Responds once the callers wait. On one thread they run in turn, so after enough turns all of
    /// them do.
    async fn respond(&self) {
        while self.requests.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        for _ in 0..1_000 {
            tokio::task::yield_now().await;
        }
        self.callers.add_permits(1);
    }
}

fn invalid_grant() -> ErrorKind {
    ErrorKind::OAuth { error: "invalid_grant".into(), description: "revoked".into() }
}

#[tokio::test]
async fn all_that_wait_share_one_refresh_and_one_failure() {
    let lost = ErrorKind::Transport { message: "closed".into(), sent: Delivery::Unknown };
    for failure in [None, Some(invalid_grant()), Some(lost)] {
        let store = SharedStore::from(Arc::new(Memory::default()));
        let oauth = credentials(&store, 10, 0).await;
        // Other credentials over the same store, as another client would have them. Failures are
        // not stored.
        let other = if failure.is_none() { with_secret(&store, None) } else { oauth.clone() };
        let (fake, endpoint) = endpoint(failure.clone());
        fake.callers.forget_permits(1);
        let mut calls = Vec::new();
        for number in 0..200 {
            let oauth = if number % 2 == 0 { oauth.clone() } else { other.clone() };
            let endpoint = endpoint.clone();
            calls.push(async move { oauth.token(&endpoint, None).await });
        }
        let calls = futures_util::future::join_all(calls);
        let (outcomes, ()) = tokio::join!(calls, fake.respond());
        for outcome in outcomes {
            match failure {
                None => assert_eq!(outcome.expect("a token").access_token.as_str(), "access-1"),
                Some(_) => drop(outcome.expect_err("failed")),
            }
        }
        assert_eq!(fake.requests.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn a_caller_with_another_secret_waits_for_the_refresh_and_then_decides_for_itself() {
    for (first, second) in [("wrong", "right"), ("right", "wrong")] {
        let store = SharedStore::from(Arc::new(Memory::default()));
        credentials(&store, 10, 0).await;
        let (first, second) = [first, second].map(|it| with_secret(&store, Some(it))).into();
        let (fake, endpoint) = endpoint_for(None, Some("right"));
        fake.callers.forget_permits(1);
        let calls = [&first, &second].map(|oauth| oauth.token(&endpoint, None));
        let calls = futures_util::future::join_all(calls);
        let (outcomes, ()) = tokio::join!(calls, fake.respond());
        let token = outcomes[1].as_ref().expect("a token");
        match first.client_secret() {
            // The service refused the secret of the other caller; this caller sends its own.
            Some("wrong") => {
                assert_eq!(token.access_token.as_str(), "access-2");
                let error = outcomes[0].as_ref().expect_err("refused").to_string();
                assert!(error.contains("client_secret is wrong"), "{error}");
            }
            // The token of the other caller is as good.
            _ => {
                assert_eq!(token.access_token.as_str(), "access-1");
                assert_eq!(fake.requests.load(Ordering::SeqCst), 1);
            }
        }
        assert!(first.token(&endpoint, None).await.is_ok(), "the new tokens are not refused");
    }
}

#[tokio::test]
async fn a_secret_that_is_refused_is_remembered_for_those_who_have_it_alone() {
    let store = SharedStore::from(Arc::new(Memory::default()));
    credentials(&store, 3600, now_ms()).await;
    let (fake, endpoint) = endpoint_for(None, Some("right"));
    let (wrong, right) = (with_secret(&store, Some("wrong")), with_secret(&store, Some("right")));
    let rejected = wrong.token(&endpoint, None).await.expect("a token");
    assert!(wrong.token(&endpoint, Some(&rejected)).await.is_err());
    for _ in 0..2 {
        // Not even the rejected token is sent again.
        assert!(wrong.cached_token(None).expect("known").is_none());
        wrong.token(&endpoint, None).await.expect_err("remembered");
    }
    let same = with_secret(&store, Some("wrong"));
    same.token(&endpoint, None).await.expect_err("remembered");
    assert_eq!(fake.requests.load(Ordering::SeqCst), 1);
    assert!(right.cached_token(None).expect("known").is_some(), "its own is not refused");
    assert!(wrong.reload().await.is_ok(), "the login is stored");
    assert!(right.token(&endpoint, Some(&rejected)).await.is_ok());
    assert_eq!(fake.requests.load(Ordering::SeqCst), 2);
    assert!(wrong.token(&endpoint, None).await.is_ok());
}

#[tokio::test]
async fn a_logout_and_new_tokens_count_at_once_while_a_refresh_is_under_way() {
    let store = SharedStore::from(Arc::new(Memory::default()));
    let oauth = credentials(&store, 10, 0).await;
    let (fake, endpoint) = endpoint(None);
    fake.callers.forget_permits(1);
    let refresh = oauth.token(&endpoint, None);
    let meanwhile = async {
        while fake.requests.load(Ordering::SeqCst) == 0 {
            tokio::task::yield_now().await;
        }
        // The logout waits for the refresh, which has the turn, and then deletes the tokens that
        // the refresh stored.
        let log_out = oauth.log_out();
        let (outcome, ()) = tokio::join!(log_out, fake.respond());
        outcome.expect("logged out");
        assert!(oauth.cached_token(None).expect("known").is_none());
        credentials(&store, 3600, now_ms()).await;
        assert!(oauth.cached_token(None).expect("known").is_some());
    };
    let (_, ()) = tokio::join!(refresh, meanwhile);
    let token = oauth.token(&endpoint, None).await.expect("a token");
    assert_eq!(token.access_token.as_str(), "access-0", "of the new login");
    assert_eq!(fake.requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_rejected_token_is_refreshed_and_a_newer_one_is_used() {
    let store = SharedStore::from(Arc::new(Memory::default()));
    let oauth = credentials(&store, 3600, now_ms()).await;
    let (fake, endpoint) = endpoint(None);
    let first = oauth.token(&endpoint, None).await.expect("a token");
    assert_eq!(fake.requests.load(Ordering::SeqCst), 0);
    let second = oauth.token(&endpoint, Some(&first)).await.expect("a token");
    let third = oauth.token(&endpoint, Some(&first)).await.expect("a token");
    assert_eq!(second.access_token.as_str(), "access-1");
    assert_eq!(second.access_token, third.access_token);
    assert_eq!(second.refresh_token.as_deref().map(String::as_str), Some("refresh"));
    assert_eq!(fake.requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn invalid_grant_is_not_retried_until_a_new_login() {
    let store = SharedStore::from(Arc::new(Memory::default()));
    let oauth = credentials(&store, 10, 0).await;
    let (fake, endpoint) = endpoint(Some(invalid_grant()));
    for _ in 0..3 {
        let error = oauth.token(&endpoint, None).await.expect_err("refused");
        assert!(matches!(error.kind.as_ref(), ErrorKind::LoginRequired { .. }), "{error}");
        assert_eq!(error.hint(), format!("Log in again at {ORIGIN}."));
    }
    assert_eq!(fake.requests.load(Ordering::SeqCst), 1);
    let again = credentials(&store, 3600, now_ms()).await;
    assert!(again.token(&endpoint, None).await.is_ok());
}

/// Stores all but refusals.
#[derive(Default)]
struct NoRefusals(Memory);

impl TokenStore for NoRefusals {
    fn load(&self, key: &str) -> Result<Option<Secret>> {
        self.0.load(key)
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        // See `refusal_key`.
        if key.contains("%refused") {
            Err(ErrorKind::Store("full".into()).into())
        } else {
            self.0.save(key, value)
        }
    }

    fn delete(&self, key: &str) -> Result<()> {
        self.0.delete(key)
    }
}

#[tokio::test]
async fn a_refusal_that_cannot_be_saved_ends_the_login_all_the_same() {
    let store = SharedStore::from(Arc::new(NoRefusals::default()));
    let oauth = credentials(&store, 10, 0).await;
    let (_, endpoint) = endpoint(Some(invalid_grant()));
    let error = oauth.token(&endpoint, None).await.expect_err("refused");
    assert!(matches!(error.kind.as_ref(), ErrorKind::LoginRequired { .. }), "{error}");
}

#[test]
fn the_login_that_is_needed_is_that_of_the_service_or_the_profile() {
    let oauth = OAuth::new("c".into(), None, SharedStore::from(Arc::new(Memory::default())));
    assert_eq!(oauth.login(), None);
    assert_eq!(oauth.login_required("login_required", "").hint(), "Log in again.");
    oauth.bind(ORIGIN).expect("bound");
    assert_eq!(oauth.login(), Some(Login::Service(ORIGIN.to_owned())));
    oauth.set_profile("trader".into());
    assert_eq!(oauth.login(), Some(Login::Profile("trader".to_owned())));
}

#[tokio::test]
async fn credentials_belong_to_one_service_and_can_be_deleted() {
    let store = SharedStore::from(Arc::new(Memory::default()));
    let oauth = credentials(&store, 3600, now_ms()).await;
    let error = oauth.bind("https://other.example.com").expect_err("refused");
    assert!(matches!(error.kind.as_ref(), ErrorKind::Config(_)));
    oauth.log_out().await.expect("forgotten");
    assert!(store.load(&registration_key(ORIGIN)).expect("loads").is_none());
    let (fake, endpoint) = endpoint(None);
    let error = oauth.token(&endpoint, None).await.expect_err("nothing");
    assert!(matches!(error.kind.as_ref(), ErrorKind::LoginRequired { .. }));
    assert_eq!(fake.requests.load(Ordering::SeqCst), 0);
}
