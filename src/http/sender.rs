//! A transport with the credentials of a client.

use std::sync::Arc;

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
    credentials: Option<Credentials>,
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
        Ok(Sender { transport: Arc::new(Transport::new(base, options)?), credentials })
    }

    /// Sends a request until `parse` accepts the response, the error is final, or the time is up.
    pub async fn call<T>(
        &self,
        request: &Request,
        parse: impl Fn(&HttpResponse) -> Result<T>,
    ) -> Result<T> {
        let mut authorization = CallAuthorization::new(&self.transport, self.credentials.as_ref());
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
        authorization_headers(self.credentials.as_ref(), None, self.clock(), request)
    }

    /// Redacts the secrets of the credentials, for errors about responses that were received earlier.
    pub fn redactor(&self) -> Redactor {
        let login = self.credentials.as_ref().and_then(Credentials::login);
        let token = login.and_then(|oauth| oauth.current_token());
        let own = self.credentials.as_ref().and_then(Credentials::secret);
        Redactor::new(token.iter().flat_map(|set| set.secrets()).chain(own))
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
