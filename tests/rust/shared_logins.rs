//! Promise 51: workers that share a store, as users write stores, and a service that rotates refresh
//! tokens. In every order of events nobody is logged out although a token was granted.

use std::{
    collections::{HashMap, HashSet},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use boardlot::{
    auth::{
        OAuth, SharedStore, TokenCaches, TokenEndpoint, TokenResponse, TokenSet, now_ms,
        store::{Guard, Memory, Secret, TokenStore, refusal_key, user_key},
    },
    error::{ErrorKind, Result},
};
use futures_util::future::BoxFuture;

use super::tokens::{Arguments, sent, token_response};

const ORIGIN: &str = "https://api.example.com";

/// Random numbers that a seed determines (SplitMix64).
#[derive(Clone)]
struct Random(Arc<AtomicU64>);

impl Random {
    fn below(&self, limit: u64) -> u64 {
        let mut z = self.0.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::SeqCst);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % limit
    }

    fn pause(&self) {
        std::thread::sleep(Duration::from_micros(self.below(3_000)));
    }
}

/// How a user's store keeps workers apart.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Kind {
    /// It has no `lock`.
    Unlocked,
    /// A lock that all workers respect.
    Locked,
    /// A lock that ends by itself after a while, even if its holder is alive.
    Expiring,
    /// A transaction: what is saved in it can be seen when it ends.
    Transaction,
    /// A transaction whose lock is lost in the middle.
    LostTransaction,
}

impl Kind {
    const ALL: [Kind; 5] =
        [Kind::Unlocked, Kind::Locked, Kind::Expiring, Kind::Transaction, Kind::LostTransaction];

    fn commits(self) -> bool {
        matches!(self, Kind::Transaction | Kind::LostTransaction)
    }

    fn expires(self) -> bool {
        matches!(self, Kind::Expiring | Kind::LostTransaction)
    }
}

/// What all workers share.
struct Database {
    kind: Kind,
    values: Memory,
    held_until: Mutex<Option<(u64, Instant)>>,
    owners: AtomicU64,
    random: Random,
}

/// The connection of one worker.
#[derive(Clone)]
struct Connection {
    database: Arc<Database>,
    /// What was saved in its transaction.
    pending: Arc<Mutex<HashMap<String, Secret>>>,
    in_transaction: Arc<Mutex<bool>>,
}

impl TokenStore for Connection {
    fn load(&self, key: &str) -> Result<Option<Secret>> {
        self.database.random.pause();
        if let Some(own) = self.pending.lock().expect("a lock").get(key) {
            return Ok(Some(own.clone()));
        }
        self.database.values.load(key)
    }

    fn save(&self, key: &str, value: &[u8]) -> Result<()> {
        self.database.random.pause();
        if *self.in_transaction.lock().expect("a lock") {
            let value = Secret::new(value.to_vec());
            self.pending.lock().expect("a lock").insert(key.to_owned(), value);
            return Ok(());
        }
        self.database.values.save(key, value)
    }

    fn delete(&self, key: &str) -> Result<()> {
        self.database.values.delete(key)
    }

    fn lock(&self, _: &str) -> Result<Guard> {
        let kind = self.database.kind;
        if kind == Kind::Unlocked {
            return Ok(Guard::new(()));
        }
        let own = self.database.owners.fetch_add(1, Ordering::SeqCst);
        let lasts = match kind.expires() {
            true => Duration::from_micros(self.database.random.below(8_000)),
            false => Duration::from_secs(60),
        };
        loop {
            let mut held = self.database.held_until.lock().expect("a lock");
            if held.is_none_or(|(_, until)| until < Instant::now()) {
                *held = Some((own, Instant::now() + lasts));
                break;
            }
            drop(held);
            std::thread::sleep(Duration::from_micros(200));
        }
        *self.in_transaction.lock().expect("a lock") = kind.commits();
        let connection = self.clone();
        Ok(Guard::released_by(move |failed| {
            *connection.in_transaction.lock().expect("a lock") = false;
            let saved = std::mem::take(&mut *connection.pending.lock().expect("a lock"));
            for (key, value) in saved.iter().filter(|_| !failed) {
                connection.database.values.save(key, value)?;
            }
            let mut held = connection.database.held_until.lock().expect("a lock");
            if held.is_some_and(|(owner, _)| owner == own) {
                *held = None;
            }
            Ok(())
        }))
    }

    fn excludes_other_processes(&self) -> bool {
        self.database.kind != Kind::Unlocked
    }
}

/// An authorization server that accepts each refresh token once. Something in front of it sometimes
/// responds in its place.
struct Service {
    random: Random,
    state: Mutex<State>,
    proxies: bool,
}

#[derive(Default)]
struct State {
    issued: u64,
    refresh_token: String,
    valid: HashSet<String>,
}

impl Service {
    fn issue(&self) -> TokenResponse {
        let mut state = self.state.lock().expect("a lock");
        state.issued += 1;
        state.refresh_token = format!("refresh-{}", state.issued);
        let access = format!("access-{}", state.issued);
        state.valid.insert(access.clone());
        token_response(&access, Some(&state.refresh_token), 3_600)
    }

