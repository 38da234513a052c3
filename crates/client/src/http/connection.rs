//! The HTTP library: its client, its responses and its errors.

use std::{
    error::Error as _,
    io::{
        self,
        ErrorKind::{InvalidData, InvalidInput},
    },
    iter,
    time::Duration,
};

use ::http::{
    HeaderMap, HeaderValue, Version,
    header::{ACCEPT_ENCODING, CONTENT_ENCODING, CONTENT_LENGTH},
};
use bytes::Bytes;
use http_body::Body;
use reqwest::{Proxy, redirect, retry};
use rustls::ClientConfig;
use url::Position;
use zeroize::{Zeroize, Zeroizing};

use super::{
    BaseUrl, ConnectOptions, HttpResponse,
    proxy::is_usable,
    resolver::ThreadResolver,
    response_body::{ResponseBody, ended_early, too_large},
};
use crate::error::{Advice, Delivery, Error, ErrorKind, Resource, Result, Unredacted};

/// Maximum idle time of a connection before it is closed, in the shared client and in the blocking
/// pool.
pub const IDLE_MAX: Duration = Duration::from_secs(90);

/// Builds a client of the HTTP library. Without `tls`, nothing is encrypted on the way to a
/// loopback address. The client speaks HTTP/2 if the server offers it, unless it is for HTTP/1.1
/// alone.
pub fn build_client(
    base: &BaseUrl,
    options: &ConnectOptions,
    tls: Option<&ClientConfig>,
    is_http1: bool,
) -> Result<reqwest::Client> {
    let headers = HeaderMap::from_iter([(ACCEPT_ENCODING, HeaderValue::from_static("gzip"))]);
    let mut builder = reqwest::Client::builder()
        .user_agent(concat!("boardlot/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .connect_timeout(options.timeout)
        .pool_max_idle_per_host(options.max_connections)
        .pool_idle_timeout(IDLE_MAX)
        .tcp_nodelay(true)
        .dns_resolver(ThreadResolver)
        .referer(false)
        // RFC 9112, section 5.2: a user agent unfolds such lines.
        .http1_allow_obsolete_multiline_headers_in_responses(true)
        // Redirects would send the credentials along; hidden retries would repeat a nonce.
        .redirect(redirect::Policy::none())
        .retry(retry::never())
        // A proxy comes only from the options; the environment's proxy has been resolved before.
        .no_proxy();
    builder = match tls {
        Some(tls) => {
            let mut tls = tls.clone();
            if is_http1 {
                tls.alpn_protocols.retain(|protocol| protocol != b"h2");
                builder = builder.http1_only();
            }
            builder.https_only(true).tls_backend_preconfigured(tls)
        }
        None => builder.tls_certs_only([]),
    };
    if let Some(address) = &options.proxy
        && !base.stays_on_this_machine()
    {
        let proxy = Proxy::all(address).ok().filter(|_| is_usable(address)).ok_or_else(|| {
            let shown = format!("'{}'", address.escape_debug());
            let shown = if address.contains('@') { "not valid" } else { &shown };
            let expected = "an http:// or https:// URL such as http://proxy:3128, with special characters \
                            in its user name and password percent-encoded, or 'environment'";
            Error::argument("proxy", shown, expected)
        })?;
        builder = builder.proxy(proxy);
    }
    builder
        .build()
        .map_err(|error| Error::config(format!("the HTTP client cannot start: {}", chain(&error))))
}

/// Reads the body, decompressed, up to the limit. Nothing of a larger body is shown: it may have
/// secrets that only its end would reveal.
pub async fn read_response(
    mut response: reqwest::Response,
    limit: usize,
    has_secrets: bool,
) -> Result<HttpResponse, Unredacted> {
    let announced = response.content_length();
    if announced.is_some_and(|announced| announced > limit as u64) {
        return Err(too_large(limit).into());
    }
    let mut body = ResponseBody::new(&response, announced.unwrap_or_default(), limit);
    let mut received = 0;
    while let Some(chunk) =
        response.chunk().await.map_err(|error| transport_error(error, true, None))?
    {
        received += chunk.len() as u64;
        body.add(&chunk)?;
    }
    let mut response = ::http::Response::from(response);
    // Over HTTP/2, the HTTP library takes a stream that was reset without an error for one that has
    // ended (RFC 9113, section 8.1). Over HTTP/1.1, it reports the missing bytes.
    let is_reset = response.version() == Version::HTTP_2 && !response.body().is_end_stream();
    if is_reset && announced != Some(received) {
        return Err(ended_early().into());
    }
    if body.is_compressed() {
        // These headers describe the body as it was sent.
        response.headers_mut().remove(CONTENT_ENCODING);
        response.headers_mut().remove(CONTENT_LENGTH);
    }
    let whole = body.finish()?;
    let whole = if has_secrets { wiped(whole) } else { whole };
    let mut received = HttpResponse::new(whole);
    *received.status_mut() = response.status();
    std::mem::swap(received.headers_mut(), response.headers_mut());
    Ok(received)
}

/// Returns the same bytes, wiped when the last reader has dropped them. The only other copy is
/// wiped now, unless the HTTP library still holds it.
fn wiped(body: Bytes) -> Bytes {
    let copy = Bytes::from_owner(Zeroizing::new(body.to_vec()));
    if let Ok(mut body) = body.try_into_mut() {
        body.as_mut().zeroize();
    }
    copy
}

/// Returns the error of an exchange; `receiving` if the head of the response had been received.
/// `unused_proxy` is the environment variable that names a proxy which the client does not use.
pub fn transport_error(
    error: reqwest::Error,
    receiving: bool,
    unused_proxy: Option<&str>,
) -> Unredacted {
    let advice = advice(&chain(&error), unused_proxy.filter(|_| error.is_connect()));
    let error = without_advice(error, receiving);
    match advice {
        Some(advice) => error.with_advice(advice).into(),
        None => error.into(),
    }
}

/// Returns advice on a failed connection, if its error tells more than its class. The texts come
/// from rustls and the HTTP library, whose types are private or nested in several others.
fn advice(text: &str, unused_proxy: Option<&str>) -> Option<Advice> {
    const KNOWN: [(&str, &str); 9] = [
        (
            "CaUsedAsEndEntity",
            "The server presents the certificate of an authority (CA:TRUE) as its own, and `ca_file` \
             cannot make this valid: give the server a certificate with CA:FALSE, signed by that authority \
             or self-signed.",
        ),
        (
            "UnsupportedCertVersion",
            "The server's certificate is of X.509 version 1: give the server a certificate of version 3, \
             with the host as its subjectAltName.",
        ),
        ("Revoked", "The service must replace its certificate, which its authority has revoked."),
        (
            "certificate not valid yet",
            "Check this machine's date; if it is right, the service must replace its certificate.",
        ),
        (
            "certificate expired",
            "The service must renew its certificate, unless this machine's date is wrong.",
        ),
        (
            "not valid for name",
            "Check the host in the base URL; if it is right, another server is responding in its place.",
        ),
        (
            "InvalidContentType",
            "The server does not speak TLS on this port: check the port of the base URL, and the proxy.",
        ),
        (
            "tunnel error: failed to create underlying connection",
            "Check the address of the proxy, and that it is running.",
        ),
        (
            "tunnel error: unsuccessful",
            "Check the host and the port of the base URL, the hosts that the proxy allows, and the user \
             name and password in the proxy's URL.",
        ),
    ];
    let has = |part: &str| text.contains(part);
    if let Some((_, advice)) = KNOWN.iter().find(|(known, _)| has(known)) {
        return Some((*advice).into());
    }
    Some(if has("UnknownIssuer") {
        Advice::TrustAuthority
    } else if has("BadSignature") {
        // The certificate is from an authority with the same name as a trusted one.
        Advice::CheckAuthority
    } else if has("invalid peer certificate") {
        "The server must replace its certificate, which is not valid, whichever authority issued it.".into()
    } else if has("proxy authorization required") {
        Advice::ProxyPassword
    } else if let Some(variable) = unused_proxy {
        Advice::UnusedProxy(variable.to_owned())
    } else if has("Connection refused") {
        Advice::NotListening
    } else {
        return None;
    })
}

fn without_advice(error: reqwest::Error, receiving: bool) -> Error {
    // Includes the port if it is not the usual one.
    let host = error.url().map(|url| &url[Position::BeforeHost..Position::AfterPort]);
    let host = host.unwrap_or("the service").to_owned();
    let error = error.without_url();
    if error.is_timeout() {
        return ErrorKind::Timeout(format!(
            "connecting to {host} took too long: {}",
            chain(&error)
        ))
        .into();
    }
    if error.is_builder() {
        return Error::config("the URL is too long; expected at most 65,534 bytes");
    }
    if let Some(problem) = malformed(&error, receiving) {
        return Error::protocol(format!("the response is malformed: {problem}"), b"");
    }
    let (sent, what) = if receiving {
        (Delivery::Unknown, "the connection was lost in the middle of the response".to_owned())
    } else if is_unprocessed(&error) {
        let what = "the service closed the connection and did not process the request";
        (Delivery::Unprocessed, what.to_owned())
    } else if error.is_connect() {
        let reason = chain(&error);
        let reason = reason.strip_prefix("error sending request: ").unwrap_or(&reason);
        let reason = reason.strip_prefix("client error (Connect): ").unwrap_or(reason);
        let message = format!("cannot connect to {host}: {reason}");
        return Error::from(ErrorKind::Transport { message, sent: Delivery::NotSent })
            .with_resource(missing_resource(&error));
    } else {
        (Delivery::Unknown, "the connection was lost before a response".to_owned())
    };
    Error::from(ErrorKind::Transport { message: format!("{what}: {}", chain(&error)), sent })
        .with_resource(missing_resource(&error))
}

/// Returns the resource of the system that a connection needed and did not get, if any.
fn missing_resource(error: &reqwest::Error) -> Option<Resource> {
    let is_entropy = |cause: &(dyn std::error::Error + 'static)| {
        matches!(cause.downcast_ref(), Some(rustls::Error::FailedToGetRandomBytes))
    };
    match crate::error::causes(error).any(is_entropy) {
        true => Some(Resource::Entropy),
        false => Resource::of(error),
    }
}

/// Returns true if the service asks for HTTP/1.1, and did not process the request (RFC 9113,
/// section 7).
pub fn asks_for_http1(error: &reqwest::Error) -> bool {
    causes(error)
        .find_map(|cause| cause.downcast_ref::<h2::Error>())
        .is_some_and(|error| error.reason() == Some(h2::Reason::HTTP_1_1_REQUIRED))
}

/// Returns the problem of a response that breaks the rules of HTTP, if that is the error.
fn malformed(error: &reqwest::Error, receiving: bool) -> Option<String> {
    causes(error).find_map(|cause| {
        let is_malformed = if let Some(error) = cause.downcast_ref::<hyper::Error>() {
            error.is_parse()
        } else if let Some(error) = cause.downcast_ref::<h2::Error>() {
            use h2::Reason as R;
            const BREACHES: [R; 4] = [
                R::PROTOCOL_ERROR,
                R::FRAME_SIZE_ERROR,
                R::COMPRESSION_ERROR,
                R::FLOW_CONTROL_ERROR,
            ];
            error.is_library() && error.reason().is_some_and(|it| BREACHES.contains(&it))
        } else if let Some(error) = cause.downcast_ref::<io::Error>() {
            // The chunks of a body are malformed, unless the encryption is.
            let is_tls = error.get_ref().is_some_and(|inner| inner.is::<rustls::Error>());
            receiving && !is_tls && matches!(error.kind(), InvalidInput | InvalidData)
        } else {
            false
        };
        is_malformed.then(|| described(cause))
    })
}

/// Returns true if the service said that it did not process the request: by a GOAWAY whose last
/// stream is an earlier one, or by refusing the stream (RFC 9113, sections 6.8 and 8.7). HTTP/1.1
/// cannot say so. Also returns true if no connection took the request: hyper-util returns it if its
/// connection has ended, or if the connection is superfluous beside another one with HTTP/2. Its
/// error has no method for that, but these texts.
fn is_unprocessed(error: &reqwest::Error) -> bool {
    const UNSENT: [&str; 2] = ["client error (Canceled)", "checked out connection was closed"];
    causes(error).any(|cause| UNSENT.contains(&cause.to_string().as_str()))
        || causes(error).find_map(|cause| cause.downcast_ref::<h2::Error>()).is_some_and(|error| {
            let reason = error.reason();
            let ended = error.is_go_away() && reason == Some(h2::Reason::NO_ERROR);
            let refused = error.is_reset() && reason == Some(h2::Reason::REFUSED_STREAM);
            error.is_remote() && (ended || refused)
        })
}

/// Iterates over the causes of an error, the next one first.
fn causes(error: &reqwest::Error) -> impl Iterator<Item = &(dyn std::error::Error + 'static)> {
    iter::successors(error.source(), |cause| (*cause).source())
}

/// Shows an error with its causes, which name the actual problem.
fn chain(error: &reqwest::Error) -> String {
    causes(error).map(described).fold(error.to_string(), |text, more| {
        if text.contains(&more) { text } else { format!("{text}: {more}") }
    })
}

fn described(error: &(dyn std::error::Error + 'static)) -> String {
    error.downcast_ref().map_or_else(|| error.to_string(), http2_error)
}

/// Shows an error of HTTP/2 without the debug data of a GOAWAY, because a peer may write anything
/// there.
fn http2_error(error: &h2::Error) -> String {
    match error.reason() {
        Some(reason) if error.is_go_away() && error.is_remote() => {
            format!("connection error received: {reason}")
        }
        Some(reason) if error.is_go_away() => format!("connection error detected: {reason}"),
        _ => error.to_string(),
    }
}
