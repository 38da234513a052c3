//! The tokens of a login: when one serves, when it is renewed, and what a store, the service or
//! another process may do meanwhile.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU32, Ordering},
    },
};

use boardlot_client::extension::{
    auth::{
        OAuth, Registration, TokenEndpoint, TokenResponse, TokenSet, check_client_secret, now_ms,
        store::{
            Guard, Memory, Secret, TokenStore, refusal_key, registration_key, token_key, user_key,
        },
    },
    error::{ErrorKind, Result},
};
use futures_util::future::BoxFuture;
use zeroize::Zeroizing;

use super::tokens::{Arguments, sent, set, token_response};

pub const ORIGIN: &str = "https://api.example.com";

/// A store that counts its calls, and fails while a test makes it fail.
#[derive(Default)]
pub struct Disk {
    values: Memory,
    loads: AtomicU32,
    holds: AtomicU32,
    unreadable: AtomicBool,
    full: AtomicBool,
}

impl Disk {
    pub fn stored(&self) -> TokenSet {
        let bytes = self.values.load(&token_key(ORIGIN, "c")).expect("loads").expect("tokens");
        TokenSet::read(&bytes, "it").expect("read")
    }

    pub fn has_refusal(&self) -> bool {
        self.values.load(&refusal_key(&token_key(ORIGIN, "c"))).expect("loads").is_some()
    }

    pub fn put(&self, set: &TokenSet) {
        let written = set.write().expect("written");
        self.values.save(&token_key(ORIGIN, "c"), &written).expect("saved");
    }
}

fn fail(failing: &AtomicBool, what: &str) -> Result<()> {
    match failing.load(Ordering::SeqCst) {
        true => Err(ErrorKind::Store(what.to_owned()).into()),
        false => Ok(()),
    }
}

impl TokenStore for Disk {
    fn load(&self, key: &str) -> Result<Option<Secret>> {
        self.loads.fetch_add(1, Ordering::SeqCst);
        fail(&self.unreadable, "unreadable")?;
        self.values.load(key)
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        fail(&self.full, "full")?;
        self.values.save(key, value)
    }

    fn delete(&self, key: &str) -> Result<()> {
        self.values.delete(key)
    }

    fn lock(&self, key: &str) -> Result<Guard> {
        self.holds.fetch_add(1, Ordering::SeqCst);
        self.values.lock(key)
    }
}

/// Returns the responses that it was given, in turn, and keeps the requests. While it responds,
/// another process changes the store.
struct Service {
    disk: Arc<Disk>,
    meanwhile: fn(&Disk),
    responses: Mutex<VecDeque<Result<TokenResponse>>>,
    requests: Mutex<Vec<Arguments>>,
}

impl TokenEndpoint for Service {
    fn refresh(&self, arguments: Arguments) -> BoxFuture<'_, Result<TokenResponse>> {
        self.requests.lock().expect("a lock").push(arguments);
        (self.meanwhile)(&self.disk);
        let response = self.responses.lock().expect("a lock").pop_front().expect("a response");
        Box::pin(async move { response })
    }
}

pub struct Rig {
    pub disk: Arc<Disk>,
    service: Arc<Service>,
    endpoint: Arc<dyn TokenEndpoint>,
    pub oauth: Arc<OAuth>,
}

fn secret(text: &str) -> Option<Zeroizing<String>> {
    Some(Zeroizing::new(text.to_owned()))
}

fn oauth(disk: &Arc<Disk>, client_secret: Option<Zeroizing<String>>) -> Arc<OAuth> {
    let oauth = Arc::new(OAuth::new("c".to_owned(), client_secret, disk.clone()));
    oauth.bind(ORIGIN).expect("bound");
    oauth
}

/// Credentials with these tokens in their store, and a service that returns these responses in turn.
pub fn rig(stored: &TokenSet, own: Option<&str>, responses: Vec<Result<TokenResponse>>) -> Rig {
    rig_meanwhile(stored, own, responses, |_| ())
}

