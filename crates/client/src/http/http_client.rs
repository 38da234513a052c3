//! The HTTP client of one runtime, whose connections are abandoned if they are silent.

use std::{
    sync::Arc,
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;

use crate::error::Result;

/// The HTTP client of one runtime; none while its connections are abandoned and no request needs others.
#[derive(Debug)]
pub struct HttpClient(ArcSwapOption<reqwest::Client>);

impl HttpClient {
    /// Created with its first client of the library.
    pub fn new(client: reqwest::Client) -> Self {
        HttpClient(ArcSwapOption::from_pointee(client))
    }
}

/// The connections that a request uses. They are abandoned if they are silent: after a sleep, or if the
/// network has dropped them, none gets a response, and each retry would wait for another one, or with HTTP/2
/// for the same one.
#[derive(Debug)]
pub struct UsedConnections {
    /// The client of the library to send the request with.
    pub http: Arc<reqwest::Client>,
    client: Arc<HttpClient>,
    since: Instant,
    is_settled: bool,
}

/// A request that its caller cancels after this time, as by `asyncio.timeout`, tells of silent connections.
const SILENCE_MIN: Duration = Duration::from_secs(1);

impl UsedConnections {
    /// The connections of a client, which is built if there is none.
    pub fn of(
        client: Arc<HttpClient>,
        build: impl Fn() -> Result<reqwest::Client>,
    ) -> Result<Self> {
        let http = loop {
            if let Some(http) = client.0.load_full() {
                break http;
            }
            client.0.compare_and_swap(&None::<Arc<_>>, Some(Arc::new(build()?)));
        };
        Ok(UsedConnections { http, client, since: Instant::now(), is_settled: false })
    }

    /// The request has its response, or an error.
    pub fn responded(&mut self) {
        self.is_settled = true;
    }

    /// No response came in time. Does nothing if another request has abandoned the connections.
    pub fn abandon(&mut self) {
        self.is_settled = true;
        self.client.0.compare_and_swap(&self.http, None);
    }
}

impl Drop for UsedConnections {
    fn drop(&mut self) {
        if !self.is_settled && self.since.elapsed() >= SILENCE_MIN {
            self.abandon();
        }
    }
}
