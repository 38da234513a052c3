//! Serves requests: fault, route, credentials, response, record.

use std::{
    sync::{Arc, Mutex, RwLock},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use axum::{
    Router,
    body::{Body, Bytes, HttpBody, to_bytes},
    extract::{ConnectInfo, Request},
    http::{HeaderMap, HeaderValue, StatusCode, header::ALLOW},
    response::Response,
};

use super::{
    connection::{Aborter, Listener},
    dataset::Dataset,
    envelope::Rejection,
    faults::{Fault, FaultSampler, Faults},
    http_response::HttpResponse,
    login::{OAuth, OAuthRequest, recorded},
    request_log::{RecordedRequest, RequestLog},
    routes::{Route, RouteMatch, find},
    scopes::PERMISSION_DENIED,
    sync::{lock, read, write},
    verify::{Credentials, SignedRequest},
};
use crate::error::THROTTLED_CODE;

const BODY_MAX_BYTES: usize = 1 << 20;
/// A longer path with its query is rejected, so that recorded requests stay small.
const TARGET_MAX_BYTES: usize = 8 << 10;
const HTML_PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\
                         <body><h1>Sign in to the network</h1></body></html>\n";

/// What all connections share.
#[derive(Debug)]
pub struct Shared {
    pub dataset: Dataset,
    pub credentials: Credentials,
    pub oauth: OAuth,
    pub clock_offset_ms: i64,
    pub requests: RequestLog,
    sampler: Mutex<FaultSampler>,
    /// The delay of each response; `None` without any fault, which skips the sampler and its lock.
    fault_delay: RwLock<Option<Duration>>,
}

impl Shared {
    pub fn new(dataset: Dataset, oauth: OAuth, clock_offset_ms: i64, faults: Faults) -> Self {
        let shared = Shared {
            dataset,
            credentials: Credentials::default(),
            oauth,
            clock_offset_ms,
            requests: RequestLog::default(),
            sampler: Mutex::new(FaultSampler::new(Faults::default())),
            fault_delay: RwLock::new(None),
        };
        shared.set_faults(faults);
        shared
    }

    pub fn faults(&self) -> Faults {
        lock(&self.sampler).faults().clone()
    }

    /// Sets the faults and restarts their random sequence.
    pub fn set_faults(&self, faults: Faults) {
        let fault_delay = (!faults.is_none()).then(|| faults.delay().unwrap_or_default());
        let mut sampler = lock(&self.sampler);
        *sampler = FaultSampler::new(faults);
        *write(&self.fault_delay) = fault_delay;
    }

    pub fn reset(&self) {
        self.requests.clear();
        self.credentials.forget();
        self.oauth.clear();
        self.set_faults(self.faults());
    }

    fn record(&self, method: &str, path: &str, query: &str, status: u16) {
        self.requests.record(RecordedRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query: recorded(path, query).into_owned(),
            status,
        });
    }

    pub fn now_ms(&self) -> i64 {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(now.as_millis()).unwrap_or(i64::MAX).saturating_add(self.clock_offset_ms)
    }

    /// The delay and the fault of the next response.
    fn next_fault(&self) -> (Duration, Option<Fault>) {
        let fault_delay = *read(&self.fault_delay);
        match fault_delay {
            None => (Duration::ZERO, None),
            Some(delay) => (delay, lock(&self.sampler).next()),
        }
    }
}

/// Serves until the future is dropped.
pub async fn serve(listener: Listener, shared: Arc<Shared>) {
    let handler = move |request: Request| {
        let shared = Arc::clone(&shared);
        async move { handle(&shared, request).await }
    };
    let app = Router::new().fallback(handler).into_make_service_with_connect_info::<Aborter>();
    // Returns only when it is dropped.
    let _ = axum::serve(listener, app).await;
}