pub fn rig_meanwhile(
    stored: &TokenSet,
    own: Option<&str>,
    responses: Vec<Result<TokenResponse>>,
    meanwhile: fn(&Disk),
) -> Rig {
    let disk = Arc::new(Disk::default());
    disk.put(stored);
    let (responses, requests) = (Mutex::new(responses.into()), Mutex::default());
    let service = Arc::new(Service { disk: disk.clone(), meanwhile, responses, requests });
    let oauth = oauth(&disk, own.and_then(secret));
    Rig { disk, endpoint: service.clone(), service, oauth }
}

impl Rig {
    pub async fn token(&self, rejected: Option<&TokenSet>) -> Result<String> {
        let token = self.oauth.token(&self.endpoint, rejected).await?;
        Ok(token.access_token.to_string())
    }

    pub fn ready(&self, rejected: Option<&TokenSet>) -> Option<String> {
        let ready = self.oauth.cached_token(rejected).expect("ready or not");
        ready.map(|token| token.access_token.to_string())
    }

    fn refreshes(&self) -> usize {
        self.service.requests.lock().expect("a lock").len()
    }
}

pub fn refused(error: &str) -> Result<TokenResponse> {
    let description = "no more".to_owned();
    Err(ErrorKind::OAuth { error: error.to_owned(), description }.into())
}

fn away() -> Result<TokenResponse> {
    Err(ErrorKind::Timeout("away".to_owned()).into())
}

/// Tokens that are good for another `seconds` of an hour.
pub fn good_for(access: &str, seconds: i64) -> TokenSet {
    set(access, Some("r"), 3_600, now_ms() - 3_600_000 + 1_000 * seconds)
}

#[test]
fn a_user_of_an_application_has_a_printable_name() {
    let of_user = |user: Option<&str>| {
        let oauth = OAuth::new("c".to_owned(), None, Arc::new(Disk::default()));
        oauth.of_user(user.map(str::to_owned))
    };
    assert_eq!(of_user(None).expect("the client's own").user(), None);
    assert_eq!(of_user(Some("Zoë 7")).expect("a user").user(), Some("Zoë 7"));
    assert!(of_user(Some(&"é".repeat(256))).is_ok());
    for (user, why) in [("", "empty"), ("a\nb", "not valid"), (&"é".repeat(257), "not valid")] {
        let error = of_user(Some(user)).expect_err(why).to_string();
        assert!(error.contains(&format!("user is {why};")), "{error}");
    }
}

#[tokio::test]
async fn the_tokens_of_users_are_separate() {
    let disk = Arc::new(Disk::default());
    let named = |user: &str| {
        let oauth = OAuth::new("c".to_owned(), None, disk.clone());
        let oauth = Arc::new(oauth.of_user(Some(user.to_owned())).expect("a user"));
        oauth.bind(ORIGIN).expect("bound");
        oauth
    };
    let response = token_response("a", Some("r"), 3_600);
    let tokens = TokenSet::of_user("c", Some("ann"), response, now_ms());
    named("ann").save_user(tokens).await.expect("kept");
    assert!(disk.values.load(&user_key(ORIGIN, "c", "ann")).expect("loads").is_some());
    assert!(disk.values.load(&registration_key(ORIGIN)).expect("loads").is_none());
    let stored = named("ann").stored_token().await.expect("tokens");
    assert_eq!(stored.access_token.as_str(), "a");
    assert!(named("bob").stored_token().await.is_err());
}

#[tokio::test]
async fn what_is_read_again_is_what_the_store_has_now() {
    let rig = rig(&good_for("a", 3_000), None, Vec::new());
    let first = rig.oauth.stored_token().await.expect("tokens");
    assert!(Arc::ptr_eq(&rig.oauth.reload().await.expect("tokens"), &first), "nothing changed");
    rig.disk.put(&good_for("b", 3_000));
    assert_eq!(rig.oauth.reload().await.expect("tokens").access_token.as_str(), "b");
    assert_eq!(rig.ready(None).as_deref(), Some("b"));
}

#[tokio::test]
async fn a_service_that_renews_a_rejected_token_by_itself_gets_one_request() {
    let responses = ["a", "b"].map(|access| Ok(token_response(access, None, 3_600))).into();
    let rig = rig(&good_for("a", 3_000), None, responses);
    let rejected = rig.oauth.stored_token().await.expect("a token");
    assert_eq!(rig.token(Some(&rejected)).await.expect("a token"), "a");
    assert_eq!(rig.refreshes(), 1);
}

