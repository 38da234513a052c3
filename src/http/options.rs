//! A client's options.

use std::{sync::Arc, time::Duration};

use ::http::HeaderMap;

use super::{cassette::Cassette, observer::Observer};

/// How requests travel; the defaults of a client.
#[derive(Debug, Clone)]
pub struct SenderOptions {
    /// Bounds one attempt, from its first byte to the last of the answer.
    pub timeout: Duration,
    pub connect_timeout: Duration,
    pub max_retries: u32,
    /// Requests a second.
    pub rate_limit: Option<f64>,
    pub max_connections: usize,
    pub max_body_bytes: usize,
    pub proxy: Option<String>,
    /// PEM certificates that are trusted besides the system's.
    pub extra_certificates: Option<Vec<u8>>,
    pub headers: HeaderMap,
    /// Who is told of each request.
    pub observer: Option<Arc<dyn Observer>>,
    /// What is written down, or played back in place of the network.
    pub cassette: Option<Arc<Cassette>>,
}

impl Default for SenderOptions {
    fn default() -> Self {
        SenderOptions {
            timeout: Duration::from_secs(30),
            connect_timeout: Duration::from_secs(5),
            max_retries: 2,
            rate_limit: None,
            max_connections: 64,
            max_body_bytes: 32 << 20,
            proxy: None,
            extra_certificates: None,
            headers: HeaderMap::new(),
            observer: None,
            cassette: None,
        }
    }
}

impl SenderOptions {
    /// Whether a tape answers in place of the service.
    pub fn is_replayed(&self) -> bool {
        matches!(self.cassette.as_deref(), Some(Cassette::Replay(_)))
    }
}
