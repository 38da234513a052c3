//! The connections to one service, the limits on their use, and one exchange over them. This module
//! knows no credentials.

use std::{
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use ::http::HeaderMap;
use tokio::{
    sync::{Semaphore, SemaphorePermit},
    time::{Instant, timeout},
};

use super::{
    BaseUrl, Cursor, Request, RequestPlan, TransportOptions,
    adaptive_throttle::AdaptiveThrottle,
    blocking_pool::{PoolSlot, local_client},
    clock::{Clock, ClockReading, LastRequest, LocalInstant},
    connection::{asks_for_http1, read_response, transport_error},
    connections::Connections,
    exchange::{Received, SentHeaders},
    observer::RequestSpan,
    options::ClientRate,
    proxy,
    queued_request::QueuedRequest,
    retry_budget::RetryBudget,
    wait_times::{WaitReason, WaitTimes},
};
use crate::{
    api::SERVER_TIME,
    decode::parse_server_time,
    error::{Advice, Delivery, Error, ErrorKind, Result, Unredacted},
    os::{origin::origin, process::PerProcess},
    shared_limit::SharedLimit,
};

/// The transport to one service.
#[derive(Debug)]
pub struct Transport {
    /// The base URL of the service.
    pub base: BaseUrl,
    pub(super) options: TransportOptions,
    /// The environment variable that names a proxy which is not used.
    unused_proxy: Option<&'static str>,
    /// The service's clock.
    pub clock: Arc<Clock>,
    state: Arc<PerProcess<ProcessState>>,
    closed: Arc<AtomicBool>,
}

/// State that cannot be shared with a forked child: connections, and locks that may be held.
#[derive(Debug)]
pub struct ProcessState {
    connections: Arc<Connections>,
    permits: Semaphore,
    /// The rate that the user has set.
    rate_limit: Option<Arc<SharedLimit>>,
    /// The learned rates of the paths.
    pub throttle: AdaptiveThrottle,
    /// The budget that the retries of all calls share.
    pub retry_budget: RetryBudget,
    /// The last request for the service's time.
    pub clock_request: LastRequest,
}

impl Transport {
    /// Creates a transport and checks the options. Connections are opened when they are needed.
    pub fn new(base: BaseUrl, mut options: TransportOptions) -> Result<Self> {
        let transport = Transport {
            unused_proxy: proxy::resolve(&mut options.connect, &base)?,
            base,
            options,
            clock: Arc::default(),
            state: Arc::new(PerProcess::new()),
            closed: Arc::default(),
        };
        // An unusable proxy or certificate must fail here, and not at the first call.
        transport.state()?;
        Ok(transport)
    }

    /// Returns the same transport with the `timeout`, `max_retries` and `headers` of other options.
    /// Both share connections, clock, limits and retries, and are closed together.
    pub(super) fn with_options(&self, other: TransportOptions) -> Self {
        let TransportOptions { timeout, max_retries, headers, .. } = other;
        Transport {
            base: self.base.clone(),
            options: TransportOptions { timeout, max_retries, headers, ..self.options.clone() },
            unused_proxy: self.unused_proxy,
            clock: self.clock.clone(),
            state: self.state.clone(),
            closed: self.closed.clone(),
        }
    }

    /// Returns the options for sending requests.
    pub fn options(&self) -> &TransportOptions {
        &self.options
    }

    /// Stops sending. Unless other clients share the connections, idle ones are closed now, and the
    /// others when they become idle. Does not wait.
    pub fn close(&self) {
        self.closed.store(true, Ordering::Relaxed);
        self.state.forget();
    }

    /// Fails after `close`.
    pub fn check_open(&self) -> Result<()> {
        match self.closed.load(Ordering::Relaxed) {
            true => Err(closed()),
            false => Ok(()),
        }
    }

    /// Returns the limit on the requests per second.
    pub fn rate_limit(&self) -> Option<&ClientRate> {
        self.options.rate_limit.as_ref()
    }

    /// Returns the slot in which a blocking call should wait.
    pub fn slot(&self) -> Result<PoolSlot> {
        self.state()?.connections.slot()
    }

    /// Makes one request of a plan to this service.
    pub fn request(
        &self,
        plan: &RequestPlan,
        cursor: Option<Cursor<'_>>,
        range: Option<(i64, i64)>,
    ) -> Result<Request> {
        let refuse = |what: &str| {
            let advice = "To send this request, use a client without `read_only`.";
            let what = format!("the client is read-only, and {what}");
            Err(Error::misuse(what, advice).with_endpoint(&plan.label))
        };
        if self.options.read_only && !plan.only_reads() {
            return refuse("this request may change data; expected GET");
        }
        if self.options.read_only && plan.overrides_method(&self.options.headers) {
            return refuse(
                "a header of this request overrides the method; expected none that does",
            );
        }
        plan.request(&self.base, &self.options.headers, cursor, range)
    }

    /// Returns the source of an attempt's events; none if no observer is listening.
    pub(super) fn span(&self, request: &Request, attempt: u32) -> Option<RequestSpan> {
        RequestSpan::new(self.options.observer.as_ref(), request, attempt)
    }

    /// Returns the state of this process.
    pub(super) fn state(&self) -> Result<Arc<ProcessState>> {
        self.check_open()?;
        self.state.get_or_make(|| {
            Ok(ProcessState {
                connections: Connections::shared(&self.base, &self.options.connect)?,
                permits: Semaphore::new(self.options.connect.max_connections),
                rate_limit: self.options.rate_limit.as_ref().map(ClientRate::limit),
                throttle: AdaptiveThrottle::default(),
                retry_budget: RetryBudget::new(),
                clock_request: LastRequest::default(),
            })
        })
    }

    /// Returns the maximum number of concurrent requests.
    pub fn max_connections(&self) -> usize {
        self.options.connect.max_connections
    }

    /// Returns true if the traffic is recorded or replayed.
    pub fn has_cassette(&self) -> bool {
        self.options.cassette.is_some()
    }

    /// Returns the requests per second of the rate limit.
    pub fn rate(&self) -> Option<f64> {
        self.options.rate_limit.as_ref().map(|limit| match limit {
            ClientRate::Own(rate) => *rate,
            ClientRate::Shared(shared) => shared.allowance.rate,
        })
    }

    /// Returns the minimum interval between requests under the rate limit.
    pub(super) fn interval(&self) -> Duration {
        let interval = self.rate().and_then(|rate| Duration::try_from_secs_f64(rate.recip()).ok());
        interval.unwrap_or_default()
    }

    /// Waits for `max_connections`, then for `rate_limit`. A call by a signal handler or hook uses
    /// one connection more, rather than wait for the connection of a call that waits for the
    /// handler or hook.
    pub(super) async fn acquire<'a>(
        &self,
        state: &'a ProcessState,
        wait_times: &WaitTimes,
    ) -> Result<Option<SemaphorePermit<'a>>> {
        let permit = if origin().is_nested {
            state.permits.try_acquire().ok()
        } else {
            let permit = wait_times.measure(WaitReason::Connection, state.permits.acquire()).await;
            Some(permit.map_err(|_| closed())?)
        };
        if let Some(limit) = &state.rate_limit {
            wait_times.measure(WaitReason::RateLimit, limit.wait()).await?;
        }
        Ok(permit)
    }

    /// Sends a request once, with headers `added` to its own, and reads the whole response. Also
    /// returns how long the exchange took.
    pub(super) async fn exchange(
        &self,
        state: &ProcessState,
        request: &Request,
        added: HeaderMap,
        authorization: &SentHeaders,
    ) -> (Duration, Result<Received, Unredacted>) {
        let started = Instant::now();
        let needs_http1 = AtomicBool::default();
        let send = async || {
            let mut message = reqwest::Request::new(request.method.clone(), request.url.clone());
            // Headers of the request itself are kept.
            *message.headers_mut() = added.clone();
            message.headers_mut().extend(request.headers.clone());
            for (name, value) in authorization {
                message.headers_mut().insert(*name, value.clone());
            }
            let queued = QueuedRequest::default();
            *message.body_mut() = Some(queued.body(request.body.clone()));
            self.execute(state, message, &queued, request.has_secrets, &needs_http1).await
        };
        let mut outcome = send().await;
        // The service has not processed the request, and has asked for it over HTTP/1.1.
        if needs_http1.load(Ordering::Relaxed) {
            outcome = send().await;
        }
        (started.elapsed(), outcome)
    }

    async fn execute(
        &self,
        state: &ProcessState,
        message: reqwest::Request,
        queued: &QueuedRequest,
        has_secrets: bool,
        needs_http1: &AtomicBool,
    ) -> Result<Received, Unredacted> {
        let client = local_client().map_or_else(|| state.connections.client(), Ok)?;
        let mut used = state.connections.used(client)?;
        let has_time = self.base.is_path(message.url().path(), &SERVER_TIME.path);
        let sent = LocalInstant::now();
        let http = used.http.clone();
        let whole = async {
            if let Some(simulated) = &self.options.exchange {
                queued.take();
                return Ok(Received::new(simulated.exchange(message).await?));
            }
            let response = http.execute(message).await;
            let response = response.map_err(|error| {
                needs_http1.store(asks_for_http1(&error), Ordering::Relaxed);
                transport_error(error, false, self.unused_proxy)
            })?;
            let limit = self.options.max_body_bytes;
            read_response(response, limit, has_secrets).await.map(Received::new)
        };
        let mut whole = pin!(whole);
        // A failing connection attempt ends earlier: a request that still waits is for a connection
        // that has ended, or for one that is full.
        let queued_max = self.options.connect.timeout.saturating_mul(2);
        let overall = self.options.timeout;
        let mut outcome = timeout(queued_max.min(overall), &mut whole).await;
        if outcome.is_err() && queued_max < overall {
            if queued.withdraw() {
                used.abandon();
                let seconds = queued_max.as_secs_f64();
                let message = format!("no connection could send the request within {seconds} s");
                return Err(ErrorKind::Transport { message, sent: Delivery::Unprocessed }.into());
            }
            outcome = timeout(overall - queued_max, whole).await;
        }
        let Ok(outcome) = outcome else {
            used.abandon();
            let seconds = overall.as_secs_f64();
            return Err(
                ErrorKind::Timeout(format!("no complete response within {seconds} s")).into()
            );
        };
        if needs_http1.load(Ordering::Relaxed) {
            state.connections.require_http1();
            used.abandon();
        }
        used.responded();
        // Every response with the service's time is a reading of its clock, whatever its request
        // was for.
        if has_time
            && let Ok(response) = &outcome
            && let Ok(service_ms) = response.parse(parse_server_time)
        {
            self.clock.learn(ClockReading::new(service_ms, sent));
        }
        outcome
    }
}

fn closed() -> Error {
    Error::misuse("this client is closed; create a new one", Advice::ClientClosed)
}