#[tokio::test]
async fn credentials_of_no_service_find_no_tokens() {
    let oauth = Arc::new(OAuth::new("c".to_owned(), None, Arc::new(Disk::default())));
    let error = oauth.stored_token().await.expect_err("no service");
    assert!(matches!(*error.kind, ErrorKind::Config(_)), "{error}");
}

#[tokio::test]
async fn a_login_is_kept_for_its_client_and_its_service() {
    let disk = Arc::new(Disk::default());
    let oauth = oauth(&disk, None);
    let registration = Registration::new("c".to_owned(), None, 4000);
    oauth.save_login(good_for("a", 3_000), registration.clone()).await.expect("kept");
    assert_eq!(disk.stored().access_token.as_str(), "a");
    let kept = disk.values.load(&registration_key(ORIGIN)).expect("loads").expect("kept");
    assert!(Registration::read(&kept, "it").expect("read") == registration);
}

#[tokio::test]
async fn a_token_that_still_serves_is_taken_without_a_look_at_the_store() {
    let rig = rig(&good_for("a", 3_000), None, vec![Ok(token_response("b", None, 3_600))]);
    assert_eq!(rig.ready(None), None, "nothing was read yet");
    assert_eq!(rig.token(None).await.expect("a token"), "a");
    let loads = rig.disk.loads.load(Ordering::SeqCst);
    assert_eq!(rig.ready(None).as_deref(), Some("a"));
    assert_eq!(rig.token(None).await.expect("a token"), "a");
    assert_eq!(rig.disk.loads.load(Ordering::SeqCst), loads);
    // The one that the service has just rejected does not serve, however long it is good for.
    let rejected = rig.oauth.stored_token().await.expect("a token");
    assert_eq!(rig.ready(Some(&rejected)), None);
    assert_eq!(rig.token(Some(&rejected)).await.expect("a token"), "b");
    assert_eq!(rig.ready(Some(&rejected)).as_deref(), Some("b"));
    assert_eq!(rig.refreshes(), 1);
}

#[tokio::test]
async fn a_token_that_ends_soon_is_renewed_before_it_is_sent() {
    let rig = rig(&good_for("a", 30), None, vec![Ok(token_response("b", None, 3_600))]);
    assert_eq!(rig.oauth.stored_token().await.expect("a token").access_token.as_str(), "a");
    assert_eq!(rig.ready(None), None);
    assert_eq!(rig.token(None).await.expect("a token"), "b");
    assert_eq!(rig.disk.stored().access_token.as_str(), "b");
    assert_eq!(rig.disk.stored().refresh_token.as_deref().map(String::as_str), Some("r"));
}

#[tokio::test]
async fn a_token_of_another_process_is_taken_without_a_refresh() {
    let rig = rig(&good_for("a", 3_000), None, Vec::new());
    assert_eq!(rig.token(None).await.expect("a token"), "a");
    let rejected = rig.oauth.stored_token().await.expect("a token");
    rig.disk.put(&good_for("b", 3_000));
    assert_eq!(rig.token(Some(&rejected)).await.expect("a token"), "b");
    assert_eq!((rig.refreshes(), rig.disk.holds.load(Ordering::SeqCst)), (0, 0));
}

#[tokio::test]
async fn while_the_service_is_away_a_token_serves_until_its_end_and_no_longer() {
    let holding = rig(&good_for("a", 30), None, vec![away(), away()]);
    for _ in 0..3 {
        assert_eq!(holding.token(None).await.expect("a token"), "a");
        assert_eq!(holding.ready(None).as_deref(), Some("a"), "for a while");
    }
    assert_eq!(holding.refreshes(), 1);
    let rejected = holding.oauth.stored_token().await.expect("a token");
    assert_eq!(holding.ready(Some(&rejected)), None);
    let error = holding.token(Some(&rejected)).await.expect_err("rejected");
    assert!(matches!(*error.kind, ErrorKind::Timeout(_)), "{error}");

    let ended = rig(&good_for("a", -1), None, vec![away()]);
    let error = ended.token(None).await.expect_err("no token");
    assert!(matches!(*error.kind, ErrorKind::Timeout(_)), "{error}");
    assert!(!ended.disk.has_refusal(), "trouble of the service costs no login");
}

