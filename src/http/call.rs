//! One call: attempts until a response is accepted, the error is final, or the time is up.

use std::time::Duration;

use ::http::HeaderMap;
use tokio::time::timeout;

use super::{
    HttpResponse, Request,
    exchange::{Received, SentHeaders, redactor},
    observer::{EventKind, RequestSpan},
    options::ClientRate,
    retry::{Decision, Retries, retry_after, total_deadline},
    transport::{ProcessState, Transport},
    wait_times::{WaitReason, WaitTimes},
};
use crate::{
    api::{MARKETS, endpoint, suggest_market, suggest_symbol},
    error::{Error, ErrorKind, FailureClass, Redactor, Result, Unredacted},
    shared_limit::boot_nanos,
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

impl Transport {
    /// Sends a request without credentials: for those that get or need none.
    pub async fn call_unauthorized<T>(
        &self,
        request: &Request,
        parse: impl Fn(&HttpResponse) -> Result<T>,
    ) -> Result<T> {
        call(self, &mut Unauthorized, request, parse).await
    }
}

/// Authorizes the attempts of one call.
pub trait Authorization: Send + Sync {
    /// Gets what the next attempt needs, such as an access token.
    fn prepare(&mut self) -> impl Future<Output = Result<()>> + Send;

    /// The headers that authorize a request now: each attempt is signed again.
    fn headers(&self, request: &Request) -> Result<SentHeaders>;

    /// Returns true if the cause of a rejection was removed, so that the request is to be sent
    /// again at once.
    fn recover(&mut self, error: &Error) -> impl Future<Output = Result<bool>> + Send;

    /// The secrets that the attempts have used, other than the headers.
    fn secrets(&self) -> Vec<&str>;
}

/// No authorization.
#[derive(Debug)]
pub struct Unauthorized;

impl Authorization for Unauthorized {
    async fn prepare(&mut self) -> Result<()> {
        Ok(())
    }

    fn headers(&self, _request: &Request) -> Result<SentHeaders> {
        Ok(Vec::new())
    }

    async fn recover(&mut self, _error: &Error) -> Result<bool> {
        Ok(false)
    }

    fn secrets(&self) -> Vec<&str> {
        Vec::new()
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
        let sent_at = boot_nanos();
        let span = transport.span(request, number);
        let sent = SentHeaders::new();
        let mut attempt = Attempt { transport, state: &state, request, span, wait_times, sent };
        let outcome = attempt.send(authorization).await;
        let parsed = outcome.as_ref().map_err(Clone::clone).and_then(|it| it.parse(&parse));
        let error = match parsed {
            Ok(value) => {
                attempt.record(authorization, &outcome)?;
                state.throttle.accepted(&request.label);
                retries.succeeded();
                return Ok(value);
            }
            Err(error) => {
                let redactor = attempt.redactor(authorization, outcome.as_ref().ok());
                let error = error.redacted(&redactor);
                advised(error, authorization, request).with_endpoint(&request.label)
            }
        };
        if is_throttled(&error) {
            let lowered = state.throttle.rejected(&request.label, sent_at, boot_nanos());
            tell_others(transport, &error, lowered.map(|_| sent_at)).await;
            if let Some(per_second) = lowered {
                attempt.emit(EventKind::Throttled { per_second }).await;
            }
        }
        if let Some(wait) = retries.resend(&error) {
            let reason = error.kind.summary();
            attempt.emit(EventKind::Retrying { wait, reason }).await;
            sleep(transport, wait).await;
            continue;
        }
        if authorization.recover(&error).await? {
            continue;
        }
        attempt.record(authorization, &outcome)?;
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
    /// The headers that authorize it, once it is sent.
    sent: SentHeaders,
}

impl Attempt<'_> {
    async fn send(&mut self, authorization: &impl Authorization) -> Result<Received, Unredacted> {
        self.transport.check_open()?;
        let cassette = self.transport.options().cassette.as_ref();
        if let Some(response) = cassette.and_then(|cassette| cassette.response(self.request)) {
            return Ok(Received::new(response?));
        }
        // Before a connection is taken: a hook may call the client itself.
        let added = self.emit(EventKind::Sending).await;
        let (duration, outcome) = {
            let limit = || self.wait_times.spent(WaitReason::RateLimit);
            let span = self.span.as_ref().map(|span| (span, limit()));
            let _permit = self.transport.acquire(self.state, self.wait_times).await?;
            if let Some((span, before)) = span {
                span.waited(limit().saturating_sub(before));
            }
            self.sent = authorization.headers(self.request)?;
            self.transport.exchange(self.state, self.request, added, &self.sent).await
        };
        if let Some(span) = &self.span {
            let shown = match &outcome {
                Ok(received) => Ok(received.status()),
                Err(error) => {
                    let text = error.shown(&self.redactor(authorization, None));
                    Err((text, error.exception_class()))
                }
            };
            let emitted = span.emit_outcome(shown, duration);
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

    /// Redacts the secrets that this attempt has sent and received.
    fn redactor(
        &self,
        authorization: &impl Authorization,
        received: Option<&Received>,
    ) -> Redactor {
        let proxy = self.transport.options().connect.proxy.as_deref();
        redactor(authorization.secrets(), self.request, proxy, &self.sent, received)
    }

    /// Records an exchange, if there is a recorder. Not one that was repeated with a fresh token or
    /// signature: a replay has neither.
    fn record(
        &self,
        authorization: &impl Authorization,
        outcome: &Result<Received, Unredacted>,
    ) -> Result<()> {
        let Some(cassette) = &self.transport.options().cassette else { return Ok(()) };
        let redactor = self.redactor(authorization, outcome.as_ref().ok());
        cassette
            .record(self.transport.base().as_str(), self.request, outcome, &redactor)
            .map_err(|error| error.with_endpoint(&self.request.label))
    }
}

/// Waits as the adaptive throttle of this path requires. Does not hold a connection during that time.
async fn wait_for_throttle(transport: &Transport, state: &ProcessState, request: &Request) {
    let now = boot_nanos();
    let send_at = state.throttle.send_at(&request.label, now);
    sleep(transport, Duration::from_nanos(send_at.saturating_sub(now))).await;
}

/// Applies the service's demand to all who share the rate limit. If they cannot be told, it applies
/// here.
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
                "No credentials were passed: pass auth=ApiKey(...), a login as auth=, or \
                 profile= to the client."
                    .to_owned(),
            )
        }
        FailureClass::InvalidSymbol | FailureClass::InvalidParameter | FailureClass::Other => {
            match suggestion(request) {
                Some(meant) => {
                    let advice = format!("Did you mean '{meant}'? {}", error.hint());
                    error.with_advice(advice.trim_end().to_owned())
                }
                None if is_about_account(&error, request) => {
                    let is_market = |part: &str| MARKETS.contains(&part);
                    let order = match request.url.path().split('/').any(is_market) {
                        true => "The account comes before the market. ",
                        false => "",
                    };
                    error.with_advice(format!("{order}{ACCOUNTS}"))
                }
                None => error,
            }
        }
        _ => error,
    }
}

const ACCOUNTS: &str = "Check acc_id: an account is of one kind, and crypto_orders needs one for crypto, \
                        sim_orders and sim_positions one for simulated trading, and fills_history a \
                        trading account.";

/// Returns true if the service's message is about the account of the request.
fn is_about_account(error: &Error, request: &Request) -> bool {
    let message = error.api_failure().map(|failure| failure.message.to_lowercase());
    message.is_some_and(|message| message.contains("acc_id") || message.contains("account"))
        && endpoint(&request.label).is_some_and(|endpoint| endpoint.parameter("acc_id").is_some())
}

/// Suggests what a symbol or market in the URL was meant to be.
fn suggestion(request: &Request) -> Option<String> {
    let in_path = request.url.path().split('/').find_map(suggest_symbol);
    in_path.or_else(|| {
        let mut values = request.url.query_pairs();
        values.find_map(|(_, value)| suggest_symbol(&value).or_else(|| suggest_market(&value)))
    })
}

fn is_throttled(error: &Error) -> bool {
    error.api_failure().is_some_and(|api_failure| api_failure.class == FailureClass::RateLimited)
}
