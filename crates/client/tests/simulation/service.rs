//! A service with a capacity, and what can be wrong with it.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use boardlot_client::extension::{
    error::{Delivery, ErrorKind, Result},
    http::{HttpResponse, SimulatedExchange},
    os::simulated,
};
use futures_util::future::BoxFuture;
use serde_json::{Value, json};
use tokio::time::{Instant, sleep_until};

/// The time of a request on the network and at an idle service.
const LATENCY: Duration = Duration::from_millis(20);
/// The service accepts this much work ahead: longer than its callers wait, so it may
/// work for nobody.
const BACKLOG: Duration = Duration::from_secs(10);
pub const PAGES: u64 = 2;
pub const ROWS: u64 = 3;
/// The time that a restart takes.
const PAUSE: Duration = Duration::from_secs(10);
const LIFETIME: Duration = Duration::from_secs(1_800);
/// The allowed difference between a signature's time and the service's.
const CLOCK_MS: i64 = 5_000;

/// The kind of fault.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Fault {
    /// More is offered: this many times the capacity.
    Load(f64),
    /// Every client calls once more until the end.
    Burst,
    /// A tenth of the capacity.
    Slow,
    /// Half of the requests fail, after they were processed.
    Errors,
    /// Half of the connections are reset.
    Resets,
    /// A quarter of the capacity is granted; what is more is rejected, perhaps with `Retry-After`.
    Throttled { retry_after: Option<u64> },
    /// All connections are dropped, and none are accepted for ten seconds.
    Restart,
    /// No token is valid any more.
    TokensExpire,
    /// The clock is set forward by an hour, and stays there.
    ClockJumps,
}

#[derive(Debug)]
pub struct Service {
    capacity: f64,
    state: Mutex<State>,
    /// The requests that arrived.
    pub attempts: AtomicU64,
    pub refreshes: AtomicU64,
}

#[derive(Debug)]
struct State {
    fault: Option<Fault>,
    busy_until: Instant,
    down_until: Instant,
    /// Requests of earlier ones are lost.
    generation: u64,
    granted_until: Instant,
    ahead_ms: i64,
    /// Tokens that were issued before are not valid.
    tokens_since: u64,
    issued: u64,
}

impl Service {
    pub fn new(capacity: f64) -> Arc<Self> {
        let now = Instant::now();
        Arc::new(Service {
            capacity,
            state: Mutex::new(State {
                fault: None,
                busy_until: now,
                down_until: now,
                generation: 0,
                granted_until: now,
                ahead_ms: 0,
                tokens_since: 0,
                issued: 0,
            }),
            attempts: AtomicU64::new(0),
            refreshes: AtomicU64::new(0),
        })
    }

    /// Begins or ends a fault.
    pub fn set(&self, fault: Option<Fault>) {
        let mut state = self.state.lock().expect("a lock");
        state.fault = fault;
        match fault {
            Some(Fault::Restart) => {
                state.generation += 1;
                state.busy_until = Instant::now();
                state.down_until = Instant::now() + PAUSE;
            }
            Some(Fault::TokensExpire) => state.tokens_since = state.issued + 1,
            Some(Fault::ClockJumps) => state.ahead_ms = 3_600_000,
            _ => {}
        }
    }

    pub fn token(&self) -> String {
        let mut state = self.state.lock().expect("a lock");
        state.issued += 1;
        format!("token-{}", state.issued)
    }

    pub async fn respond(&self, message: reqwest::Request) -> Result<HttpResponse> {
        self.attempts.fetch_add(1, Ordering::Relaxed);
        let (fault, done_at, generation) = match self.enter() {
            Ok(entered) => entered,
            Err(rejected) => {
                tokio::time::sleep(LATENCY).await;
                return rejected;
            }
        };
        sleep_until(done_at + LATENCY).await;
        if self.state.lock().expect("a lock").generation != generation {
            return lost(Delivery::Unknown);
        }
        match fault {
            Some(Fault::Errors) if simulated::random_share() < 0.5 => {
                json_response(503, None, json!({}))
            }
            Some(Fault::Resets) if simulated::random_share() < 0.5 => lost(Delivery::Unknown),
            _ => self.content(&message),
        }
    }