#[tokio::test]
async fn a_rejection_is_stored_unless_it_is_of_the_client_and_not_of_the_token() {
    let with_secret = |text: Option<&str>| {
        let mut stored = good_for("a", -1);
        stored.client_secret = text.and_then(secret);
        stored
    };
    for (code, own, stored, written_down) in [
        ("invalid_grant", None, None, true),
        ("invalid_grant", Some("wrong"), Some("right"), true),
        ("invalid_client", None, Some("right"), false),
        ("invalid_client", Some("same"), Some("same"), false),
        ("invalid_client", Some("wrong"), Some("right"), false),
        ("invalid_client", Some("wrong"), None, false),
    ] {
        let rig = rig(&with_secret(stored), own, vec![refused(code)]);
        let error = rig.token(None).await.expect_err("refused");
        assert!(matches!(*error.kind, ErrorKind::LoginRequired { .. }), "{error}");
        assert!(error.to_string().contains("no more"), "{error}");
        let case = format!("{code} {own:?} {stored:?}");
        assert_eq!(rig.disk.has_refusal(), written_down, "{case}");
        let requests = rig.service.requests.lock().expect("a lock");
        assert_eq!(sent(&requests[0], "client_secret").as_deref(), own.or(stored), "{case}");
    }
}

#[tokio::test]
async fn a_refusal_is_remembered_here_and_by_others_that_share_the_store() {
    let rig = rig(&good_for("a", -1), None, vec![refused("invalid_grant")]);
    for _ in 0..3 {
        let error = rig.token(None).await.expect_err("refused");
        assert!(matches!(*error.kind, ErrorKind::LoginRequired { .. }), "{error}");
        assert!(error.to_string().contains("no more"), "{error}");
    }
    let other = oauth(&rig.disk, None);
    let error = other.token(&rig.endpoint, None).await.expect_err("refused");
    assert!(error.to_string().contains("the service rejected the refresh"), "{error}");
    assert_eq!(rig.refreshes(), 1);
    // A new login by another process ends it.
    rig.disk.put(&good_for("b", 3_000));
    assert_eq!(rig.token(None).await.expect("a token"), "b");
}

#[tokio::test]
async fn tokens_that_cannot_be_saved_serve_and_are_refreshed_in_place_of_the_stored_ones() {
    let responses =
        vec![Ok(token_response("b", Some("s"), 3_600)), Ok(token_response("d", None, 3_600))];
    let rig = rig(&good_for("a", -1), None, responses);
    rig.disk.full.store(true, Ordering::SeqCst);
    let error = rig.token(None).await.expect_err("not saved");
    assert!(error.to_string().contains("full"), "{error}");
    assert_eq!(rig.ready(None).as_deref(), Some("b"));
    assert_eq!(rig.disk.stored().access_token.as_str(), "a");
    assert_eq!(rig.oauth.reload().await.expect("tokens").access_token.as_str(), "b");
    let rejected = rig.oauth.stored_token().await.expect("a token");
    // A rejected one is not used instead of a store that cannot be read.
    rig.disk.unreadable.store(true, Ordering::SeqCst);
    let old = good_for("a", -1);
    assert_eq!(rig.token(Some(&old)).await.expect("a token"), "b", "it replaces the old one");
    let error = rig.token(Some(&rejected)).await.expect_err("unreadable");
    assert!(error.to_string().contains("unreadable"), "{error}");
    rig.disk.unreadable.store(false, Ordering::SeqCst);
    rig.disk.full.store(false, Ordering::SeqCst);
    assert_eq!(rig.token(Some(&rejected)).await.expect("a token"), "d");
    assert_eq!(rig.disk.stored().access_token.as_str(), "d");
    assert_eq!(rig.disk.stored().refresh_token.as_deref().map(String::as_str), Some("s"));
    let requests = rig.service.requests.lock().expect("a lock");
    let tokens: Vec<_> = requests.iter().map(|one| sent(one, "refresh_token")).collect();
    assert_eq!(tokens, [Some("r".to_owned()), Some("s".to_owned())]);
}

