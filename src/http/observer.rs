//! Events of requests, for logs and hooks. They contain no secrets.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use super::HttpResponse;
use crate::error::Result;

/// Receives the events of a client. The request waits until the observer is done with an event.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Whether events are wanted now; otherwise none are created.
    fn is_listening(&self) -> bool;

    /// Receives one event.
    fn observe(&self, event: Event) -> Observed<'_>;
}

/// The end of an observation.
pub type Observed<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What happened to a request.
#[derive(Debug, Clone)]
pub struct Event {
    /// The HTTP method.
    pub method: String,
    /// The path without the query, which may be confidential.
    pub path: String,
    /// 1 for the first time that a call is sent.
    pub attempt: u32,
    /// What happened.
    pub kind: EventKind,
}

/// What can happen to a request.
#[derive(Debug, Clone)]
pub enum EventKind {
    /// It is about to be sent.
    Sending,
    /// The response has been received completely.
    Responded {
        /// The HTTP status.
        status: u16,
        /// From the first byte sent to the last one received.
        duration: Duration,
    },
    /// There was no response.
    Failed {
        /// Why.
        error: String,
        /// From the first byte sent to the failure.
        duration: Duration,
    },
    /// It will be sent again.
    Retrying {
        /// The time until then.
        wait: Duration,
        /// Why.
        reason: String,
    },
    /// It would be sent again, but earlier retries have used up the retry budget.
    RetryBudgetExhausted {
        /// Why it would be sent again.
        reason: String,
    },
    /// The service throttled the requests of this path.
    Throttled {
        /// The rate from now on.
        per_second: f64,
    },
    /// The offset of signatures was corrected.
    ClockCorrected {
        /// How far the service's clock is ahead of this machine's.
        offset_ms: i64,
    },
    /// The access token was refreshed.
    TokenRefreshed,
    /// The access token could not be refreshed.
    TokenNotRefreshed {
        /// Why.
        reason: String,
    },
}

/// One attempt of a request, as the source of events.
#[derive(Debug)]
pub struct RequestSpan<'a> {
    observer: &'a dyn Observer,
    method: &'a str,
    path: &'a str,
    attempt: u32,
}

impl<'a> RequestSpan<'a> {
    /// None if the observer is not listening.
    pub fn new(
        observer: Option<&'a dyn Observer>,
        method: &'a str,
        path: &'a str,
        attempt: u32,
    ) -> Option<Self> {
        let observer = observer.filter(|observer| observer.is_listening())?;
        Some(RequestSpan { observer, method, path, attempt })
    }

    /// Passes an event to the observer, and waits for it.
    pub async fn emit(&self, kind: EventKind) {
        let event = Event {
            method: self.method.to_owned(),
            path: self.path.to_owned(),
            attempt: self.attempt,
            kind,
        };
        self.observer.observe(event).await;
    }

    /// Emits how the attempt ended, and how long it took.
    pub async fn emit_outcome(&self, outcome: &Result<HttpResponse>, duration: Duration) {
        let kind = match outcome {
            Ok(response) => EventKind::Responded { status: response.status().as_u16(), duration },
            Err(error) => EventKind::Failed { error: error.to_string(), duration },
        };
        self.emit(kind).await;
    }
}
