//! Clients that read a list now and then, by the real code or by plain exponential backoff.

use std::{cell::RefCell, rc::Rc, sync::Arc, time::Duration};

use boardlot::{
    api::{Argument, endpoint},
    auth::{
        Algorithm, Credentials, KeyPair, OAuth, Registration, SharedStore, TokenCaches,
        TokenResponse, TokenSet, generate,
        store::{Memory, TokenStore, user_key},
    },
    client::Client,
    decode::Value,
    http::{BaseUrl, ClientRate, TransportOptions},
    shared_limit::{Allowance, SharedLimit},
    simulated,
};
use tokio::time::{Instant, sleep, sleep_until, timeout};
use zeroize::Zeroizing;

use super::service::{PAGES, ROWS, Service};

const BASE: &str = "http://127.0.0.1:9";
/// How long an attempt may take.
const TIMEOUT: Duration = Duration::from_secs(3);
/// As many clients share a limit, as the processes of one machine do.
const GROUP: usize = 10;

/// How requests are made.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// By boardlot, with the tokens of logins or with signatures.
    Logins,
    Keys,
    /// As requests with urllib3's `Retry(3, backoff_factor=0.5, status_forcelist=[429, 503])`.
    Plain,
}

/// What the clients of a run have seen.
#[derive(Debug, Default)]
pub struct Seen {
    /// By second since the start.
    pub pages: Vec<u32>,
    /// By client.
    pub by_client: Vec<u32>,
    /// Calls that were begun: without retries, so many requests would be sent.
    pub calls: u64,
    pub errors: u64,
    /// Lists with a row missing, or twice, or out of order.
    pub wrong_lists: u64,
}

#[derive(Clone)]
pub struct Fleet {
    pub service: Arc<Service>,
    pub seen: Rc<RefCell<Seen>>,
    pub start: Instant,
    pub end: Instant,
    /// How often each client reads its list.
    pub interval: Rc<RefCell<Duration>>,
}

impl Fleet {
    fn succeeded(&self, client: usize) {
        let mut seen = self.seen.borrow_mut();
        let second = usize::try_from(self.start.elapsed().as_secs()).expect("in range");
        if let Some(count) = seen.pages.get_mut(second) {
            *count += 1;
        }
        seen.by_client[client] += 1;
    }

    /// One client until the end.
    pub async fn run(self, number: usize, client: Option<Client>) {
        let interval = *self.interval.borrow();
        sleep(interval.mul_f64(simulated::random_share())).await;
        let mut checkpoint: Option<String> = None;
        let mut rows: Vec<u64> = Vec::new();
        while Instant::now() < self.end {
            let due =
                Instant::now() + self.interval.borrow().mul_f64(0.5 + simulated::random_share());
            match &client {
                Some(client) => self.read(number, client, &mut checkpoint, &mut rows).await,
                None => self.read_plainly(number).await,
            }
            sleep_until(due).await;
        }
    }

    /// Reads the list, from where an error has stopped the last time.
    async fn read(
        &self,
        number: usize,
        client: &Client,
        checkpoint: &mut Option<String>,
        rows: &mut Vec<u64>,
    ) {
        let account = [("acc_id", Argument::Integer(1))];
        let orders = endpoint("crypto_orders").expect("an endpoint");
        let pages = client.pages::<_, ()>(orders, &account, None, checkpoint.as_deref());
        let pages = pages.expect("pages");
        loop {
            match pages.next_page().await {
                Ok(Some(page)) => {
                    self.succeeded(number);
                    for index in page.range.clone() {
                        let members = page.page.row(index).expect("a row");
                        let value = Value::parse(members[0].1.get()).expect("JSON");
                        rows.push(value.as_text().expect("text").parse().expect("a number"));
                    }
                }
                Ok(None) => {
                    self.seen.borrow_mut().calls += pages.requests();
                    let is_whole = rows.iter().copied().eq(0..PAGES * ROWS);
                    self.seen.borrow_mut().wrong_lists += u64::from(!is_whole);
                    rows.clear();
                    *checkpoint = None;
                    return;
                }
                Err(_) => {
                    let mut seen = self.seen.borrow_mut();
                    seen.calls += pages.requests();
                    seen.errors += 1;
                    *checkpoint = Some(pages.checkpoint());
                    return;
                }
            }
        }
    }

