//! Serves requests: fault, route, credentials, response, record.

use std::{
    io,
    pin::pin,
    sync::{Arc, mpsc},
    time::Duration,
};

use boardlot_service::api::{EndpointRef, ResponseShape};
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinSet,
};

use super::{
    control,
    planned_failures::next_failure,
    request_log::RecordedRequest,
    routes::{OwnPage, RouteMatch, find},
    state::Shared,
};
use crate::{
    OPENAPI,
    credentials::scopes::PERMISSION_DENIED,
    data::endpoints,
    faults::Fault,
    lock,
    options::Control,
    wire::{
        arguments::Arguments,
        envelope::{HandlerResult, INVALID, Rejection},
        http_response::{Body, HttpResponse},
    },
};

const HTML_PAGE: &str = "<!DOCTYPE html>\n<html><head><title>Sign in</title></head>\
                         <body><h1>Sign in to the network</h1></body></html>\n";

/// Serves until the future is dropped, or, when `ending` becomes true, until the requests that are
/// under way have been answered. Each connection holds `open` until it is closed.
pub async fn serve(
    listener: TcpListener,
    shared: Arc<Shared>,
    encryption: Option<Encryption>,
    mut ending: watch::Receiver<bool>,
    open: mpsc::Sender<()>,
) {
    let mut connections = JoinSet::new();
    loop {
        let accepted = tokio::select! {
            accepted = listener.accept() => accepted,
            _ = ending.wait_for(|ending| *ending) => break,
        };
        match accepted {
            Ok((stream, _)) => {
                let (shared, ending, open) = (Arc::clone(&shared), ending.clone(), open.clone());
                let encryption = encryption.clone();
                connections.spawn(async move {
                    // Otherwise small responses would wait for the client's delayed
                    // acknowledgement.
                    let _ = stream.set_nodelay(true);
                    match encryption {
                        None => serve_connection(stream, &shared, ending).await,
                        // A failed handshake concerns no other connection.
                        Some(encryption) => {
                            if let Ok(stream) = (encryption.0)(stream).await {
                                serve_connection(stream, &shared, ending).await;
                            }
                        }
                    }
                    drop(open);
                });
            }
            // The process is out of file descriptors, or the client has already closed the
            // connection.
            Err(_) => tokio::time::sleep(Duration::from_millis(20)).await,
        }
        while connections.try_join_next().is_some() {}
    }
    drop(listener);
    while connections.join_next().await.is_some() {}
}

async fn serve_connection(
    stream: impl Stream,
    shared: &Arc<Shared>,
    mut ending: watch::Receiver<bool>,
) {
    let service = service_fn(|request| {
        let shared = Arc::clone(shared);
        async move { handle(&shared, request).await }
    });
    let connection = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
    let mut connection = pin!(connection);
    // An error closes this connection and concerns no other.
    tokio::select! {
        _ = connection.as_mut() => return,
        _ = ending.wait_for(|ending| *ending) => connection.as_mut().graceful_shutdown(),
    }
    let _ = connection.await;
}

/// A stream of bytes both ways.
pub trait Stream: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Stream for T {}

/// The server's side of a handshake.
type Handshake = dyn Fn(TcpStream) -> BoxFuture<'static, io::Result<Box<dyn Stream>>> + Send + Sync;

/// TLS of any implementation: a function that turns a connection into an encrypted stream.
#[derive(Clone)]
pub struct Encryption(pub Arc<Handshake>);

boardlot_service::shown_as!(Encryption, "Encryption(...)");

/// Returns the response. An error closes the connection without one.
async fn handle(shared: &Shared, request: Request<Incoming>) -> io::Result<Response<Body>> {
    let (method, path) = (request.method().as_str(), request.uri().path());
    let found = find(method, path, &shared.custom());
    if let RouteMatch::Own(page) = found {
        let (parts, body) = request.into_parts();
        let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
        let request = Request::from_parts(parts, body);
        let response = own_page(shared, page, &request);
        shared.log(&request, response.status.as_u16());
        return Ok(response.into_response());
    }
    let planned = next_failure(&mut lock(&shared.failures), &found, path);
    let (delay, fault) = lock(&shared.sampler).next();
    // The browser's page has no faults, because they would not test a client.
    let fault = fault.filter(|_| !matches!(&found, RouteMatch::OAuth(route) if route.is_page()));
    if !delay.is_zero() {
        tokio::time::sleep(delay).await;
    }
    // The body is read before any response, so that the connection can be reused.
    let (parts, body) = request.into_parts();
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    let request = Request::from_parts(parts, body);
    let response = match (planned, fault) {
        // Planned failures come before random faults.
        (Some(planned), _) => planned.response(&found),
        (None, Some(Fault::Drop)) => None,
        (None, Some(Fault::Html)) => Some(HttpResponse::html(StatusCode::OK, HTML_PAGE)),
        (None, fault) => {
            let mut response = match found {
                RouteMatch::Nothing | RouteMatch::Own(_) => {
                    let why = "no endpoint has this method and path";
                    HttpResponse::plain(StatusCode::NOT_FOUND, why)
                }
                RouteMatch::Route(endpoint, values) => {
                    respond(shared, &endpoint, &values, &request, fault)
                }
                RouteMatch::OAuth(route) => {
                    route.respond(&shared.credentials.tokens, &request, shared.now_ms(), fault)
                }
            };
            response.is_cut = fault == Some(Fault::Truncate);
            Some(response)
        }
    };
    let status = response.as_ref().map_or(0, |response| response.status.as_u16());
    shared.log(&request, status);
    lock(&shared.requests).record(RecordedRequest {
        method: request.method().to_string(),
        path: request.uri().path().to_owned(),
        query: request.uri().query().unwrap_or_default().to_owned(),
        status,
    });
    response.map(HttpResponse::into_response).ok_or(io::ErrorKind::ConnectionAborted.into())
}

