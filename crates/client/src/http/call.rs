//! One call: attempts until a response is accepted, the error is final, or the time is up.

use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

use ::http::HeaderMap;
use tokio::time::timeout;

use super::{
    HttpResponse, Request,
    authorize::CallAuthorization,
    exchange::{Received, SentHeaders, redactor, redactor_of_held},
    observer::{EventKind, RequestSpan},
    options::ClientRate,
    retry::{Decision, Retries, retry_after, total_deadline},
    transport::{ProcessState, Transport},
    wait_times::{WaitReason, WaitTimes},
};
use crate::{
    api::{MARKETS, suggest_market, suggest_symbol},
    error::{Error, ErrorKind, FailureClass, Redactor, Result, Unredacted},
    shared_limit::boot_nanos,
};

/// Sends a request until `parse` accepts the response. All requests are sent here.
pub async fn call<T>(
    transport: &Transport,
    mut authorization: CallAuthorization<'_>,
    request: &Request,
    failed_attempts: &AtomicU64,
    parse: impl Fn(&HttpResponse) -> Result<T>,
) -> Result<T> {
    let (deadline, wait_times) = (total_deadline(&transport.options), WaitTimes::default());
    let counts = (&wait_times, failed_attempts);
    let attempts = send_with_retries(transport, &mut authorization, request, parse, counts);
    timeout(deadline, attempts).await.unwrap_or_else(|_| {
        let error = ErrorKind::Timeout(wait_times.timeout_message(deadline));
        Err(Error::from(error).with_endpoint(&request.label))
    })
}

impl Transport {
    /// Sends a request without credentials, such as a request that obtains or needs none.
    pub async fn call_unauthorized<T>(
        &self,
        request: &Request,
        parse: impl Fn(&HttpResponse) -> Result<T>,
    ) -> Result<T> {
        let failed_attempts = AtomicU64::default();
        call(self, CallAuthorization::default(), request, &failed_attempts, parse).await
    }
}

impl Transport {
    /// Waits before a request is sent again in another way: this long, or longer if the service
    /// asks for it. Reports the wait as a retry.
    pub async fn pause_after(&self, request: &Request, error: &Error, least: Duration) {
        let wait = retry_after(error).unwrap_or_default().max(least);
        if let Some(span) = self.span(request, 1) {
            let reason = error.kind.summary();
            let _ = span.emit(EventKind::Retrying { wait, reason }).await;
        }
        sleep(self, wait).await;
    }
}

async fn send_with_retries<T>(
    transport: &Transport,
    authorization: &mut CallAuthorization<'_>,
    request: &Request,
    parse: impl Fn(&HttpResponse) -> Result<T>,
    (wait_times, failed_attempts): (&WaitTimes, &AtomicU64),
) -> Result<T> {
    let state = transport.state()?;
    let mut retries = Retries::new(&transport.options, &state.retry_budget);
    let mut number = 0;
    loop {
        number += 1;
        // A refresh has retries of its own, so its failure is final here.
        let prepared = wait_times.measure(WaitReason::Token, authorization.prepare()).await;
        prepared.map_err(|error| error.with_endpoint(&request.label))?;
        wait_times
            .measure(WaitReason::Throttle, wait_for_throttle(transport, &state, request))
            .await;
        let sent_at = boot_nanos();
        let span = transport.span(request, number);
        let sent = SentHeaders::new();
        let mut attempt =
            Attempt { transport, authorization, state: &state, request, span, wait_times, sent };
        let outcome = attempt.send().await;
        let parsed = outcome.as_ref().map_err(Clone::clone).and_then(|it| it.parse(&parse));
        let error = match parsed {
            Ok(value) => {
                attempt.record(&outcome)?;
                state.throttle.accepted(&request.label);
                retries.succeeded();
                return Ok(value);
            }
            Err(error) => {
                let redactor = attempt.redactor(outcome.as_ref().ok());
                let error = error.redacted(&redactor);
                advised(error, attempt.authorization, request).with_endpoint(&request.label)
            }
        };
        if is_throttled(&error) {
            let lowered = state.throttle.rejected(&request.label, sent_at, boot_nanos());
            tell_others(transport, &error, lowered.map(|_| sent_at)).await;
            if let Some(per_second) = lowered {
                attempt.tell(EventKind::Throttled { per_second }).await;
            }
        }
        if let Some(wait) = retries.resend(&error) {
            failed_attempts.fetch_add(1, Ordering::Relaxed);
            let reason = error.kind.summary();
            attempt.tell(EventKind::Retrying { wait, reason }).await;
            sleep(transport, wait).await;
            continue;
        }
        if attempt.authorization.recover(&error).await? {
            continue;
        }
        failed_attempts.fetch_add(1, Ordering::Relaxed);
        attempt.record(&outcome)?;
        let reason = || error.kind.summary();
        match retries.retry(request, &error) {
            Decision::Retry(wait) => {
                attempt.tell(EventKind::Retrying { wait, reason: reason() }).await;
                sleep(transport, wait).await;
            }
            Decision::BudgetExhausted => {
                attempt.tell(EventKind::RetryBudgetExhausted { reason: reason() }).await;
                return Err(error);
            }
            Decision::Fail => return Err(error),
        }
    }
}

/// One attempt of a call.
struct Attempt<'a, 'b> {
    transport: &'a Transport,
    authorization: &'a mut CallAuthorization<'b>,
    state: &'a ProcessState,
    request: &'a Request,
    span: Option<RequestSpan>,
    wait_times: &'a WaitTimes,
    /// The headers that authorize the attempt, once it is sent.
    sent: SentHeaders,
}

