//! The HTTP clients, one for each runtime. Connections that are silent are abandoned.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use arc_swap::ArcSwapOption;
use tokio::{
    runtime::{Handle, Id},
    sync::oneshot,
};

use crate::error::{Error, Result};

/// The HTTP client of one runtime; none while its connections are abandoned and no request needs
/// others.
pub struct HttpClient(ArcSwapOption<reqwest::Client>);

impl HttpClient {
    /// Creates it with its first client of the library.
    pub fn new(client: reqwest::Client) -> Self {
        HttpClient(ArcSwapOption::from_pointee(client))
    }
}

// The library would show the headers and the proxy.
boardlot_service::shown_as!(HttpClient, "HttpClient(..)");
boardlot_service::shown_as!(RuntimeClients, "RuntimeClients(..)");
boardlot_service::shown_as!(UsedConnections, "UsedConnections(..)");

/// The HTTP clients of the runtimes that use the connections of one service. A connection is driven
/// by a task of the runtime in which it was opened. Used from another runtime, it would wait for
/// the first one, or end with it.
pub struct RuntimeClients(Mutex<Known>);

struct Known {
    /// The client of the library for the first runtime.
    spare: Option<Arc<reqwest::Client>>,
    clients: Vec<RuntimeClient>,
}

struct RuntimeClient {
    runtime: Id,
    client: Arc<HttpClient>,
    /// Closed when the runtime ends: a task of the runtime has the other end.
    running: oneshot::Sender<()>,
}

impl RuntimeClients {
    /// Creates the list without a runtime; the first runtime uses this client of the library.
    pub fn new(client: reqwest::Client) -> Self {
        RuntimeClients(Mutex::new(Known { spare: Some(Arc::new(client)), clients: Vec::new() }))
    }

    /// Returns the client of the runtime in which this is called. The clients of runtimes that have
    /// ended are dropped.
    pub fn current(&self) -> Result<Arc<HttpClient>> {
        let Ok(runtime) = Handle::try_current() else {
            return Err(Error::misuse(
                "there is no tokio runtime",
                "Send requests in a tokio runtime whose I/O and time are enabled, as by `#[tokio::main]`.",
            ));
        };
        let mut known = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // tokio may give the id of a runtime that has ended to a new one.
        let is_current =
            |it: &&RuntimeClient| it.runtime == runtime.id() && !it.running.is_closed();
        if let Some(found) = known.clients.iter().find(is_current) {
            return Ok(found.client.clone());
        }
        known.clients.retain(|it| !it.running.is_closed());
        let (running, ended) = oneshot::channel();
        runtime.spawn(async {
            // Waits until the connections are dropped, unless the runtime ends before.
            _ = ended.await;
        });
        let client = Arc::new(HttpClient(ArcSwapOption::from(known.spare.take())));
        known.clients.push(RuntimeClient {
            runtime: runtime.id(),
            client: client.clone(),
            running,
        });
        Ok(client)
    }
}

/// The connections that a request uses. They are abandoned if they are silent: after a sleep, or if
/// the network has dropped them, none gets a response. Each retry would then wait for another
/// silent connection, or with HTTP/2 for the same one.
pub struct UsedConnections {
    /// The client of the library to send the request with.
    pub http: Arc<reqwest::Client>,
    client: Arc<HttpClient>,
    since: Instant,
    is_settled: bool,
}

/// A request that its caller cancels after this time, as by `asyncio.timeout`, is a sign of silent
/// connections.
const SILENCE_MIN: Duration = Duration::from_secs(1);

impl UsedConnections {
    /// Returns the connections of a client, which is built if there is none.
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

    /// Notes that the request has its response, or an error.
    pub fn responded(&mut self) {
        self.is_settled = true;
    }

    /// Abandons the connections, because no response came in time. Does nothing if another request
    /// has abandoned them.
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

#[cfg(test)]
mod tests {
    use tokio::runtime::{Builder, Runtime};

    use super::*;

    fn runtime() -> Runtime {
        Builder::new_current_thread().build().expect("a runtime")
    }

    fn current(clients: &RuntimeClients, runtime: &Runtime) -> Arc<HttpClient> {
        runtime.block_on(async { clients.current().expect("a client") })
    }

    #[test]
    fn each_runtime_has_its_own_client_for_as_long_as_it_runs() {
        let clients = RuntimeClients::new(reqwest::Client::new());
        let (first, second) = (runtime(), runtime());
        let of_first = current(&clients, &first);
        assert!(Arc::ptr_eq(&of_first, &current(&clients, &first)));
        let of_second = current(&clients, &second);
        assert!(!Arc::ptr_eq(&of_first, &of_second));

        let ended = Arc::downgrade(&of_first);
        drop((of_first, first));
        current(&clients, &runtime());
        assert!(ended.upgrade().is_none(), "its connections went with the runtime");
        assert!(Arc::ptr_eq(&of_second, &current(&clients, &second)));
    }

    #[test]
    fn a_request_without_a_runtime_fails_in_words() {
        let clients = RuntimeClients::new(reqwest::Client::new());
        let error = clients.current().expect_err("there is no runtime");
        assert_eq!(error.to_string(), "there is no tokio runtime");
    }
}
