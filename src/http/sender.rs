//! A transport with the credentials of a client.

use std::sync::{Arc, Weak};

use arc_swap::ArcSwapOption;
use zeroize::Zeroizing;

use super::{
    BaseUrl, Cursor, HttpResponse, PoolSlot, Request, RequestPlan, SenderOptions,
    authorize::{CallAuthorization, authorization_headers},
    call::call,
    clock::Clock,
    clock_sync,
    transport::Transport,
};
use crate::{
    auth::Credentials,
    error::{Redactor, Result},
};

/// Sends the requests of one client.
#[derive(Debug)]
pub struct Sender {
    transport: Arc<Transport>,
    credentials: Option<Arc<Credentials>>,
}

/// The credentials of all clients. A child that is forked has them too, so there is no lock.
static CREDENTIALS: ArcSwapOption<Vec<Weak<Credentials>>> = ArcSwapOption::const_empty();

/// Redacts the secrets of all clients: for errors about values of responses that were received long ago.
pub fn redactor_of_all_clients() -> Redactor {
    let all = CREDENTIALS.load_full();
    let all: Vec<_> = all.iter().flat_map(|all| all.iter()).filter_map(Weak::upgrade).collect();
    redactor_of(all.iter().map(AsRef::as_ref))
}

fn redactor_of<'a>(credentials: impl Iterator<Item = &'a Credentials> + Clone) -> Redactor {
    let logins = credentials.clone().filter_map(Credentials::login);
    let tokens: Vec<_> = logins.flat_map(|oauth| oauth.known_tokens()).collect();
    let mut secrets: Vec<&str> = tokens.iter().flat_map(|set| set.secrets()).collect();
    for secret in credentials.filter_map(Credentials::secret) {
        secrets.push(secret);
    }
    Redactor::new(secrets)
}

/// Remembers credentials for as long as they are in use.
fn remember(credentials: &Arc<Credentials>) {
    CREDENTIALS.rcu(|all| {
        let all = all.iter().flat_map(|all| all.iter());
        let mut alive: Vec<_> = all.filter(|other| other.strong_count() > 0).cloned().collect();
        alive.push(Arc::downgrade(credentials));
        Some(Arc::new(alive))
    });
}

impl Sender {
    /// Checks the options, and binds the credentials to this service.
    pub fn new(
        base: BaseUrl,
        credentials: Option<Credentials>,
        options: SenderOptions,
    ) -> Result<Self> {
        // A replay needs no credentials.
        let credentials = credentials.filter(|_| !options.is_replayed());
        if let Some(credentials) = &credentials {
            credentials.bind(base.as_str())?;
        }
        let credentials = credentials.map(Arc::new);
        credentials.iter().for_each(remember);
        Ok(Sender { transport: Arc::new(Transport::new(base, options)?), credentials })
    }

    /// Sends a request until `parse` accepts the response, the error is final, or the time is up.
    pub async fn call<T>(
        &self,
        request: &Request,
        parse: impl Fn(&HttpResponse) -> Result<T>,
    ) -> Result<T> {
        let mut authorization =
            CallAuthorization::new(&self.transport, self.credentials.as_deref());
        call(&self.transport, &mut authorization, request, parse).await
    }

    /// One request of a plan; see [`RequestPlan::request`].
    pub fn request(
        &self,
        plan: &RequestPlan,
        cursor: Option<Cursor<'_>>,
        range: Option<(i64, i64)>,
    ) -> Result<Request> {
        self.transport.request(plan, cursor, range)
    }

    /// The headers that would authorize a request now; the token of a login is masked.
    pub fn authorization_headers(
        &self,
        request: &Request,
    ) -> Result<Vec<(&'static str, Zeroizing<String>)>> {
        authorization_headers(self.credentials.as_deref(), None, self.clock(), request)
    }

    /// Redacts the secrets of the credentials, for errors about responses that were received earlier.
    pub fn redactor(&self) -> Redactor {
        redactor_of(self.credentials.as_deref().into_iter())
    }

    /// The service's time in milliseconds at which an open range ends; `id` identifies the call in a
    /// cassette.
    pub async fn service_now(&self, id: impl FnOnce() -> String) -> Result<i64> {
        clock_sync::service_now(&self.transport, id).await
    }

    /// Sends nothing more. Idle connections are closed now, the others when they become idle. Does
    /// not wait.
    pub fn close(&self) {
        self.transport.close();
    }

    /// An error after `close`.
    pub fn check_open(&self) -> Result<()> {
        self.transport.check_open()
    }

    /// The address of the service.
    pub fn base(&self) -> &BaseUrl {
        self.transport.base()
    }

    /// The service's clock, as its responses have shown it.
    pub fn clock(&self) -> &Clock {
        self.transport.clock()
    }

    /// Where a blocking call should wait.
    pub fn slot(&self) -> Result<PoolSlot> {
        self.transport.slot()
    }
}
