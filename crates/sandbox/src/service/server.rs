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
use boardlot_service::error::THROTTLED_CODE;
use jiff::civil::Date;

use super::{
    planned_failures::PlannedFailures,
    request_log::{RecordedRequest, RequestLog},
    routes::{Route, RouteMatch, find},
};
use crate::{
    credentials::{
        scopes::PERMISSION_DENIED,
        verify::{Credentials, SignedRequest, X_TIMESTAMP},
    },
    data::{Data, calendar::midnight, rows::CustomRows},
    faults::{Fault, FaultSampler, Faults},
    lock,
    login::{OAuth, OAuthRequest},
    read,
    wire::{
        connection::{Aborter, Listener},
        envelope::Rejection,
        http_response::HttpResponse,
    },
    write,
};

const BODY_MAX_BYTES: usize = 1 << 20;
/// A longer path with its query is rejected, so that recorded requests stay small.
const TARGET_MAX_BYTES: usize = 8 << 10;
const HTML_PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\
                         <body><h1>Sign in to the network</h1></body></html>\n";

/// What all connections share.
#[derive(Debug)]
pub struct Shared {
    pub data: Data,
    pub credentials: Credentials,
    pub oauth: OAuth,
    pub clock_offset_ms: i64,
    pub requests: RequestLog,
    pub failures: PlannedFailures,
    /// The rows that the user brought along, the newest last.
    custom: RwLock<Arc<[Arc<CustomRows>]>>,
    /// By how much the service's clock is ahead of the one that checks signatures: the sandbox's date
    /// was fixed.
    date_offset_ms: i64,
    sampler: Mutex<FaultSampler>,
    /// The delay of each response; `None` without any fault, which skips the sampler and its lock.
    fault_delay: RwLock<Option<Duration>>,
}

impl Shared {
    pub fn new(
        data: Data,
        oauth: OAuth,
        clock_offset_ms: i64,
        today: Option<Date>,
        faults: Faults,
    ) -> Self {
        let shared = Shared {
            data,
            credentials: Credentials::default(),
            oauth,
            clock_offset_ms,
            requests: RequestLog::default(),
            failures: PlannedFailures::default(),
            custom: RwLock::new(Arc::new([])),
            date_offset_ms: today.map_or(0, |date| noon_ms(date).saturating_sub(local_ms())),
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
        self.failures.clear();
        *write(&self.custom) = Arc::new([]);
        self.set_faults(self.faults());
    }

    fn record(&self, method: &str, path: &str, query: &str, status: u16) {
        self.requests.record(RecordedRequest {
            method: method.to_owned(),
            path: path.to_owned(),
            query: query.to_owned(),
            status,
        });
    }

    /// The time by which credentials are checked.
    pub fn now_ms(&self) -> i64 {
        local_ms().saturating_add(self.clock_offset_ms)
    }

    /// The service's time, which follows the date that was fixed.
    pub fn service_ms(&self) -> i64 {
        self.now_ms().saturating_add(self.date_offset_ms)
    }

    /// The time to check a signature by. If the date was fixed, a signature is accepted by either
    /// clock: a client uses its own until it has read that of the service.
    fn signature_ms(&self, headers: &HeaderMap) -> i64 {
        let (now_ms, service_ms) = (self.now_ms(), self.service_ms());
        let sent = headers.get(X_TIMESTAMP).and_then(|value| value.to_str().ok()?.parse().ok());
        match sent {
            Some(sent_ms) if service_ms.abs_diff(sent_ms) < now_ms.abs_diff(sent_ms) => service_ms,
            _ => now_ms,
        }
    }

    /// Adds rows, in place of those for the same requests.
    pub fn add_custom(&self, rows: CustomRows) {
        let mut custom = write(&self.custom);
        let others = custom.iter().filter(|known| !rows.replaces(known)).cloned();
        *custom = others.collect::<Vec<_>>().into_iter().chain([Arc::new(rows)]).collect();
    }

    pub fn custom(&self) -> Arc<[Arc<CustomRows>]> {
        read(&self.custom).clone()
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

fn local_ms() -> i64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(now.as_millis()).unwrap_or(i64::MAX)
}

/// Noon UTC: a sandbox that starts then stays on that date for half a day.
fn noon_ms(date: Date) -> i64 {
    midnight(date) / 1_000 + 12 * 3_600_000
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
    let found = find(method, path, &shared.custom());
    let planned = shared.failures.next(&found, path);
    let (delay, fault) = shared.next_fault();
    // The browser's page has no faults: they would test nothing of a client.
    let fault = fault.filter(|_| !matches!(&found, RouteMatch::OAuth(route) if route.is_page()));
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    // Read before any response, so that the connection can be reused.
    let body =
        if body.is_end_stream() { Ok(Bytes::new()) } else { to_bytes(body, BODY_MAX_BYTES).await };
    // What a test has planned comes before what is left to chance.
    let planned = planned.map(|failure| failure.response(&found));
    let fault = match planned {
        Some(None) => Some(Fault::Drop),
        Some(Some(response)) => {
            shared.record(method, path, query, response.status.as_u16());
            return response.into_response(false);
        }
        None => fault,
    };
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
                    route.respond(&shared.oauth, &shared.credentials.tokens, &request, fault)
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
    if !route.is_open()
        && let Err(rejection) = shared
            .credentials
            .check(headers, request, shared.signature_ms(headers))
            .and_then(|scopes| match scopes {
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
    match route.respond(&shared.data, values, request.query, request.body, shared.service_ms()) {
        Ok(body) => HttpResponse::json(StatusCode::OK, body),
        Err(rejection) => rejected(StatusCode::OK, &rejection),
    }
}
