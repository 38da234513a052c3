//! A client's options.

use std::{fmt, sync::Arc, time::Duration};

use ::http::HeaderMap;

use futures_util::future::BoxFuture;

use super::{
    HttpResponse, cassette::Cassette, client_identity::ClientIdentity, observer::Observer,
};
use crate::{
    error::Result,
    shared_limit::{Allowance, SharedLimit},
};

/// The options for sending requests; the default is that of a client. Options may be added in later
/// releases: begin with the default and set fields.
///
/// ```
/// use boardlot_client::{ClientOptions, ClientRate};
/// use std::time::Duration;
///
/// let mut options = ClientOptions::default();
/// options.transport.timeout = Duration::from_secs(10);
/// options.transport.max_retries = 0;
/// options.transport.rate_limit = Some(ClientRate::Own(5.0));
/// options.transport.connect.timeout = Duration::from_secs(2);
/// options.transport.connect.proxy = Some("http://proxy.example.com:3128".to_owned());
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct TransportOptions {
    /// The options for connecting.
    pub connect: ConnectOptions,
    /// Time limit of one attempt, from its first byte to the last of the response: 30 seconds by
    /// default.
    pub timeout: Duration,
    /// Number of times that a failed attempt is repeated if the request is idempotent: 2 by
    /// default.
    pub max_retries: u32,
    /// The limit of requests per second; none by default.
    pub rate_limit: Option<ClientRate>,
    /// The size limit of a response's decompressed body in bytes: 32 MiB by default.
    pub max_body_bytes: usize,
    /// Headers that are added to each request. `HeaderMap` is a type of the crate `http`.
    pub headers: HeaderMap,
    /// True if only requests that change nothing are sent: GET, and the documented POST that reads.
    /// False by default.
    pub read_only: bool,
    /// Receives the events of each request.
    #[doc(hidden)]
    pub observer: Option<Arc<dyn Observer>>,
    /// Records the traffic, or replaces the network.
    #[doc(hidden)]
    pub cassette: Option<Arc<Cassette>>,
    /// Replaces the network in a simulation.
    #[doc(hidden)]
    pub exchange: Option<Arc<dyn SimulatedExchange>>,
}

/// The options for connecting. Clients of a service with the same options share their connections,
/// so every option that decides how a connection is opened belongs here.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ConnectOptions {
    /// The time limit of opening a connection: 5 seconds by default.
    pub timeout: Duration,
    /// The most concurrent requests: 64 by default.
    pub max_connections: usize,
    /// The URL of a proxy, which may have a user name and a password; `environment` for the proxy
    /// that the environment variables name. None by default.
    pub proxy: Option<String>,
    /// The contents of a PEM file with certificates that are trusted besides the system's:
    /// `Some(std::fs::read(path)?.into())`.
    pub ca_file: Option<Arc<[u8]>>,
    /// The certificate by which the client identifies itself, read by [`ClientIdentity::from_pem`].
    pub client_cert: Option<Arc<ClientIdentity>>,
}

/// One exchange of a simulation.
#[doc(hidden)]
pub trait SimulatedExchange: std::fmt::Debug + Send + Sync {
    /// Receives a request, and returns its response or the error.
    fn exchange(&self, message: reqwest::Request) -> BoxFuture<'_, Result<HttpResponse>>;
}

/// A rate limit of a client.
#[derive(Debug, Clone)]
pub enum ClientRate {
    /// Requests per second of this client and its clones, evenly spaced.
    Own(f64),
    /// A limit that other clients or processes share.
    Shared(Arc<SharedLimit>),
}

impl ClientRate {
    /// Returns the limit of a client.
    pub(super) fn limit(&self) -> Arc<SharedLimit> {
        match self {
            ClientRate::Own(rate) => {
                Arc::new(SharedLimit::in_process(Allowance { rate: *rate, burst: 1 }))
            }
            ClientRate::Shared(limit) => limit.clone(),
        }
    }
}

impl Default for ConnectOptions {
    fn default() -> Self {
        ConnectOptions {
            timeout: Duration::from_secs(5),
            max_connections: 64,
            proxy: None,
            ca_file: None,
            client_cert: None,
        }
    }
}

impl Default for TransportOptions {
    fn default() -> Self {
        TransportOptions {
            connect: ConnectOptions::default(),
            timeout: Duration::from_secs(30),
            max_retries: 2,
            rate_limit: None,
            max_body_bytes: 32 << 20,
            headers: HeaderMap::new(),
            read_only: false,
            observer: None,
            cassette: None,
            exchange: None,
        }
    }
}

impl ConnectOptions {
    /// Returns all fields, for a test that each can be set. With a new field, neither this nor that
    /// test compiles.
    #[doc(hidden)]
    #[allow(clippy::type_complexity, reason = "it is the type of the options")]
    pub fn fields(
        &self,
    ) -> (Duration, usize, Option<&str>, Option<&Arc<[u8]>>, Option<&Arc<ClientIdentity>>) {
        let ConnectOptions { timeout, max_connections, proxy, ca_file, client_cert } = self;
        (*timeout, *max_connections, proxy.as_deref(), ca_file.as_ref(), client_cert.as_ref())
    }
}

/// Shows the proxy without its user name and password.
impl fmt::Debug for ConnectOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let without_user = |proxy: &String| match proxy.rsplit_once('@') {
            Some((_, host)) => format!("***@{host}"),
            None => proxy.clone(),
        };
        out.debug_struct("ConnectOptions")
            .field("timeout", &self.timeout)
            .field("max_connections", &self.max_connections)
            .field("proxy", &self.proxy.as_ref().map(without_user))
            .field("ca_file", &self.ca_file.as_ref().map(|pem| format!("{} bytes", pem.len())))
            .field("client_cert", &self.client_cert)
            .finish()
    }
}

/// Shows the names of the headers without their values.
impl fmt::Debug for TransportOptions {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("TransportOptions")
            .field("connect", &self.connect)
            .field("timeout", &self.timeout)
            .field("max_retries", &self.max_retries)
            .field("rate_limit", &self.rate_limit)
            .field("max_body_bytes", &self.max_body_bytes)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .field("read_only", &self.read_only)
            .finish_non_exhaustive()
    }
}

impl TransportOptions {
    /// Returns true if a recording replaces the network.
    #[doc(hidden)]
    pub fn is_replayed(&self) -> bool {
        matches!(self.cassette.as_deref(), Some(Cassette::Replay(_)))
    }
}
