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

/// Responds with numbered tokens, or with a failure, once as many callers wait.
struct Fake {
    requests: AtomicU32,
    failure: Option<ErrorKind>,
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
    let oauth = Arc::new(OAuth::new("c".into(), None, store.clone()));
    oauth.bind(ORIGIN).expect("bound");
    let registration = Registration::new("c".into(), None, 4000);
    let mut first = response("access-0", seconds);
    first.refresh_token = Some(Zeroizing::new("refresh".into()));
    let set = TokenSet::new(&registration, first, at_ms);
    oauth.save_login(set, registration).await.expect("saved");
    oauth
}

fn endpoint(failure: Option<ErrorKind>) -> (Arc<Fake>, Arc<dyn TokenEndpoint>) {
    let fake = Arc::new(Fake { requests: AtomicU32::new(0), failure, callers: Semaphore::new(1) });
    (fake.clone(), fake)
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
        // Another object over the same store, as another client would have it. Failures are not stored.
        let other = if failure.is_none() {
            let other = Arc::new(OAuth::new("c".into(), None, store));
            other.bind(ORIGIN).expect("bound");
            other
        } else {
            oauth.clone()
        };
        let (fake, endpoint) = endpoint(failure.clone());
        fake.callers.forget_permits(1);
        let mut calls = Vec::new();
        for number in 0..200 {
            let oauth = if number % 2 == 0 { oauth.clone() } else { other.clone() };
            let endpoint = endpoint.clone();
            calls.push(async move { oauth.token(&endpoint, None).await });
        }
        // All on one thread, in turn: after so many turns, all of them wait for the response.
        let respond = async {
            while fake.requests.load(Ordering::SeqCst) == 0 {
                tokio::task::yield_now().await;
            }
            for _ in 0..1_000 {
                tokio::task::yield_now().await;
            }
            fake.callers.add_permits(1);
        };
        let (outcomes, ()) = tokio::join!(futures_util::future::join_all(calls), respond);
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
