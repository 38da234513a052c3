//! Authorize, send, judge, retry: each attempt freshly signed.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ::http::HeaderValue;
use arc_swap::ArcSwap;
use tokio::{
    sync::Semaphore,
    time::{Instant, timeout},
};

use super::{
    BaseUrl, HttpResponse, Prepared, SenderOptions,
    adaptive_throttle::AdaptiveThrottle,
    blocking_pool::{BlockingPool, PoolSlot, own_client},
    clock::{Clock, Moment},
    connection::{build_client, read, transport},
    observer::{EventKind, RequestSpan},
    rate_limit::RateLimit,
    retry::{RETRY_AFTER_MAX, may_repeat, may_resend, wait_before_retry},
    retry_budget::RetryBudget,
    waits::{Wait, Waits},
};
use crate::{
    api::SERVER_TIME,
    auth::{AUTHORIZATION, Credentials, SignedHeaders, Stamp, TokenAnswer, TokenSet},
    error::{Error, ErrorKind, FailureClass, Redactor, Result},
    process::PerProcess,
};

/// How the answers are read that the sender itself asks for.
#[derive(Debug, Clone, Copy)]
pub struct ResponseParsers {
    /// The service's time, in milliseconds.
    pub clock: fn(&HttpResponse) -> Result<i64>,
    pub token: fn(&HttpResponse) -> Result<TokenAnswer>,
}

/// Sends the requests of one client.
#[derive(Debug)]
pub struct Sender {
    base: BaseUrl,
    credentials: Option<Credentials>,
    options: Arc<SenderOptions>,
    clock: Arc<Clock>,
    readers: ResponseParsers,
    state: Arc<PerProcess<ProcessState>>,
    closed: Arc<AtomicBool>,
}

/// What cannot be shared with a forked child: connections, and locks that may be held.
#[derive(Debug)]
struct ProcessState {
    /// Its connections live on the shared runtime.
    client: ArcSwap<reqwest::Client>,
    blocking_pool: Arc<BlockingPool>,
    permits: Semaphore,
    limit: RateLimit,
    throttle: AdaptiveThrottle,
    retry_budget: RetryBudget,
}

impl Sender {
    pub fn new(
        base: BaseUrl,
        credentials: Option<Credentials>,
        options: SenderOptions,
        readers: ResponseParsers,
    ) -> Result<Self> {
        // Nobody asks a tape who it is.
        let credentials = credentials.filter(|_| !options.is_replayed());
        if let Some(credentials) = &credentials {
            credentials.bind(base.as_str())?;
        }
        let sender = Sender {
            base,
            credentials,
            options: Arc::new(options),
            clock: Arc::default(),
            readers,
            state: Arc::new(PerProcess::new()),
            closed: Arc::default(),
        };
        // A proxy or certificate that cannot be used shall fail here, not at the first call.
        sender.state()?;
        Ok(sender)
    }

    /// A sender over the same connections that authorizes nothing.
    pub(super) fn without_credentials(&self) -> Self {
        Sender {
            base: self.base.clone(),
            credentials: None,
            options: self.options.clone(),
            clock: self.clock.clone(),
            readers: self.readers,
            state: self.state.clone(),
            closed: self.closed.clone(),
        }
    }

    pub(super) fn readers(&self) -> &ResponseParsers {
        &self.readers
    }

