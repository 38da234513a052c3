//! Clients that read a list now and then, by the real code or by plain exponential backoff.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
    sync::Arc,
    time::Duration,
};

use boardlot_client::extension::{
    api::{Argument, endpoint},
    auth::{
        Algorithm, Credentials, KeyPair, OAuth, Registration, SharedStore, StoreId, TokenResponse,
        TokenSet, generate,
        store::{Memory, TokenStore, user_key},
    },
    client::{Client, ClientOptions},
    decode::Value,
    http::ClientRate,
    os::simulated,
    shared_limit::{Allowance, SharedLimit},
};
use tokio::{
    task::spawn_local,
    time::{Instant, sleep, timeout},
};
use zeroize::Zeroizing;

use super::service::{PAGES, ROWS, Service};

const BASE: &str = "http://127.0.0.1:9";
/// The time that an attempt may take.
const TIMEOUT: Duration = Duration::from_secs(3);
/// A page that comes later than this is not in time.
pub const DEADLINE: Duration = Duration::from_secs(10);
/// The number of clients that share a limit, as the processes of one machine do.
const GROUP: usize = 10;

/// The kind of client that makes requests.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    /// By boardlot, with the tokens of logins or with signatures.
    Logins,
    Keys,
    /// One half each.
    Both,
    /// As requests with urllib3's `Retry(3, backoff_factor=0.5, status_forcelist=[429, 503])`.
    Plain,
}

/// The observations of a run's clients.
#[derive(Debug, Default)]
pub struct Seen {
    /// The pages that were received, by second since the start.
    pub pages: Vec<u32>,
    /// The pages that calls were begun for, and those of them that came in time.
    pub wanted: Vec<u32>,
    pub in_time: Vec<u32>,
    /// The pages that were received, by client.
    pub by_client: Vec<u32>,
    /// Requests without retries.
    pub requests: u64,
    pub errors: u64,
    /// Lists with a row missing, or twice, or out of order.
    pub wrong_lists: u64,
}

pub struct Fleet {
    pub service: Arc<Service>,
    pub seen: RefCell<Seen>,
    pub start: Instant,
    pub end: Instant,
    /// The interval at which each client reads its list.
    pub interval: Cell<Duration>,
}

/// One client, and the lists whose calls have failed: from where the next call resumes, and the rows before.
pub struct Reader {
    fleet: Rc<Fleet>,
    number: usize,
    client: Option<Client>,
    interrupted: RefCell<Vec<(String, Vec<u64>)>>,
}

impl Fleet {
    fn second(&self) -> usize {
        usize::try_from(self.start.elapsed().as_secs()).expect("in range")
    }

    /// The time from which the pages of a call are waited for.
    fn wants(&self, pages: u64) -> Instant {
        if let Some(count) = self.seen.borrow_mut().wanted.get_mut(self.second()) {
            *count += u32::try_from(pages).expect("small");
        }
        Instant::now()
    }

    fn succeeded(&self, client: usize, wanted_at: Instant) {
        let mut seen = self.seen.borrow_mut();
        if let Some(count) = seen.pages.get_mut(self.second()) {
            *count += 1;
        }
        // time: simulated
        if wanted_at.elapsed() <= DEADLINE {
            let second = wanted_at.duration_since(self.start).as_secs();
            if let Some(count) = seen.in_time.get_mut(usize::try_from(second).expect("in range")) {
                *count += 1;
            }
        }
        seen.by_client[client] += 1;
    }
}

impl Reader {
    pub fn new(fleet: &Rc<Fleet>, number: usize, client: Option<Client>) -> Rc<Self> {
        Rc::new(Reader { fleet: fleet.clone(), number, client, interrupted: RefCell::default() })
    }

    /// Calls at random times until the end, whether or not the earlier calls have ended.
    pub async fn run(self: Rc<Self>) {
        sleep(self.fleet.interval.get().mul_f64(simulated::random_share())).await;
        while Instant::now() < self.fleet.end {
            spawn_local(self.clone().call());
            let share = 0.5 + simulated::random_share();
            sleep(self.fleet.interval.get().mul_f64(share)).await;
        }
    }