impl Attempt<'_, '_> {
    async fn send(&mut self) -> Result<Received, Unredacted> {
        self.transport.check_open()?;
        let cassette = self.transport.options.cassette.as_ref();
        if let Some(response) = cassette.and_then(|cassette| cassette.response(self.request)) {
            return Ok(Received::new(response?));
        }
        // Runs before a connection is taken: a hook may call the client itself.
        let added = self.emit(EventKind::Sending).await?;
        let (duration, outcome) = {
            let limit = || self.wait_times.spent(WaitReason::RateLimit);
            let span = self.span.as_ref().map(|span| (span, limit()));
            let _permit = self.transport.acquire(self.state, self.wait_times).await?;
            if let Some((span, before)) = span {
                span.waited(limit().saturating_sub(before));
            }
            self.sent = self.authorization.headers(self.request)?;
            self.transport.exchange(self.state, self.request, added, &self.sent).await
        };
        if let Some(span) = &self.span {
            let kind = match &outcome {
                Ok(received) => EventKind::Responded { status: received.status(), duration },
                Err(error) => EventKind::Failed {
                    error: error.shown(&self.redactor(None)),
                    class: error.class().name(),
                    duration,
                },
            };
            // A response that has arrived is not lost if the system has no thread for a hook.
            let _ = self.wait_times.measure(WaitReason::Hooks, span.emit(kind)).await;
        }
        outcome
    }

    async fn emit(&self, kind: EventKind) -> Result<HeaderMap> {
        match &self.span {
            Some(span) => self.wait_times.measure(WaitReason::Hooks, span.emit(kind)).await,
            None => Ok(HeaderMap::new()),
        }
    }

    /// Reports an event that changes nothing about the request.
    async fn tell(&self, kind: EventKind) {
        let _ = self.emit(kind).await;
    }

    /// Redacts the secrets that this attempt has sent and received.
    fn redactor(&self, received: Option<&Received>) -> Redactor {
        let proxy = self.transport.options.connect.proxy.as_deref();
        redactor(self.authorization.secrets(), self.request, proxy, &self.sent, received)
    }

    /// Records an exchange, if there is a recorder. Skips an exchange that was repeated with a
    /// fresh token or signature: a replay has neither.
    fn record(&self, outcome: &Result<Received, Unredacted>) -> Result<()> {
        let Some(cassette) = &self.transport.options.cassette else { return Ok(()) };
        let redactor = self.redactor(outcome.as_ref().ok());
        let proxy = self.transport.options.connect.proxy.as_deref();
        let held = redactor_of_held(self.authorization.secrets(), self.request, proxy, &self.sent);
        cassette
            .record(self.transport.base.as_str(), self.request, outcome, &held, &redactor)
            .map_err(|error| error.with_endpoint(&self.request.label))
    }
}

/// Waits as long as the adaptive throttle of this path requires, without holding a connection.
async fn wait_for_throttle(transport: &Transport, state: &ProcessState, request: &Request) {
    let now = boot_nanos();
    let send_at = state.throttle.send_at(&request.label, now);
    sleep(transport, Duration::from_nanos(send_at.saturating_sub(now))).await;
}

/// Tells all clients that share the rate limit what the service demands. If they cannot be told,
/// the demand applies to this client alone.
async fn tell_others(transport: &Transport, error: &Error, slow_since: Option<u64>) {
    let Some(ClientRate::Shared(shared)) = transport.rate_limit() else { return };
    if let Some(wait) = retry_after(error) {
        _ = shared.hold(wait).await;
    }
    if let Some(sent_at) = slow_since {
        let sent_ago = Duration::from_nanos(boot_nanos().saturating_sub(sent_at));
        _ = shared.slow_down(sent_ago).await;
    }
}

/// Waits before a request. A replay has no service to protect, so it does not wait.
async fn sleep(transport: &Transport, wait: Duration) {
    if !wait.is_zero() && !transport.options.is_replayed() {
        tokio::time::sleep(wait).await;
    }
}

/// Adds to the error what the request shows about its cause.
fn advised(error: Error, authorization: &CallAuthorization<'_>, request: &Request) -> Error {
    let Some(class) = error.api_failure().map(|api_failure| api_failure.class) else {
        return error;
    };
    match class {
        FailureClass::Authentication => authorization.advised(error),
        FailureClass::InvalidSymbol | FailureClass::InvalidParameter | FailureClass::Other => {
            match suggestion(request) {
                Some(meant) => {
                    let advice = format!("Did you mean '{meant}'? {}", error.hint());
                    error.with_advice(advice.trim_end().to_owned())
                }
                None => error,
            }
        }
        _ => error,
    }
}

/// Suggests the symbol or market that one in the URL was meant to be.
fn suggestion(request: &Request) -> Option<String> {
    let in_path = request.url.path().split('/').find_map(suggest_symbol);
    in_path.or_else(|| {
        let mut values = request.url.query_pairs();
        values.find_map(|(name, value)| {
            let market = value.split_once('.').map(|(market, _)| market);
            let market = market.filter(|market| name == "trd_market" && MARKETS.contains(market));
            let meant = market.map(str::to_owned);
            meant.or_else(|| suggest_symbol(&value)).or_else(|| suggest_market(&value))
        })
    })
}

fn is_throttled(error: &Error) -> bool {
    error.api_failure().is_some_and(|api_failure| api_failure.class == FailureClass::RateLimited)
}
