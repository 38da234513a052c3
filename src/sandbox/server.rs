//! One request after another: fault, route, credentials, answer, record.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex, RwLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody, to_bytes},
    extract::{ConnectInfo, Request},
    http::{HeaderValue, StatusCode, header::ALLOW},
    response::Response,
};

use super::{
    RecordedRequest,
    connection::{Cut, FaultyListener},
    faults::{Fault, FaultSampler, Faults},
    lock,
    login::{Asked, OAuth, recorded},
    outcome::Outcome,
    reply::Refusal,
    routes::{Found, Route, find},
    scopes::PERMISSION_DENIED,
    verify::{Credentials, Signed},
    world::World,
};
use crate::error::THROTTLED_CODE;

/// How many requests are remembered.
const RECEIVED_MAX: usize = 10_000;
const BODY_MAX_BYTES: usize = 1 << 20;
/// A longer path with its query is refused, so that what is remembered stays small.
const TARGET_MAX_BYTES: usize = 8 << 10;
const HTML_PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\
                         <body><h1>Sign in to the network</h1></body></html>\n";

/// What all connections share.
#[derive(Debug)]
pub struct Shared {
    pub world: World,
    pub credentials: Credentials,
    pub oauth: OAuth,
    pub clock_offset_ms: i64,
    received: Mutex<VecDeque<RecordedRequest>>,
    dice: Mutex<FaultSampler>,
    /// Whether there is any fault, so that a well-behaved sandbox throws no dice.
    misbehaves: RwLock<Option<Duration>>,
}

impl Shared {
    pub fn new(world: World, oauth: OAuth, clock_offset_ms: i64, faults: Faults) -> Self {
        let shared = Shared {
            world,
            credentials: Credentials::default(),
            oauth,
            clock_offset_ms,
            received: Mutex::default(),
            dice: Mutex::new(FaultSampler::new(Faults::default())),
            misbehaves: RwLock::new(None),
        };
        shared.set_faults(faults);
        shared
    }

    pub fn faults(&self) -> Faults {
        lock(&self.dice).faults().clone()
    }

    /// The generator of faults begins anew.
    pub fn set_faults(&self, faults: Faults) {
        let misbehaves = (!faults.is_none()).then(|| faults.delay().unwrap_or_default());
        let mut dice = lock(&self.dice);
        *dice = FaultSampler::new(faults);
        *self.misbehaves.write().unwrap_or_else(std::sync::PoisonError::into_inner) = misbehaves;
    }

    pub fn received(&self) -> Vec<RecordedRequest> {
        lock(&self.received).iter().cloned().collect()
    }

    pub fn reset(&self) {
        lock(&self.received).clear();
        self.credentials.forget();
        self.oauth.forget();
        self.set_faults(self.faults());
    }

    fn record(&self, method: &str, path: &str, query: &str, status: u16) {
        let received = RecordedRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query: recorded(path, query).into_owned(),
            status,
        };
        let mut all = lock(&self.received);
        if all.len() >= RECEIVED_MAX {
            all.pop_front();
        }
        all.push_back(received);
    }

    pub fn now_ms(&self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_millis()).unwrap_or(i64::MAX).saturating_add(self.clock_offset_ms)
    }

    /// The delay and the fault of the next answer.
    fn next_fault(&self) -> (Duration, Option<Fault>) {
        let misbehaves = *self.misbehaves.read().unwrap_or_else(std::sync::PoisonError::into_inner);
        match misbehaves {
            None => (Duration::ZERO, None),
            Some(delay) => (delay, lock(&self.dice).next()),
        }
    }
}

/// Serves until it is dropped.
pub async fn serve(lines: FaultyListener, shared: Arc<Shared>) {
    let answer = move |request: Request| {
        let shared = Arc::clone(&shared);
        async move { answer(&shared, request).await }
    };
    let app = Router::new().fallback(answer).into_make_service_with_connect_info::<Cut>();
    // It ends only when it is dropped, and then has nothing to tell.
    let _ = axum::serve(lines, app).await;
}

