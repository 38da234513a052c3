//! What the sender tells about its work: the facts that logs and hooks are made of, no secret among
//! them.

use std::{fmt, future::Future, pin::Pin, time::Duration};

use super::HttpResponse;
use crate::error::Result;

/// Is told of each event of a sender before that goes on.
pub trait Observer: fmt::Debug + Send + Sync {
    /// Whether anybody listens just now; nothing is made of an event where nobody does.
    fn listens(&self) -> bool;

    fn observe(&self, event: Event) -> Observed<'_>;
}

pub type Observed<'a> = Pin<Box<dyn Future<Output = ()> + Send + 'a>>;

/// What happened to a request.
#[derive(Debug, Clone)]
pub struct Event {
    pub method: String,
    /// The path without the query, which may hold what is nobody's business.
    pub path: String,
    /// 1 for the first time that a call is sent.
    pub attempt: u32,
    pub what: EventKind,
}

#[derive(Debug, Clone)]
pub enum EventKind {
    Sending,
    /// The whole answer came.
    RefreshFuture {
        status: u16,
        duration: Duration,
    },
    /// No answer came.
    Failed {
        error: String,
        duration: Duration,
    },
    Retrying {
        wait: Duration,
        reason: String,
    },
    /// It would be tried again, had not too many retries failed before it.
    RetryBudgetExhausted {
        reason: String,
    },
    /// The service asks for fewer requests on this path: so many a second from now on.
    Slowed {
        per_second: f64,
    },
    /// The service's clock is ahead of this machine's by so much.
    ClockCorrected {
        offset_ms: i64,
    },
    TokenRefreshed,
    TokenNotRefreshed {
        reason: String,
    },
}

/// A request on its way, for those who watch.
#[derive(Debug)]
pub struct RequestSpan<'a> {
    observer: &'a dyn Observer,
    method: &'a str,
    path: &'a str,
    attempt: u32,
}

impl<'a> RequestSpan<'a> {
    /// Nothing where nobody watches.
    pub fn new(
        observer: Option<&'a dyn Observer>,
        method: &'a str,
        path: &'a str,
        attempt: u32,
    ) -> Option<Self> {
        let observer = observer.filter(|observer| observer.listens())?;
        Some(RequestSpan { observer, method, path, attempt })
    }

    pub async fn tell(&self, what: EventKind) {
        let event = Event {
            method: self.method.to_owned(),
            path: self.path.to_owned(),
            attempt: self.attempt,
            what,
        };
        self.observer.observe(event).await;
    }

    /// How the request ended, and how long it took.
    pub async fn tell_end(&self, outcome: &Result<HttpResponse>, duration: Duration) {
        let what = match outcome {
            Ok(received) => {
                EventKind::RefreshFuture { status: received.status().as_u16(), duration }
            }
            Err(error) => EventKind::Failed { error: error.to_string(), duration },
        };
        self.tell(what).await;
    }
}