    fn expire(&self) {
        self.state.lock().expect("a lock").valid.clear();
    }

    fn accepts(&self, set: &TokenSet) -> bool {
        self.state.lock().expect("a lock").valid.contains(set.access_token.as_str())
    }
}

impl TokenEndpoint for Service {
    fn refresh(&self, arguments: Arguments) -> BoxFuture<'_, Result<TokenResponse>> {
        Box::pin(async move {
            let wait = || tokio::time::sleep(Duration::from_micros(self.random.below(5_000)));
            wait().await;
            let error = "invalid_grant".to_owned();
            if self.proxies && self.random.below(4) == 0 {
                let description = "Forbidden".to_owned();
                return Err(ErrorKind::GrantRejected { error, description }.into());
            }
            let is_current = sent(&arguments, "refresh_token").as_ref()
                == Some(&self.state.lock().expect("a lock").refresh_token);
            let outcome = match is_current {
                true => Ok(self.issue()),
                false => Err(ErrorKind::OAuth { error, description: "reused".into() }.into()),
            };
            wait().await;
            outcome
        })
    }
}

fn worker(database: &Arc<Database>) -> Arc<OAuth> {
    let connection = Connection {
        database: database.clone(),
        pending: Arc::default(),
        in_transaction: Arc::default(),
    };
    // Each has caches of its own, as in a process of its own.
    let store = SharedStore::new(Arc::new(connection), Arc::new(TokenCaches::default()));
    let oauth = OAuth::new("c".to_owned(), None, store).of_user(Some("ann".to_owned()));
    let oauth = Arc::new(oauth.expect("a user"));
    oauth.bind(ORIGIN).expect("bound");
    oauth
}

/// Calls the service as a client does: a token that it rejects is refreshed once.
async fn call(oauth: &Arc<OAuth>, service: &Arc<Service>) -> Result<bool> {
    let endpoint: Arc<dyn TokenEndpoint> = service.clone();
    let token = oauth.token(&endpoint, None).await?;
    if service.accepts(&token) {
        return Ok(true);
    }
    let token = oauth.token(&endpoint, Some(&token)).await?;
    Ok(service.accepts(&token))
}

/// Some workers, which use and refresh the tokens of one user in a random order.
async fn run(kind: Kind, proxies: bool, seed: u64) {
    let random = Random(Arc::new(AtomicU64::new(seed)));
    let state = Mutex::default();
    let service = Arc::new(Service { random: random.clone(), state, proxies });
    let database = Arc::new(Database {
        kind,
        values: Memory::default(),
        held_until: Mutex::default(),
        owners: AtomicU64::new(0),
        random: random.clone(),
    });
    let first = worker(&database);
    let set = TokenSet::of_user("c", Some("ann"), service.issue(), now_ms());
    first.save_user(set).await.expect("saved");
    let workers: Vec<_> = (0..2 + random.below(7)).map(|_| worker(&database)).collect();
    let case = format!("{kind:?}, proxies {proxies}, seed {seed}");
    for _ in 0..3 {
        service.expire();
        let mut calls = tokio::task::JoinSet::new();
        for oauth in &workers {
            let (oauth, service, random) = (oauth.clone(), service.clone(), random.clone());
            calls.spawn(async move {
                tokio::time::sleep(Duration::from_micros(random.below(4_000))).await;
                call(&oauth, &service).await
            });
        }
        while let Some(outcome) = calls.join_next().await {
            // Without a lock, and with one that holds, not even one call fails.
            if let Err(error) = outcome.expect("no panic") {
                let may_fail = proxies || kind.expires();
                assert!(may_fail, "{case}: {error}");
            }
        }
    }
    // Whatever happened, everybody can continue, and so can a worker that starts now.
    let service = Arc::new(Service {
        random,
        state: Mutex::new(std::mem::take(&mut *service.state.lock().expect("a lock"))),
        proxies: false,
    });
    for oauth in workers.iter().chain([&first, &worker(&database)]) {
        let outcome = call(oauth, &service).await;
        assert!(outcome.as_ref().is_ok_and(|accepted| *accepted), "{case}: {outcome:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn security_51_nobody_is_logged_out_although_a_token_was_granted() {
    let mut runs = tokio::task::JoinSet::new();
    for seed in 0..60 {
        for kind in Kind::ALL {
            let proxies = seed % 3 == 0;
            runs.spawn(run(kind, proxies, seed));
        }
        // Some at a time, so that they share no more threads than they need.
        while runs.len() > 6 {
            runs.join_next().await.expect("a run").expect("no panic");
        }
    }
    while let Some(run) = runs.join_next().await {
        run.expect("no panic");
    }
}

#[test]
fn security_51_a_refusal_has_a_key_of_its_own() {
    let key = user_key(ORIGIN, "c", "ann");
    assert_ne!(refusal_key(&key), user_key(ORIGIN, "c", "ann %refused"));
    assert_ne!(refusal_key(&key), key);
}
