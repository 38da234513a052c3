//! The connections to one service. All clients of a process that open connections in the same way
//! share them.
//!
//! An HTTP client of the library has its own trusted certificates, and each of its connections is a
//! file: an application that creates a client for each of its users would have a thousand of both.
//! The limits of a client (requests per second, concurrent requests, retries) remain its own.

use std::{
    collections::HashMap,
    sync::{
        Arc, Mutex, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
};

use rustls::ClientConfig;

use super::{
    BaseUrl, ConnectOptions,
    blocking_pool::{BlockingPool, PoolSlot},
    connection::build_client,
    http_client::{HttpClient, RuntimeClients, UsedConnections},
    tls::tls_config,
};
use crate::{error::Result, os::process::shared};

/// The HTTP clients of the runtimes, and those of blocking calls.
pub struct Connections {
    key: Key,
    /// None if the service is on this machine and nothing is encrypted.
    tls: Option<ClientConfig>,
    clients: RuntimeClients,
    blocking_pool: Arc<BlockingPool>,
    /// True if the service has asked for HTTP/1.1.
    is_http1: AtomicBool,
}

boardlot_service::shown_as!(Connections, |this| "Connections({})", this.key.0.as_str());

/// The options that decide how connections are opened.
type Key = (BaseUrl, ConnectOptions);

/// The connections that clients of this process use.
#[derive(Debug, Default)]
struct InUse(Mutex<HashMap<Key, Weak<Connections>>>);

impl Connections {
    /// Returns the connections that other clients use, or new ones, which are opened when they are
    /// needed. Checks the options.
    pub fn shared(base: &BaseUrl, options: &ConnectOptions) -> Result<Arc<Self>> {
        let key = (base.clone(), options.clone());
        let in_use = shared::<InUse>()?;
        let mut in_use = in_use.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(connections) = in_use.get(&key).and_then(Weak::upgrade) {
            return Ok(connections);
        }
        let tls = match base.is_encrypted() {
            true => Some(tls_config(options.ca_file.as_deref(), options.client_cert.as_deref())?),
            false => None,
        };
        let connections = Arc::new(Connections {
            clients: RuntimeClients::new(build_client(base, options, tls.as_ref(), false)?),
            tls,
            key: key.clone(),
            blocking_pool: BlockingPool::new(),
            is_http1: AtomicBool::default(),
        });
        in_use.retain(|_, connections| connections.strong_count() > 0);
        in_use.insert(key, Arc::downgrade(&connections));
        Ok(connections)
    }

    /// Returns the HTTP client of the runtime in which this is called.
    pub fn client(&self) -> Result<Arc<HttpClient>> {
        self.clients.current()
    }

    /// Returns the slot in which a blocking call should wait.
    pub fn slot(&self) -> Result<PoolSlot> {
        self.blocking_pool.borrow(|| self.build_client())
    }

    /// Returns the connections that a request is about to use.
    pub fn used(&self, client: Arc<HttpClient>) -> Result<UsedConnections> {
        UsedConnections::of(client, || self.build_client())
    }

    /// Makes connections that are opened from now on speak HTTP/1.1.
    pub fn require_http1(&self) {
        self.is_http1.store(true, Ordering::Relaxed);
    }

    fn build_client(&self) -> Result<reqwest::Client> {
        let (base, options) = &self.key;
        build_client(base, options, self.tls.as_ref(), self.is_http1.load(Ordering::Relaxed))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn shared(base: &str, change: fn(&mut ConnectOptions)) -> Arc<Connections> {
        let mut options = ConnectOptions::default();
        change(&mut options);
        let base = BaseUrl::parse(base).expect("a base URL");
        Connections::shared(&base, &options).expect("connections")
    }

    #[test]
    fn clients_share_connections_if_they_open_them_in_the_same_way() {
        let base = "https://connections.example.com";
        let first = shared(base, |_| {});
        assert!(Arc::ptr_eq(&first, &shared(base, |_| {})));
        let other: [fn(&mut ConnectOptions); 3] = [
            |options| options.proxy = Some("http://proxy.example.com".to_owned()),
            |options| options.max_connections = 1,
            |options| options.timeout = Duration::from_secs(1),
        ];
        for change in other {
            assert!(!Arc::ptr_eq(&first, &shared(base, change)));
        }
        assert!(!Arc::ptr_eq(&first, &shared("https://other.example.com", |_| {})));
    }

    #[test]
    fn connections_end_with_their_last_client() {
        let base = "https://last.example.com";
        let first = shared(base, |_| {});
        let ended = Arc::downgrade(&first);
        let second = shared(base, |_| {});
        drop(first);
        assert!(ended.upgrade().is_some());
        drop(second);
        assert!(ended.upgrade().is_none());
        let _ = shared("https://another.example.com", |_| {});
        let in_use = crate::os::process::shared::<InUse>().expect("connections");
        let in_use = in_use.0.lock().expect("the connections in use");
        assert!(in_use.keys().all(|(other, _)| other.as_str() != base), "the key is removed too");
    }
}