    /// What requests does with a `Retry` of urllib3.
    async fn read_plainly(&self, number: usize) {
        for page in 0..PAGES {
            self.seen.borrow_mut().calls += 1;
            let mut url: reqwest::Url =
                format!("{BASE}/orders?page_flag={page}").parse().expect("a URL");
            let mut attempt = 0;
            loop {
                let request = reqwest::Request::new(reqwest::Method::GET, url);
                let again = request.try_clone().expect("a request");
                let outcome = timeout(TIMEOUT, self.service.respond(request)).await;
                let wait = match &outcome {
                    Ok(Ok(response)) if response.status() == 200 => {
                        self.succeeded(number);
                        break;
                    }
                    Ok(Ok(response)) => response.headers().get("retry-after").map(|seconds| {
                        let seconds = seconds.to_str().expect("text").parse().expect("seconds");
                        Duration::from_secs(seconds)
                    }),
                    _ => None,
                };
                attempt += 1;
                if attempt > 3 {
                    self.seen.borrow_mut().errors += 1;
                    return;
                }
                // The first retry comes at once.
                let backoff = if attempt == 1 { 0.0 } else { 0.5 * f64::from(1 << (attempt - 1)) };
                sleep(wait.unwrap_or(Duration::from_secs_f64(backoff))).await;
                url = again.url().clone();
            }
        }
    }
}

/// The clients of a run; with plain backoff there are none.
pub fn clients(kind: Kind, service: &Arc<Service>, count: usize, rate: f64) -> Vec<Option<Client>> {
    let memory = Arc::new(Memory::default());
    let (private, _) = generate(Algorithm::Ed25519, 0).expect("a key");
    let key = Arc::new(KeyPair::read(private.as_bytes(), None).expect("a key"));
    let allowance = Allowance { rate, burst: 1 };
    let mut limit = Arc::new(SharedLimit::in_process(allowance));
    let make = |number: usize| {
        if number.is_multiple_of(GROUP) {
            limit = Arc::new(SharedLimit::in_process(allowance));
        }
        let credentials = match kind {
            Kind::Plain => return None,
            Kind::Keys => Credentials::api_key(format!("key-{number}"), key.clone()),
            Kind::Logins => Ok(Credentials::OAuth(Arc::new(login(&memory, service, number)))),
        };
        let options = TransportOptions {
            timeout: TIMEOUT,
            rate_limit: Some(ClientRate::Shared(limit.clone())),
            exchange: Some(service.clone()),
            ..TransportOptions::default()
        };
        let base = BaseUrl::parse(BASE).expect("a base");
        let credentials = credentials.expect("credentials");
        Some(Client::new(base, Some(credentials), options).expect("a client"))
    };
    (0..count).map(make).collect()
}

/// A login whose tokens expire at some time within their life.
fn login(memory: &Arc<Memory>, service: &Service, number: usize) -> OAuth {
    let user = format!("user-{number}");
    let registration = Registration::new("client".to_owned(), None, 4000);
    let issued = TokenResponse {
        access_token: Zeroizing::new(service.token()),
        refresh_token: Some(Zeroizing::new("refresh".to_owned())),
        lifetime: Duration::from_secs(1_800),
        scopes: None,
    };
    let now_ms = i64::try_from(simulated::since_1970().as_millis()).expect("in range");
    let before = (simulated::random_share() * 1_500_000.0) as i64;
    let mut set = TokenSet::new(&registration, issued, now_ms - before);
    set.user = Some(user.clone());
    let key = user_key(BASE, "client", &user);
    memory.save(&key, &set.write().expect("written")).expect("saved");
    let store = SharedStore::new(memory.clone(), Arc::new(TokenCaches::default()));
    OAuth::new("client".to_owned(), None, store).of_user(Some(user)).expect("a login")
}
