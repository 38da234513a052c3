//! Events of requests, for logs and hooks. They contain no secrets: text from an error is
//! [`Shown`], which only a redactor makes.

use std::{
    any::Any,
    fmt,
    future::Future,
    pin::Pin,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use ::http::HeaderMap;
use url::Position;

use super::Request;
use crate::{
    error::{Result, Shown},
    os::origin::{Caller, origin},
};

/// Receives the events of a client. The request waits until the observer is done with an event.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Returns true if events are wanted now; otherwise none are created.
    fn is_listening(&self) -> bool;

    /// Receives one event. Returns headers to add to a request that is about to be sent; the
    /// request is not sent if there is an error.
    fn observe(&self, event: Event) -> Observed<'_>;

    /// Receives the event of a request for which nobody waits any longer. Does not wait.
    fn observe_abandoned(&self, event: Event);
}

/// The end of an observation, with the headers to add.
pub type Observed<'a> = Pin<Box<dyn Future<Output = Result<HeaderMap>> + Send + 'a>>;

/// An observer's own state for a request, kept until the end of the request.
pub type ObserverState = Box<dyn Any + Send + Sync>;

/// An event in the life of a request.
#[derive(Debug, Clone)]
pub struct Event {
    /// The request.
    pub request: Arc<ObservedRequest>,
    /// The kind of event.
    pub kind: EventKind,
}

/// One attempt of a request, as observers see it.
pub struct ObservedRequest {
    /// Identifies the attempt in this process.
    pub id: u64,
    /// The endpoint's name, or `METHOD /path` for a custom request.
    pub endpoint: String,
    /// The endpoint's path with its placeholders; none for a custom request.
    pub route: Option<Arc<str>>,
    /// The HTTP method.
    pub method: String,
    /// The host, with the port if it is not the scheme's.
    pub host: String,
    /// The path without the query, which may be confidential.
    pub path: String,
    /// The number of the attempt: 1 for the first time that a call is sent.
    pub attempt: u32,
    /// The time that the attempt has waited for the rate limit; set when the wait is over.
    pub rate_limit_wait: OnceLock<Duration>,
    /// The code that made the call.
    pub caller: Option<Caller>,
    /// The observer's state for the event that the request is about to be sent; set when the
    /// observer is done with that event.
    pub announced: OnceLock<ObserverState>,
}

boardlot_service::shown_as!(
    ObservedRequest,
    |this| "ObservedRequest({} {}, attempt {})",
    this.method,
    this.path,
    this.attempt
);

/// The events of a request.
#[derive(Debug, Clone)]
pub enum EventKind {
    /// The request is about to be sent.
    Sending,
    /// The response has been received completely.
    Responded {
        /// The HTTP status.
        status: u16,
        /// The time from the first byte sent to the last one received.
        duration: Duration,
    },
    /// There was no response.
    Failed {
        /// The reason.
        error: Shown,
        /// The class of the error.
        class: &'static str,
        /// The time from the first byte sent to the failure.
        duration: Duration,
    },
    /// The request will be sent again.
    Retrying {
        /// The time until then.
        wait: Duration,
        /// The reason.
        reason: Shown,
    },
    /// The request would be sent again, but earlier retries have used up the retry budget.
    RetryBudgetExhausted {
        /// The reason why it would be sent again.
        reason: Shown,
    },
    /// The service throttled the requests of this path.
    Throttled {
        /// The rate from now on.
        per_second: f64,
    },
    /// The offset of signatures was corrected.
    ClockCorrected {
        /// The offset of the service's clock from this machine's.
        offset_ms: i64,
    },
    /// The access token was refreshed.
    TokenRefreshed,
    /// The access token could not be refreshed.
    TokenNotRefreshed {
        /// The reason.
        reason: Shown,
    },
}

/// One attempt of a request, as the source of events. Each request that is reported as about to be
/// sent is also reported to have ended, even if the call is dropped.
#[derive(Debug)]
pub struct RequestSpan {
    observer: Arc<dyn Observer>,
    request: Arc<ObservedRequest>,
    started: Instant,
    /// True if the end of the attempt has not been reported.
    open: AtomicBool,
}

impl RequestSpan {
    /// Creates a span; none if the observer is not listening.
    pub fn new(
        observer: Option<&Arc<dyn Observer>>,
        request: &Request,
        attempt: u32,
    ) -> Option<Self> {
        static NEXT_ID: AtomicU64 = AtomicU64::new(1);
        let observer = observer.filter(|observer| observer.is_listening())?.clone();
        let request = ObservedRequest {
            id: NEXT_ID.fetch_add(1, Ordering::Relaxed),
            endpoint: request.label.clone(),
            route: request.route.clone(),
            method: request.method.to_string(),
            host: request.url[Position::BeforeHost..Position::AfterPort].to_owned(),
            path: request.url.path().to_owned(),
            attempt,
            rate_limit_wait: OnceLock::new(),
            caller: origin().caller,
            announced: OnceLock::new(),
        };
        let (started, open) = (Instant::now(), AtomicBool::new(false));
        Some(RequestSpan { observer, request: Arc::new(request), started, open })
    }

    /// Sets how long the attempt has waited for the rate limit.
    pub fn waited(&self, wait: Duration) {
        _ = self.request.rate_limit_wait.set(wait);
    }

    /// Passes an event to the observer, and waits for it. Returns the headers to add.
    pub async fn emit(&self, kind: EventKind) -> Result<HeaderMap> {
        match kind {
            EventKind::Sending => self.open.store(true, Ordering::Relaxed),
            EventKind::Responded { .. } | EventKind::Failed { .. } => {
                self.open.store(false, Ordering::Relaxed);
            }
            _ => {}
        }
        self.observer.observe(self.event(kind)).await
    }

    fn event(&self, kind: EventKind) -> Event {
        Event { request: self.request.clone(), kind }
    }
}

impl Drop for RequestSpan {
    fn drop(&mut self) {
        if *self.open.get_mut() {
            self.observer.observe_abandoned(self.event(EventKind::Failed {
                error: Shown::constant("the call was cancelled, or reached its deadline"),
                class: "cancelled",
                duration: self.started.elapsed(),
            }));
        }
    }
}