    /// The time at which a request that arrives now is done, or its immediate response.
    #[expect(clippy::result_large_err, reason = "a response is one")]
    fn enter(&self) -> Result<(Option<Fault>, Instant, u64), Result<HttpResponse>> {
        let mut state = self.state.lock().expect("a lock");
        let now = Instant::now();
        if now < state.down_until {
            return Err(lost(Delivery::NotSent));
        }
        if let Some(Fault::Throttled { retry_after }) = state.fault {
            let interval = Duration::from_secs_f64(4.0 / self.capacity);
            // A second's worth may come at once.
            if state.granted_until > now + Duration::from_secs(1) {
                return Err(json_response(429, retry_after, json!({})));
            }
            state.granted_until = state.granted_until.max(now) + interval;
        }
        if state.busy_until > now + BACKLOG {
            return Err(json_response(503, None, json!({})));
        }
        let slower = if state.fault == Some(Fault::Slow) { 10.0 } else { 1.0 };
        let work = Duration::from_secs_f64(slower / self.capacity);
        state.busy_until = state.busy_until.max(now) + work;
        Ok((state.fault, state.busy_until, state.generation))
    }

    fn content(&self, message: &reqwest::Request) -> Result<HttpResponse> {
        let path = message.url().path();
        let (ahead_ms, tokens_since) = {
            let state = self.state.lock().expect("a lock");
            (state.ahead_ms, state.tokens_since)
        };
        let since = i64::try_from(simulated::since_1970().as_millis()).expect("in range");
        let now_ms = since + ahead_ms;
        if path.ends_with("/server-time") {
            return json_response(200, None, json!({"server_time_ms": now_ms.to_string()}));
        }
        if path.ends_with("/token") {
            self.refreshes.fetch_add(1, Ordering::Relaxed);
            let token = json!({"access_token": self.token(), "token_type": "Bearer",
                "expires_in": LIFETIME.as_secs(), "scope": "trade:read"});
            return json_response(200, None, token);
        }
        let header = |name: &str| message.headers().get(name).and_then(|value| value.to_str().ok());
        if let Some(stamp) = header("x-timestamp") {
            let stamp: i64 = stamp.parse().expect("milliseconds");
            if (stamp - now_ms).abs() > CLOCK_MS {
                return json_response(401, None, json!({"code": -12006, "msg": "timestamp"}));
            }
        } else if let Some(token) = header("authorization").and_then(|it| it.split("token-").nth(1))
            && token.parse::<u64>().expect("a number") < tokens_since
        {
            return json_response(401, None, json!({"code": 1, "msg": "invalid token"}));
        }
        let flag = message.url().query_pairs().find(|(name, _)| name == "page_flag");
        let page = flag.map_or(0, |(_, page)| page.parse::<u64>().expect("a page"));
        let ids = page * ROWS..(page + 1) * ROWS;
        let orders: Vec<_> = ids.map(|id| json!({"order_id": id.to_string()})).collect();
        let next = json!({"orders": orders, "page_flag": (page + 1).to_string(),
            "completed": page + 1 == PAGES});
        json_response(200, None, json!({"code": 0, "msg": "success", "data": next}))
    }
}

impl SimulatedExchange for Service {
    fn exchange(&self, message: reqwest::Request) -> BoxFuture<'_, Result<HttpResponse>> {
        Box::pin(self.respond(message))
    }
}

fn json_response(status: u16, retry_after: Option<u64>, body: Value) -> Result<HttpResponse> {
    let mut response = http::Response::builder().status(status);
    if let Some(seconds) = retry_after {
        response = response.header("retry-after", seconds);
    }
    Ok(response.body(body.to_string().into()).expect("a response"))
}

fn lost<T>(sent: Delivery) -> Result<T> {
    Err(ErrorKind::Transport { message: "the connection was lost".to_owned(), sent }.into())
}