async fn answer(shared: &Shared, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let method = parts.method.as_str();
    let path = parts.uri.path();
    let query = parts.uri.query().unwrap_or_default();
    if path.len() + query.len() > TARGET_MAX_BYTES {
        let status = StatusCode::URI_TOO_LONG;
        shared.record(method, path.get(..TARGET_MAX_BYTES).unwrap_or(""), "", status.as_u16());
        return Outcome::plain(status, "the path or query is too long").response(false);
    }
    let found = find(method, path);
    let (delay, fault) = shared.next_fault();
    // What a person sees in a browser is spared: it would tell nothing about a client.
    let fault = fault.filter(|_| !matches!(&found, Found::OAuth(route) if route.is_page()));
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    // Read before anything is answered, so that the connection can be kept.
    let body =
        if body.is_end_stream() { Ok(Bytes::new()) } else { to_bytes(body, BODY_MAX_BYTES).await };
    match fault {
        Some(Fault::Drop) => {
            if let Some(ConnectInfo(cut)) = parts.extensions.get::<ConnectInfo<Cut>>() {
                cut.now();
            }
            shared.record(method, path, query, 0);
            Response::new(Body::empty())
        }
        Some(Fault::Html) => {
            shared.record(method, path, query, 200);
            Outcome::html(StatusCode::OK, HTML_PAGE).response(false)
        }
        _ => {
            let outcome = match (found, body) {
                (_, Err(_)) => {
                    Outcome::plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
                }
                (Found::Nothing, _) => Outcome::plain(StatusCode::NOT_FOUND, "no such path"),
                (Found::OtherMethod(others), _) => other_method(&others),
                (Found::Route(route, values), Ok(body)) => {
                    let signed = Signed { method, path, query, body: &body };
                    routed(shared, (&route, &values), &parts.headers, signed, fault)
                }
                (Found::OAuth(route), Ok(body)) => {
                    let now_ms = shared.now_ms();
                    let asked = Asked { headers: &parts.headers, query, body: &body, now_ms };
                    shared.oauth.answer(route, &shared.credentials.tokens, &asked, fault)
                }
            };
            shared.record(method, path, query, outcome.status.as_u16());
            outcome.response(fault == Some(Fault::Truncate))
        }
    }
}

fn other_method(allowed: &[&str]) -> Outcome {
    let outcome = Outcome::plain(StatusCode::METHOD_NOT_ALLOWED, "no such method for this path");
    match HeaderValue::from_str(&allowed.join(", ")) {
        Ok(allowed) => outcome.with(ALLOW, allowed),
        Err(_) => outcome,
    }
}

/// The answer of a known endpoint.
fn routed(
    shared: &Shared,
    (route, values): (&Route, &[(&'static str, String)]),
    headers: &axum::http::HeaderMap,
    request: Signed<'_>,
    fault: Option<Fault>,
) -> Outcome {
    let refused = |status: StatusCode, refusal: &Refusal| {
        Outcome::json(status, refusal.body(route.endpoint.envelope))
    };
    if fault == Some(Fault::Throttle) {
        let refusal = Refusal::new(THROTTLED_CODE, "rate_limited", "too many requests");
        return refused(StatusCode::TOO_MANY_REQUESTS, &refusal);
    }
    let now_ms = shared.now_ms();
    if !route.is_open()
        && let Err(refusal) =
            shared.credentials.check(headers, request, now_ms).and_then(|scopes| match scopes {
                Some(scopes) => scopes.check(route.endpoint, values),
                None => Ok(()),
            })
    {
        let status = match refusal.code {
            THROTTLED_CODE => StatusCode::TOO_MANY_REQUESTS,
            PERMISSION_DENIED => StatusCode::FORBIDDEN,
            _ => StatusCode::UNAUTHORIZED,
        };
        return refused(status, &refusal);
    }
    if let Some(Fault::Error(which)) = fault {
        let errors = || {
            route.endpoint.failures.iter().filter(|failure| failure.error_code == "internal_error")
        };
        return match errors().nth(which % errors().count().max(1)) {
            Some(failure) => refused(StatusCode::OK, &Refusal::documented(failure)),
            None => Outcome::plain(StatusCode::SERVICE_UNAVAILABLE, "out of order"),
        };
    }
    match route.answer(&shared.world, values, request.query, request.body, now_ms) {
        Ok(body) => Outcome::json(StatusCode::OK, body),
        Err(refusal) => refused(StatusCode::OK, &refusal),
    }
}
