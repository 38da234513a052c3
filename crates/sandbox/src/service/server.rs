//! Serves requests: fault, route, credentials, response, record.

use std::{
    io,
    sync::{Arc, Mutex, RwLock, mpsc},
    time::{Duration, SystemTime, UNIX_EPOCH},
};

use boardlot_service::error::THROTTLED_CODE;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode, header::ALLOW, request::Parts};
use http_body_util::BodyExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use jiff::civil::Date;
use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
};

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
        envelope::Rejection,
        http_response::{Body, HttpResponse},
    },
    write,
};

const BODY_MAX_BYTES: usize = 1 << 20;
/// The number of bytes that are read of a body that is too large.
const DISCARDED_MAX_BYTES: usize = 64 << 20;
/// A longer path with its query is rejected, and recorded only up to here.
const TARGET_MAX_BYTES: usize = 8 << 10;
const HTML_PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\
                         <body><h1>Sign in to the network</h1></body></html>\n";

/// State shared by all connections.
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
    /// The lead of the service's clock over the one that checks signatures: the sandbox's date
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
        let kept = |text: &str| text.get(..TARGET_MAX_BYTES).unwrap_or(text).to_owned();
        let (path, query) = (kept(path), kept(query));
        self.requests.record(RecordedRequest { method: method.to_owned(), path, query, status });
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

    /// Adds rows, replacing those for the same requests.
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

/// Serves until the future is dropped. Each connection holds `open` until it is closed.
pub async fn serve(listener: TcpListener, shared: Arc<Shared>, open: mpsc::Sender<()>) {
    let mut connections = JoinSet::new();
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                connections.spawn(serve_connection(stream, Arc::clone(&shared), open.clone()));
            }
            // Out of file descriptors, or a client that has already closed the connection.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve_connection(stream: TcpStream, shared: Arc<Shared>, _open: mpsc::Sender<()>) {
    // Small responses would wait for the client's delayed acknowledgement.
    let _ = stream.set_nodelay(true);
    let service = service_fn(|request| {
        let shared = Arc::clone(&shared);
        async move { handle(&shared, request).await }
    });
    // An error closes this connection and concerns no other.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

/// The response; an error closes the connection without one.
async fn handle(shared: &Shared, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let (parts, body) = request.into_parts();
    let (method, path) = (parts.method.as_str(), parts.uri.path());
    let query = parts.uri.query().unwrap_or_default();
    let found = find(method, path, &shared.custom());
    let planned = shared.failures.next(&found, path);
    let (delay, fault) = shared.next_fault();
    // The browser's page has no faults: they would test nothing of a client.
    let fault = fault.filter(|_| !matches!(&found, RouteMatch::OAuth(route) if route.is_page()));
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    // Read before any response, so that the connection can be reused.
    let body = read_body(body).await;
    let response = match (planned, fault) {
        // Planned failures come before random faults.
        (Some(planned), _) => planned.response(&found),
        (None, Some(Fault::Drop)) => None,
        (None, Some(Fault::Html)) => Some(HttpResponse::html(StatusCode::OK, HTML_PAGE)),
        (None, fault) => {
            let mut response = answer(shared, found, &parts, body.as_deref(), fault);
            response.is_cut = fault == Some(Fault::Truncate);
            Some(response)
        }
    };
    let status = response.as_ref().map_or(0, |response| response.status.as_u16());
    shared.record(method, path, query, status);
    response.map(HttpResponse::into_response).ok_or(io::ErrorKind::ConnectionAborted.into())
}

/// The whole body; `None` if it is too large. Its rest is read, for a client may lose the response of a
/// socket that is closed with unread bytes.
async fn read_body(mut body: Incoming) -> Option<Vec<u8>> {
    let (mut bytes, mut length) = (Vec::new(), 0);
    while let Some(Ok(frame)) = body.frame().await
        && length < DISCARDED_MAX_BYTES
    {
        let data = frame.into_data().unwrap_or_default();
        length += data.len();
        if length <= BODY_MAX_BYTES {
            bytes.extend_from_slice(&data);
        }
    }
    (length <= BODY_MAX_BYTES).then_some(bytes)
}

fn answer(
    shared: &Shared,
    found: RouteMatch,
    parts: &Parts,
    body: Option<&[u8]>,
    fault: Option<Fault>,
) -> HttpResponse {
    let (method, path) = (parts.method.as_str(), parts.uri.path());
    let query = parts.uri.query().unwrap_or_default();
    if path.len() + query.len() > TARGET_MAX_BYTES {
        return HttpResponse::plain(StatusCode::URI_TOO_LONG, "the path or query is too long");
    }
    let Some(body) = body else {
        return HttpResponse::plain(StatusCode::PAYLOAD_TOO_LARGE, "the body is too large");
    };
    match found {
        RouteMatch::Nothing => {
            HttpResponse::plain(StatusCode::NOT_FOUND, "the path does not exist")
        }
        RouteMatch::OtherMethod(others) => other_method(&others),
        RouteMatch::Route(route, values) => {
            let signed = SignedRequest { method, path, query, body };
            respond(shared, (&route, &values), &parts.headers, signed, fault)
        }
        RouteMatch::OAuth(route) => {
            let now_ms = shared.now_ms();
            let request = OAuthRequest { headers: &parts.headers, query, body, now_ms };
            route.respond(&shared.oauth, &shared.credentials.tokens, &request, fault)
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
