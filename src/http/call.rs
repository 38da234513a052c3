//! One call: attempts until a response is accepted, the error is final, or the time is up.

use std::time::Duration;

use ::http::HeaderMap;
use tokio::time::{Instant, timeout};

use super::{
    HttpResponse, Request,
    observer::{EventKind, RequestSpan},
    retry::{Decision, Retries, total_deadline},
    transport::{ProcessState, Transport},
    wait_times::{WaitReason, WaitTimes},
};
use crate::{
    api::{suggest_market, suggest_symbol},
    error::{Error, ErrorKind, FailureClass, Redactor, Result},
};

/// Sends a request until `parse` accepts the response. The only way to send.
pub async fn call<T>(
    transport: &Transport,
    authorization: &mut impl Authorization,
    request: &Request,
    parse: impl Fn(&HttpResponse) -> Result<T>,
) -> Result<T> {
    let (deadline, wait_times) = (total_deadline(transport.options()), WaitTimes::default());
    let attempts = send_with_retries(transport, authorization, request, parse, &wait_times);
    timeout(deadline, attempts).await.unwrap_or_else(|_| {
        let error = ErrorKind::Timeout(wait_times.timeout_message(deadline));
        Err(Error::from(error).with_endpoint(&request.label))
    })
}

/// What authorizes the attempts of one call.
pub trait Authorization: Send + Sync {
    /// Gets what the next attempt needs, such as an access token.
    fn prepare(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// The headers that authorize a request now: each attempt is signed again.
    fn headers(&self, request: &Request) -> Result<Vec<(&'static str, String)>>;

    /// Whether the cause of a rejection was removed, so that the request is to be sent again at once.
    fn recover(&mut self, error: &Error) -> impl Future<Output = Result<bool>> + Send;

    /// Finds what the service may repeat of the secrets that the attempts have used.
    fn redactor(&self) -> Redactor;
}

/// No authorization: for requests that get or need none.
#[derive(Debug)]
pub struct Anonymous;

impl Authorization for Anonymous {
    async fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    fn headers(&self, _request: &Request) -> Result<Vec<(&'static str, String)>> {
        Ok(Vec::new())
    }

    async fn recover(&mut self, _error: &Error) -> Result<bool> {
        Ok(false)
    }

    fn redactor(&self) -> Redactor {
        Redactor::new([])
    }
}

async fn send_with_retries<T>(
    transport: &Transport,
    authorization: &mut impl Authorization,
    request: &Request,
    parse: impl Fn(&HttpResponse) -> Result<T>,
    wait_times: &WaitTimes,
) -> Result<T> {
    let state = transport.state()?;
    let mut retries = Retries::new(transport.options(), &state.retry_budget);
    let mut number = 0;
    loop {
        number += 1;
        // A refresh has retries of its own, so its failure is final here.
        let prepared = wait_times.measure(WaitReason::Token, authorization.prepare()).await;
        prepared.map_err(|error| error.with_endpoint(&request.label))?;
        wait_times
            .measure(WaitReason::Throttle, wait_for_throttle(transport, &state, request))
            .await;
        let departed = Instant::now();
        let span = transport.span(request, number);
        let attempt = Attempt { transport, state: &state, request, span, wait_times };
        let response = attempt.send(authorization).await;
        let error = match response.as_ref().map_err(Clone::clone).and_then(&parse) {
            Ok(value) => {
                record(transport, authorization, request, &response)?;
                state.throttle.accepted(&request.label);
                retries.succeeded();
                return Ok(value);
            }
            Err(error) => {
                let error = error.redacted(&authorization.redactor());
                advised(error, authorization, request).with_endpoint(&request.label)
            }
        };
        if is_throttled(&error)
            && let Some(per_second) =
                state.throttle.rejected(&request.label, departed, Instant::now())
        {
            attempt.emit(EventKind::Throttled { per_second }).await;
        }
        if retries.resend(&error) {
            let reason = error.kind.summary();
            attempt.emit(EventKind::Retrying { wait: Duration::ZERO, reason }).await;
            continue;
        }
        if authorization.recover(&error).await? {
            continue;
        }
        record(transport, authorization, request, &response)?;
        let reason = || error.kind.summary();
        match retries.retry(request, &error) {
            Decision::Retry(wait) => {
                attempt.emit(EventKind::Retrying { wait, reason: reason() }).await;
                sleep(transport, wait).await;
            }
            Decision::BudgetExhausted => {
                attempt.emit(EventKind::RetryBudgetExhausted { reason: reason() }).await;
                return Err(error);
            }
            Decision::Fail => return Err(error),
        }
    }
}

/// One attempt of a call.
struct Attempt<'a> {
    transport: &'a Transport,
    state: &'a ProcessState,
    request: &'a Request,
    span: Option<RequestSpan>,
    wait_times: &'a WaitTimes,
}

impl Attempt<'_> {
    async fn send(&self, authorization: &impl Authorization) -> Result<HttpResponse> {
        self.transport.check_open()?;
        let cassette = self.transport.options().cassette.as_ref();
        if let Some(response) = cassette.and_then(|cassette| cassette.response(self.request)) {
            return response;
        }
        // Before a connection is taken: a hook may call the client itself.
        let added = self.emit(EventKind::Sending).await;
        let (duration, outcome) = {
            let _permit = self.transport.acquire(self.state, self.wait_times).await?;
            let headers = authorization.headers(self.request)?;
            self.transport.exchange(self.state, self.request, added, headers).await?
        };
        if let Some(span) = &self.span {
            let emitted = span.emit_outcome(&outcome, duration);
            self.wait_times.measure(WaitReason::Hooks, emitted).await;
        }
        outcome
    }