    /// Sends nothing from here on, whoever asks. Idle connections close now, the others when they
    /// become idle. Waits for nobody.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.state.forget();
    }

    /// Refuses to go on after `close`.
    pub fn check_open(&self) -> Result<()> {
        match self.closed.load(Ordering::Relaxed) {
            true => Err(Error::config("this client is closed; make a new one")),
            false => Ok(()),
        }
    }

    pub fn base(&self) -> &BaseUrl {
        &self.base
    }

    pub fn clock(&self) -> &Clock {
        &self.clock
    }

    pub fn options(&self) -> &SenderOptions {
        &self.options
    }

    /// Where a call that blocks waits best.
    pub fn slot(&self) -> Result<PoolSlot> {
        self.state()?.blocking_pool.borrow(|| build_client(&self.base, &self.options))
    }

    /// Sends until `parse` accepts the answer, the error is final, or patience runs out.
    pub async fn send<T>(
        &self,
        prepared: &Prepared,
        parse: impl Fn(&HttpResponse) -> Result<T>,
    ) -> Result<T> {
        let (total_deadline, waits) = (self.total_deadline(), Waits::default());
        let outcome =
            timeout(total_deadline, self.send_with_retries(prepared, parse, &waits)).await;
        outcome.unwrap_or_else(|_| {
            let error = ErrorKind::Timeout(waits.blame(total_deadline));
            Err(Error::from(error).with_endpoint(&prepared.label))
        })
    }

    /// The longest that a call takes: all its attempts, the waits between them, and as much again
    /// for waiting its turn.
    fn total_deadline(&self) -> Duration {
        let attempts = self.options.timeout.saturating_mul(self.options.max_retries + 1);
        let waits = if self.options.max_retries > 0 { RETRY_AFTER_MAX } else { Duration::ZERO };
        attempts.saturating_mul(2) + waits
    }

    async fn send_with_retries<T>(
        &self,
        prepared: &Prepared,
        parse: impl Fn(&HttpResponse) -> Result<T>,
        waits: &Waits,
    ) -> Result<T> {
        let started = Instant::now();
        let total_deadline = self.total_deadline();
        let state = self.state()?;
        let (mut attempts, mut retries, mut resends) = (0, 0, 0);
        let mut clock_corrected = false;
        let mut rejected: Option<Arc<TokenSet>> = None;
        loop {
            let asked = self.clock.asked();
            // A refresh has retries of its own, so its failure is final here.
            let token = waits.during(Wait::Token, self.token(rejected.as_deref())).await;
            let token = token.map_err(|error| error.with_endpoint(&prepared.label))?;
            attempts += 1;
            waits.during(Wait::Throttle, self.wait_for_throttle(&state, prepared)).await;
            let departed = Instant::now();
            let received = self.attempt(&state, prepared, token.as_deref(), attempts, waits).await;
            let outcome = received.as_ref().map_err(Clone::clone).and_then(&parse);
            let error = match outcome {
                Ok(value) => {
                    self.record(prepared, &received, token.iter().chain(&rejected))?;
                    state.throttle.accepted(&prepared.label);
                    state.retry_budget.succeeded(retries > 0);
                    return Ok(value);
                }
                Err(error) => error
                    .redacted(&self.redactor(token.iter().chain(&rejected)))
                    .with_endpoint(&prepared.label),
            };
            let span = self.span(prepared, attempts);
            let tell = |what| tell(span.as_ref(), waits, what);
            if is_throttled(&error)
                && let Some(per_second) =
                    state.throttle.refused(&prepared.label, departed, Instant::now())
            {
                tell(EventKind::Slowed { per_second }).await;
            }
            if may_resend(&error, resends) {
                resends += 1;
                tell(EventKind::Retrying { wait: Duration::ZERO, reason: error.kind.summary() })
                    .await;
                continue;
            }
            if token.is_some() && rejected.is_none() && error.rejects_token() {
                rejected = token;
                continue;
            }
            if !clock_corrected && self.is_clock_refusal(&error) {
                clock_corrected = true;
                match self.correct_clock(asked).await {
                    Ok(()) => continue,
                    // A service whose clock makes no sense is the trouble, not this machine's.
                    Err(cause) if matches!(*cause.kind, ErrorKind::Protocol { .. }) => {
                        return Err(cause);
                    }
                    Err(_) => return Err(error),
                }
            }
            self.record(prepared, &received, token.iter().chain(&rejected))?;
            if retries >= self.options.max_retries || !may_repeat(prepared, &error) {
                return Err(error);
            }
            let Some(wait) = wait_before_retry(&error, retries) else { return Err(error) };
            if started.elapsed() + wait > total_deadline {
                return Err(error);
            }
            let told = if state.retry_budget.pay() {
                EventKind::Retrying { wait, reason: error.kind.summary() }
            } else {
                EventKind::RetryBudgetExhausted { reason: error.kind.summary() }
            };
            let paid = matches!(told, EventKind::Retrying { .. });
            tell(told).await;
            if !paid {
                return Err(error);
            }
            retries += 1;
            self.pause(wait).await;
        }
    }

    /// The token to send, where the credentials are those of a login.
    async fn token(&self, rejected: Option<&TokenSet>) -> Result<Option<Arc<TokenSet>>> {
        match &self.credentials {
            Some(Credentials::OAuth(oauth)) => match oauth.cached_token(rejected)? {
                Some(token) => Ok(Some(token)),
                None => oauth.token(&self.token_endpoint(), rejected).await.map(Some),
            },
            _ => Ok(None),
        }
    }

    /// The headers that authorize this request now. `token` is that of a login; without one, stars
    /// stand in its place.
    pub fn authorize(
        &self,
        prepared: &Prepared,
        token: Option<&TokenSet>,
    ) -> Result<Vec<(&'static str, String)>> {
        match &self.credentials {
            None => Ok(Vec::new()),
            Some(Credentials::OAuth(_)) => {
                let token = token.map_or("***", |set| set.access_token.as_str());
                Ok(vec![(AUTHORIZATION, format!("Bearer {token}"))])
            }
            Some(Credentials::Bearer { token, .. }) => {
                Ok(vec![(AUTHORIZATION, format!("Bearer {}", token.as_str()))])
            }
            Some(Credentials::ApiKey { key_id, key, .. }) => {
                let query = prepared.url.query().unwrap_or_default();
                let line = (prepared.method.as_str(), prepared.url.path(), query);
                let stamp = Stamp::new(self.clock.now_ms())?;
                let signed = SignedHeaders::sign(key_id, key, stamp, line, &prepared.body)?;
                Ok(signed.pairs().into())
            }
        }
    }

    /// Waits for the pace that the service has asked for on this path, if it has. That takes no
    /// place from the requests of other paths.
    async fn wait_for_throttle(&self, state: &ProcessState, prepared: &Prepared) {
        let now = Instant::now();
        let departure = state.throttle.departure(&prepared.label, now);
        self.pause(departure.saturating_duration_since(now)).await;
    }

    /// Waits before a request; a replay has no service to spare, so it does not wait.
    async fn pause(&self, wait: Duration) {
        if !wait.is_zero() && !self.options.is_replayed() {
            tokio::time::sleep(wait).await;
        }
    }

    fn span<'a>(&'a self, prepared: &'a Prepared, attempt: u32) -> Option<RequestSpan<'a>> {
        let observer = self.options.observer.as_deref();
        RequestSpan::new(observer, prepared.method.as_str(), prepared.url.path(), attempt)
    }

    /// Whoever is told of this sender's work, if anybody listens just now.
    pub(super) fn path_span<'a>(
        &'a self,
        method: &'a str,
        path: &'a str,
    ) -> Option<RequestSpan<'a>> {
        RequestSpan::new(self.options.observer.as_deref(), method, path, 1)
    }

    async fn attempt(
        &self,
        state: &ProcessState,
        prepared: &Prepared,
        token: Option<&TokenSet>,
        attempt: u32,
        waits: &Waits,
    ) -> Result<HttpResponse> {
        self.check_open()?;
        if let Some(answer) =
            self.options.cassette.as_ref().and_then(|cassette| cassette.answer(prepared))
        {
            return answer;
        }
        let span = self.span(prepared, attempt);
        // Told outside the permit: a hook may call the client itself.
        tell(span.as_ref(), waits, EventKind::Sending).await;
        let (duration, outcome) = self.exchange(state, prepared, token, waits).await?;
        if let Some(span) = &span {
            waits.during(Wait::Hooks, span.tell_end(&outcome, duration)).await;
        }
        outcome
    }

    /// One request and what came of it, with the time from its first byte sent on.
    async fn exchange(
        &self,
        state: &ProcessState,
        prepared: &Prepared,
        token: Option<&TokenSet>,
        waits: &Waits,
    ) -> Result<(Duration, Result<HttpResponse>)> {
        let permit = waits.during(Wait::Connection, state.permits.acquire()).await;
        let _permit = permit.map_err(|_| Error::config("the client is closed"))?;
        waits.during(Wait::RateLimit, state.limit.reserve().come()).await;
        let mut request = reqwest::Request::new(prepared.method.clone(), prepared.url.clone());
        *request.headers_mut() = prepared.headers.clone();
        for (name, value) in self.authorize(prepared, token)? {
            let mut value = HeaderValue::try_from(value)
                .map_err(|_| Error::config("the credentials are no usable header value"))?;
            value.set_sensitive(true);
            request.headers_mut().insert(name, value);
        }
        if !prepared.body.is_empty() {
            *request.body_mut() = Some(prepared.body.clone().into());
        }
        let started = Instant::now();
        let outcome = self.execute(state, request).await;
        Ok((started.elapsed(), outcome))
    }

    async fn execute(
        &self,
        state: &ProcessState,
        request: reqwest::Request,
    ) -> Result<HttpResponse> {
        let (own, shared) = (own_client(), state.client.load_full());
        let tells_time = self.base.is_path(request.url().path(), SERVER_TIME.path);
        let sent = Moment::now();
        let whole = async {
            let client = own.as_ref().unwrap_or(&shared);
            let answer = client.execute(request).await.map_err(|e| transport(e, false))?;
            read(answer, self.options.max_body_bytes).await
        };
        match timeout(self.options.timeout, whole).await {
            Ok(outcome) => {
                if tells_time && let Ok(received) = &outcome {
                    self.learn_time(received, sent);
                }
                outcome
            }
            Err(_) => {
                if own.is_none() {
                    self.reset_pool(state, &shared);
                }
                let seconds = self.options.timeout.as_secs_f64();
                Err(ErrorKind::Timeout(format!("no whole answer within {seconds} s")).into())
            }
        }
    }

    /// Uses none of the connections any more that are idle now: after a sleep, or where the network
    /// forgot them, nobody answers on any of them, and each retry would wait for another one. A lane
    /// has only the one, which was given up.
    fn reset_pool(&self, state: &ProcessState, used: &Arc<reqwest::Client>) {
        if let Ok(client) = build_client(&self.base, &self.options) {
            state.client.compare_and_swap(used, Arc::new(client));
        }
    }

    /// Puts an exchange on the tape, if there is one. Not those that a fresh token or signature
    /// made good: played back there is neither.
    fn record<'a>(
        &self,
        prepared: &Prepared,
        received: &Result<HttpResponse>,
        used: impl Iterator<Item = &'a Arc<TokenSet>>,
    ) -> Result<()> {
        let Some(cassette) = &self.options.cassette else { return Ok(()) };
        cassette
            .record(self.base.as_str(), prepared, received, &self.redactor(used))
            .map_err(|error| error.with_endpoint(&prepared.label))
    }

    /// Finds what the service may repeat of the secrets that a call has used.
    fn redactor<'a>(&self, used: impl Iterator<Item = &'a Arc<TokenSet>>) -> Redactor {
        let own = self.credentials.as_ref().and_then(Credentials::secret);
        Redactor::new(used.flat_map(|set| set.secrets()).chain(own))
    }

    fn is_clock_refusal(&self, error: &Error) -> bool {
        matches!(self.credentials, Some(Credentials::ApiKey { .. }))
            && error
                .api_failure()
                .is_some_and(|api_failure| api_failure.class == FailureClass::ClockSkew)
    }

    fn state(&self) -> Result<Arc<ProcessState>> {
        self.check_open()?;
        self.state.get_or_make(|| {
            Ok(ProcessState {
                client: ArcSwap::from_pointee(build_client(&self.base, &self.options)?),
                blocking_pool: BlockingPool::new(),
                permits: Semaphore::new(self.options.max_connections),
                limit: RateLimit::new(self.options.rate_limit),
                throttle: AdaptiveThrottle::default(),
                retry_budget: RetryBudget::new(),
            })
        })
    }
}

async fn tell(span: Option<&RequestSpan<'_>>, waits: &Waits, what: EventKind) {
    if let Some(span) = span {
        waits.during(Wait::Hooks, span.tell(what)).await;
    }
}

fn is_throttled(error: &Error) -> bool {
    error.api_failure().is_some_and(|api_failure| api_failure.class == FailureClass::RateLimited)
}