async fn handle(shared: &Shared, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let method = parts.method.as_str();
    let path = parts.uri.path();
    let query = parts.uri.query().unwrap_or_default();
    if path.len() + query.len() > TARGET_MAX_BYTES {
        let status = StatusCode::URI_TOO_LONG;
        shared.record(method, path.get(..TARGET_MAX_BYTES).unwrap_or(""), "", status.as_u16());
        return HttpResponse::plain(status, "the path or query is too long").into_response(false);
    }
    let found = find(method, path);
    let (delay, fault) = shared.next_fault();
    // The browser's page has no faults: they would test nothing of a client.
    let fault = fault.filter(|_| !matches!(&found, RouteMatch::OAuth(route) if route.is_page()));
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    // Read before any response, so that the connection can be reused.
    let body =
        if body.is_end_stream() { Ok(Bytes::new()) } else { to_bytes(body, BODY_MAX_BYTES).await };
    match fault {
        Some(Fault::Drop) => {
            if let Some(ConnectInfo(aborter)) = parts.extensions.get::<ConnectInfo<Aborter>>() {
                aborter.abort();
            }
            shared.record(method, path, query, 0);
            Response::new(Body::empty())
        }
        Some(Fault::Html) => {
            shared.record(method, path, query, 200);
            HttpResponse::html(StatusCode::OK, HTML_PAGE).into_response(false)
        }
        _ => {
            let response = match (found, body) {
                (_, Err(_)) => {
                    HttpResponse::plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large")
                }
                (RouteMatch::Nothing, _) => {
                    HttpResponse::plain(StatusCode::NOT_FOUND, "the path does not exist")
                }
                (RouteMatch::OtherMethod(others), _) => other_method(&others),
                (RouteMatch::Route(route, values), Ok(body)) => {
                    let signed = SignedRequest { method, path, query, body: &body };
                    respond(shared, (&route, &values), &parts.headers, signed, fault)
                }
                (RouteMatch::OAuth(route), Ok(body)) => {
                    let now_ms = shared.now_ms();
                    let request =
                        OAuthRequest { headers: &parts.headers, query, body: &body, now_ms };
                    route.answer(&shared.oauth, &shared.credentials.tokens, &request, fault)
                }
            };
            shared.record(method, path, query, response.status.as_u16());
            response.into_response(fault == Some(Fault::Truncate))
        }
    }
}

fn other_method(allowed: &[&str]) -> HttpResponse {
    let response = HttpResponse::plain(
        StatusCode::METHOD_NOT_ALLOWED,
        "the method is not allowed for this path",
    );
    match HeaderValue::from_str(&allowed.join(", ")) {
        Ok(allowed) => response.with(ALLOW, allowed),
        Err(_) => response,
    }
}

/// The response of a known endpoint.
fn respond(
    shared: &Shared,
    (route, values): (&Route, &[(String, String)]),
    headers: &HeaderMap,
    request: SignedRequest<'_>,
    fault: Option<Fault>,
) -> HttpResponse {
    let rejected = |status: StatusCode, rejection: &Rejection| {
        HttpResponse::json(status, rejection.body(route.endpoint.envelope))
    };
    if fault == Some(Fault::Throttle) {
        let rejection = Rejection::new(THROTTLED_CODE, "rate_limited", "too many requests");
        return rejected(StatusCode::TOO_MANY_REQUESTS, &rejection);
    }
    let now_ms = shared.now_ms();
    if !route.is_open()
        && let Err(rejection) =
            shared.credentials.check(headers, request, now_ms).and_then(|scopes| match scopes {
                Some(scopes) => scopes.check(&route.endpoint, values),
                None => Ok(()),
            })
    {
        let status = match rejection.code {
            THROTTLED_CODE => StatusCode::TOO_MANY_REQUESTS,
            PERMISSION_DENIED => StatusCode::FORBIDDEN,
            _ => StatusCode::UNAUTHORIZED,
        };
        return rejected(status, &rejection);
    }
    if let Some(Fault::Error(which)) = fault {
        let errors = || {
            route.endpoint.failures.iter().filter(|failure| failure.error_code == "internal_error")
        };
        return match errors().nth(which % errors().count().max(1)) {
            Some(failure) => rejected(StatusCode::OK, &Rejection::documented(failure)),
            None => {
                HttpResponse::plain(StatusCode::SERVICE_UNAVAILABLE, "the service is unavailable")
            }
        };
    }
    match route.answer(&shared.dataset, values, request.query, request.body, now_ms) {
        Ok(body) => HttpResponse::json(StatusCode::OK, body),
        Err(rejection) => rejected(StatusCode::OK, &rejection),
    }
}