#[tokio::test]
async fn what_another_process_stored_is_not_replaced_by_what_could_not_be_saved() {
    let rig = rig(&good_for("a", -1), None, vec![Ok(token_response("b", None, 3_600))]);
    rig.disk.full.store(true, Ordering::SeqCst);
    rig.token(None).await.expect_err("not saved");
    let rejected = rig.oauth.stored_token().await.expect("a token");
    rig.disk.full.store(false, Ordering::SeqCst);
    rig.disk.put(&good_for("c", 3_000));
    assert_eq!(rig.token(Some(&rejected)).await.expect("a token"), "c");
    assert_eq!(rig.disk.stored().access_token.as_str(), "c");
    assert_eq!(rig.refreshes(), 1);
}

#[tokio::test]
async fn a_logout_deletes_what_the_client_stored_and_leaves_nothing_behind() {
    let disk = Arc::new(Disk::default());
    let oauth = oauth(&disk, None);
    let register = |id: &str| {
        let written = Registration::new(id.to_owned(), None, 4000).write().expect("written");
        disk.values.save(&registration_key(ORIGIN), &written).expect("saved");
    };
    let registered = || disk.values.load(&registration_key(ORIGIN)).expect("loads").is_some();
    let logged_in = || disk.values.load(&token_key(ORIGIN, "c")).expect("loads").is_some();

    oauth.log_out().await.expect("nothing to do");
    assert_eq!(disk.holds.load(Ordering::SeqCst), 0);
    disk.put(&good_for("a", 3_000));
    register("other");
    oauth.log_out().await.expect("logged out");
    assert!(!logged_in() && registered());
    oauth.log_out().await.expect("nothing to do");
    assert_eq!(disk.holds.load(Ordering::SeqCst), 1);
    // A registration without tokens.
    register("c");
    oauth.log_out().await.expect("logged out");
    assert!(!registered());
    disk.put(&good_for("a", 3_000));
    register("c");
    oauth.log_out().await.expect("logged out");
    assert!(!logged_in() && !registered());
}

#[tokio::test]
async fn a_store_that_mixes_up_keys_returns_no_tokens_of_another_user() {
    let disk = Arc::new(Disk::default());
    let of = |client: &str, user: Option<&str>| {
        let set = TokenSet::of_user(client, user, token_response("a", Some("r"), 3_600), now_ms());
        disk.values.save(&token_key(ORIGIN, "c"), &set.write().expect("written")).expect("saved");
    };
    for (client, user) in [("C", None), ("c", Some("ann"))] {
        of(client, user);
        let error = oauth(&disk, None).stored_token().await.expect_err("of another one");
        assert!(error.to_string().contains("belongs to another client or user"), "{error}");
    }
    of("c", None);
    assert!(oauth(&disk, None).stored_token().await.is_ok());
}

#[test]
fn a_client_secret_is_absent_or_printable() {
    for secret in [None, Some("s"), Some("a secret, with \u{20ac}")] {
        assert!(check_client_secret(secret).is_ok());
    }
    for (secret, why) in [("", "empty"), ("a\tb", "not valid")] {
        let error = check_client_secret(Some(secret)).expect_err(why).to_string();
        assert!(error.contains(&format!("client_secret is {why};")), "{error}");
    }
}

#[tokio::test]
async fn a_wrong_secret_fails_again_without_a_request_and_another_caller_is_not_affected() {
    let rig = rig(&good_for("a", -1), Some("wrong"), vec![refused("invalid_client")]);
    for _ in 0..2 {
        let error = rig.token(None).await.expect_err("refused").to_string();
        assert!(error.contains("client_secret is wrong"), "{error}");
    }
    assert_eq!(rig.refreshes(), 1, "what was refused is not sent again");
    rig.service.responses.lock().expect("a lock").push_back(Ok(token_response("b", None, 3_600)));
    let other = oauth(&rig.disk, secret("right"));
    let token = other.token(&rig.endpoint, None).await.expect("a token");
    assert_eq!(token.access_token.as_str(), "b");
}