    /// Calls once within this time.
    pub async fn call_within(self: Rc<Self>, time: Duration) {
        sleep(time.mul_f64(simulated::random_share())).await;
        self.call().await;
    }

    async fn call(self: Rc<Self>) {
        match &self.client {
            Some(client) => self.read(client).await,
            None => self.read_plainly().await,
        }
    }

    /// Reads the list, or the rest of one whose call has failed.
    async fn read(&self, client: &Client) {
        let interrupted = self.interrupted.borrow_mut().pop();
        let (checkpoint, mut rows) = interrupted
            .map_or_else(|| (None, Vec::new()), |(checkpoint, rows)| (Some(checkpoint), rows));
        let wanted_at = self.fleet.wants(PAGES - rows.len() as u64 / ROWS);
        let account = [("acc_id", Argument::Integer(1))];
        let orders = endpoint("crypto_orders").expect("an endpoint");
        let pages = client.pages(orders, &account, None, checkpoint.as_deref()).expect("pages");
        let mut last = None;
        let outcome = loop {
            match pages.after(last.as_deref()).await {
                Ok(Some(page)) => {
                    self.fleet.succeeded(self.number, wanted_at);
                    for index in page.first()..page.len() {
                        let members = page.records().row(index).expect("a row");
                        let value = Value::parse(members[0].1.get()).expect("JSON");
                        rows.push(value.as_text().expect("text").parse().expect("a number"));
                    }
                    last = Some(page);
                }
                Ok(None) => break None,
                Err(error) => break Some(error.checkpoint.expect("a checkpoint")),
            }
        };
        let mut seen = self.fleet.seen.borrow_mut();
        seen.requests += pages.requests();
        match outcome {
            None => seen.wrong_lists += u64::from(!rows.into_iter().eq(0..PAGES * ROWS)),
            Some(checkpoint) => {
                seen.errors += 1;
                self.interrupted.borrow_mut().push((checkpoint, rows));
            }
        }
    }

    /// Reads as requests does with a `Retry` of urllib3.
    async fn read_plainly(&self) {
        let wanted_at = self.fleet.wants(PAGES);
        for page in 0..PAGES {
            self.fleet.seen.borrow_mut().requests += 1;
            let mut url: reqwest::Url =
                format!("{BASE}/orders?page_flag={page}").parse().expect("a URL");
            let mut attempt = 0;
            loop {
                let request = reqwest::Request::new(reqwest::Method::GET, url);
                let again = request.try_clone().expect("a request");
                let outcome = timeout(TIMEOUT, self.fleet.service.respond(request)).await;
                let wait = match &outcome {
                    Ok(Ok(response)) if response.status() == 200 => {
                        self.fleet.succeeded(self.number, wanted_at);
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
                    self.fleet.seen.borrow_mut().errors += 1;
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
        let is_login = match kind {
            Kind::Plain => return None,
            Kind::Logins => true,
            Kind::Keys => false,
            Kind::Both => number.is_multiple_of(2),
        };
        let credentials = match is_login {
            true => Ok(Credentials::OAuth(Arc::new(login(&memory, service, number)))),
            false => Credentials::api_key(format!("key-{number}"), key.clone()),
        };
        let mut options = ClientOptions::of(credentials.expect("credentials"));
        options.transport.timeout = TIMEOUT;
        options.transport.rate_limit = Some(ClientRate::Shared(limit.clone()));
        options.transport.exchange = Some(service.clone());
        Some(Client::new(BASE, options).expect("a client"))
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
        lifetime: Some(Duration::from_secs(1_800)),
        scopes: None,
    };
    let now_ms = i64::try_from(simulated::since_1970().as_millis()).expect("in range");
    let before = (simulated::random_share() * 1_500_000.0) as i64;
    let mut set = TokenSet::new(&registration, issued, now_ms - before);
    set.user = Some(user.clone());
    let key = user_key(BASE, "client", &user);
    memory.save(&key, &set.write().expect("written")).expect("saved");
    let store = SharedStore::new(memory.clone(), StoreId::new());
    OAuth::new("client".to_owned(), None, store).of_user(Some(user)).expect("a login")
}
