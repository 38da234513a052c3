//! A client's options.

use std::{sync::Arc, time::Duration};

use ::http::HeaderMap;

use futures_util::future::BoxFuture;

use super::{
    HttpResponse, cassette::Cassette, client_identity::ClientIdentity, observer::Observer,
};
use crate::{
    error::Result,
    shared_limit::{Allowance, SharedLimit},
};

/// The options for sending requests; the default is that of a client.
#[derive(Debug, Clone)]
pub struct TransportOptions {
    /// The options for connecting.
    pub connect: ConnectOptions,
    /// The time limit of one attempt, from its first byte to the last of the response.
    pub timeout: Duration,
    /// The number of times that a failed attempt is repeated.
    pub max_retries: u32,
    /// Requests per second.
    pub rate_limit: Option<ClientRate>,
    /// The size limit of a response's decompressed body.
    pub max_body_bytes: usize,
    /// Headers that are added to each request.
    pub headers: HeaderMap,
    /// True if only what changes nothing is sent: GET, and the documented POST that reads.
    pub read_only: bool,
    /// Receives the events of each request.
    pub observer: Option<Arc<dyn Observer>>,
    /// Records the traffic, or replaces the network.
    pub cassette: Option<Arc<Cassette>>,
    /// Replaces the network in a simulation.
    #[doc(hidden)]
    pub exchange: Option<Arc<dyn SimulatedExchange>>,
}

/// The options for connecting. Clients of a service whose options are the same share their
/// connections, so whatever decides how a connection is opened belongs here.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ConnectOptions {
    /// The time limit of opening a connection.
    pub timeout: Duration,
    /// The most concurrent requests.
    pub max_connections: usize,
    /// The URL of a proxy, or `ENVIRONMENT`.
    pub proxy: Option<String>,
    /// PEM certificates that are trusted besides the system's.
    pub extra_certificates: Option<Arc<[u8]>>,
    /// The certificate by which the client identifies itself.
    pub identity: Option<Arc<ClientIdentity>>,
}

/// One exchange of a simulation.
#[doc(hidden)]
pub trait SimulatedExchange: std::fmt::Debug + Send + Sync {
    /// Receives a request, and returns its response, or the error.
    fn exchange(&self, message: reqwest::Request) -> BoxFuture<'_, Result<HttpResponse>>;
}

/// A rate limit of a client.
#[derive(Debug, Clone)]
pub enum ClientRate {
    /// Requests per second of this client alone.
    Own(f64),
    /// A limit that others share.
    Shared(Arc<SharedLimit>),
}

impl ClientRate {
    /// The limit of a client.
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
            extra_certificates: None,
            identity: None,
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

impl TransportOptions {
    /// Returns true if a recording replaces the network.
    pub fn is_replayed(&self) -> bool {
        matches!(self.cassette.as_deref(), Some(Cassette::Replay(_)))
    }
}