    async fn emit(&self, kind: EventKind) -> HeaderMap {
        match &self.span {
            Some(span) => self.wait_times.measure(WaitReason::Hooks, span.emit(kind)).await,
            None => HeaderMap::new(),
        }
    }
}

/// Waits as the adaptive throttle of this path requires. Does not hold a connection during that time.
async fn wait_for_throttle(transport: &Transport, state: &ProcessState, request: &Request) {
    let now = Instant::now();
    let departure = state.throttle.departure(&request.label, now);
    sleep(transport, departure.saturating_duration_since(now)).await;
}

/// Waits before a request; a replay has no service to protect, so it does not wait.
async fn sleep(transport: &Transport, wait: Duration) {
    if !wait.is_zero() && !transport.options().is_replayed() {
        tokio::time::sleep(wait).await;
    }
}

/// The error with what the request shows about its cause.
fn advised(error: Error, authorization: &impl Authorization, request: &Request) -> Error {
    let Some(class) = error.api_failure().map(|api_failure| api_failure.class) else {
        return error;
    };
    match class {
        FailureClass::Authentication
            if authorization.headers(request).is_ok_and(|headers| headers.is_empty()) =>
        {
            error.with_advice(
                "No credentials were passed: give the client auth=ApiKey(...), a login, or \
                 profile=."
                    .to_owned(),
            )
        }
        FailureClass::InvalidSymbol | FailureClass::InvalidParameter | FailureClass::Other => {
            match suggestion(request) {
                Some(meant) => {
                    let advice = format!("Did you mean '{meant}'? {}", error.hint());
                    error.with_advice(advice)
                }
                None => error,
            }
        }
        _ => error,
    }
}

/// What a symbol or market in the URL was probably meant to be.
fn suggestion(request: &Request) -> Option<String> {
    let in_path = request.url.path().split('/').find_map(suggest_symbol);
    in_path.or_else(|| {
        let mut values = request.url.query_pairs();
        values.find_map(|(_, value)| suggest_symbol(&value).or_else(|| suggest_market(&value)))
    })
}

/// Records an exchange, if there is a recorder. Not one that was repeated with a fresh token or
/// signature: a replay has neither.
fn record(
    transport: &Transport,
    authorization: &impl Authorization,
    request: &Request,
    response: &Result<HttpResponse>,
) -> Result<()> {
    let Some(cassette) = &transport.options().cassette else { return Ok(()) };
    cassette
        .record(transport.base().as_str(), request, response, &authorization.redactor())
        .map_err(|error| error.with_endpoint(&request.label))
}

fn is_throttled(error: &Error) -> bool {
    error.api_failure().is_some_and(|api_failure| api_failure.class == FailureClass::RateLimited)
}