/// Returns the response of a page of the sandbox's own.
fn own_page(shared: &Shared, page: OwnPage, request: &Request<Bytes>) -> HttpResponse {
    let body = match page {
        OwnPage::Health => r#"{"status":"ok"}"#.to_owned(),
        OwnPage::Description if shared.control == Control::Described => control::description(),
        OwnPage::Description => OPENAPI.to_owned(),
        OwnPage::Control => {
            let (method, path) = (request.method().as_str(), request.uri().path());
            return control::respond(shared, method, path, request.body());
        }
    };
    HttpResponse::json(StatusCode::OK, body.into_bytes())
}

/// Code for `rate_limited`: the service document shows none.
const THROTTLED_CODE: i64 = -11;

/// Returns the response of a known endpoint.
fn respond(
    shared: &Shared,
    endpoint: &EndpointRef,
    values: &[(String, String)],
    request: &Request<Bytes>,
    fault: Option<Fault>,
) -> HttpResponse {
    let rejected = |status: StatusCode, rejection: Rejection| {
        HttpResponse::json(status, rejection.body(endpoint.envelope))
    };
    if fault == Some(Fault::Throttle) {
        let rejection = Rejection::new(THROTTLED_CODE, "rate_limited", "too many requests");
        return rejected(StatusCode::TOO_MANY_REQUESTS, rejection);
    }
    // The time endpoint needs no credentials: a client corrects its own clock by it.
    if !matches!(endpoint.response, ResponseShape::ServerTime(_))
        && let Err(rejection) =
            shared.scopes(request).and_then(|scopes| scopes.check(endpoint, values))
    {
        let status = match rejection.code {
            PERMISSION_DENIED => StatusCode::FORBIDDEN,
            _ => StatusCode::UNAUTHORIZED,
        };
        return rejected(status, rejection);
    }
    if let Some(Fault::Error(which)) = fault {
        let errors = endpoint.failures.iter().filter(|one| one.error_code == "internal_error");
        return match errors.clone().nth(which % errors.count().max(1)) {
            Some(failure) => rejected(
                StatusCode::OK,
                Rejection::new(failure.code, failure.error_code, failure.condition),
            ),
            None => {
                HttpResponse::plain(StatusCode::SERVICE_UNAVAILABLE, "the service is unavailable")
            }
        };
    }
    let query = request.uri().query().unwrap_or_default();
    match Arguments::read(endpoint, values, query, request.body(), shared.service_ms())
        .and_then(|arguments| rows(shared, &arguments))
    {
        Ok(body) => HttpResponse::json(StatusCode::OK, body),
        Err(mut rejection) => {
            // An invalid argument gets the endpoint's code, as in the error examples of the
            // document.
            rejection.code = match (rejection.code, &*endpoint.name) {
                (INVALID, "crypto_orders") => 1,
                (INVALID, "fills_history") => -1200,
                (code, _) => code,
            };
            rejected(StatusCode::OK, rejection)
        }
    }
}

/// Returns the rows that a test supplied for these arguments, the newest first, or the built-in
/// ones.
fn rows(shared: &Shared, arguments: &Arguments) -> HandlerResult {
    let (endpoint, custom) = (&arguments.endpoint, shared.custom());
    let own = custom.iter().rev().find(|rows| rows.is_for(arguments));
    // A path that only a test serves has no built-in rows.
    let is_built_in = endpoints().any(|known| std::ptr::eq(&*known, &**endpoint));
    if own.is_none() && !is_built_in {
        return Err(Rejection::new(-7, "invalid_symbol", "no rows are served for these arguments"));
    }
    shared.data.respond(own.map(AsRef::as_ref), arguments)
}
