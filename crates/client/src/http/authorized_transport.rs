//! A transport with the credentials of a client.

use std::{
    ops::Deref,
    sync::{Arc, Weak, atomic::AtomicU64},
};

use arc_swap::ArcSwapOption;
use zeroize::Zeroizing;

use super::{
    BaseUrl, HttpResponse, Request, TransportOptions,
    authorize::{CallAuthorization, authorization_headers, bearer},
    call::call,
    transport::Transport,
};
use crate::{
    auth::{Credentials, TokenEndpoint, TokenSet},
    error::{Error, Redactor, Result},
};

/// A [`Transport`] whose calls are authorized by the credentials of one client.
#[derive(Debug)]
pub struct AuthorizedTransport {
    transport: Arc<Transport>,
    credentials: Option<Arc<Credentials>>,
}

/// The credentials of all clients. A forked child has them too, so there is no lock.
static CREDENTIALS: ArcSwapOption<Vec<Weak<Credentials>>> = ArcSwapOption::const_empty();

/// Redacts the secrets of all clients, for errors about values of responses that were received long
/// ago.
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

impl AuthorizedTransport {
    /// Checks the options, and binds the credentials to this service.
    pub fn new(
        base: BaseUrl,
        credentials: Option<Credentials>,
        options: TransportOptions,
    ) -> Result<Self> {
        // A replay needs no credentials.
        let credentials = credentials.filter(|_| !options.is_replayed());
        if let Some(credentials) = &credentials {
            credentials.bind(base.as_str())?;
        }
        let credentials = credentials.map(Arc::new);
        credentials.iter().for_each(remember);
        Ok(AuthorizedTransport { transport: Arc::new(Transport::new(base, options)?), credentials })
    }

    /// Returns the same transport and credentials with the `timeout`, `max_retries` and `headers`
    /// of other options.
    pub fn with_options(&self, other: TransportOptions) -> Self {
        AuthorizedTransport {
            transport: Arc::new(self.transport.with_options(other)),
            credentials: self.credentials.clone(),
        }
    }

    /// Sends a request until `parse` accepts the response, the error is final, or the time is up.
    pub async fn call<T>(
        &self,
        request: &Request,
        parse: impl Fn(&HttpResponse) -> Result<T>,
    ) -> Result<T> {
        self.call_counted(request, &AtomicU64::default(), parse).await
    }

    /// Does the same as `call`. `failed_attempts` counts the failed attempts, except those whose
    /// credentials were then renewed.
    pub async fn call_counted<T>(
        &self,
        request: &Request,
        failed_attempts: &AtomicU64,
        parse: impl Fn(&HttpResponse) -> Result<T>,
    ) -> Result<T> {
        let authorization = CallAuthorization::new(&self.transport, self.credentials.as_deref());
        call(&self.transport, authorization, request, failed_attempts, parse).await
    }

    /// Returns the `Authorization` value of a token, for other HTTP clients. The token of a login
    /// is refreshed if necessary, or if it is `rejected`, which the service has just rejected.
    pub async fn token_header(&self, rejected: Option<&str>) -> Result<Zeroizing<String>> {
        let login = match self.credentials.as_deref() {
            Some(Credentials::OAuth(login)) => login,
            Some(Credentials::Bearer { token, .. }) => return Ok(bearer(token)),
            _ => return Err(Error::config("the client has no token")),
        };
        let is_rejected =
            |set: &Arc<TokenSet>| Some(bearer(&set.access_token).as_str()) == rejected;
        let rejected = login.known_tokens().find(is_rejected);
        let token = match login.cached_token(rejected.as_deref())? {
            Some(token) => token,
            None => {
                let endpoint: Arc<dyn TokenEndpoint> = self.transport.clone();
                login.token(&endpoint, rejected.as_deref()).await?
            }
        };
        Ok(bearer(&token.access_token))
    }

    /// Returns the headers that would authorize a request now, with the token of a login masked.
    pub fn authorization_headers(
        &self,
        request: &Request,
    ) -> Result<Vec<(&'static str, Zeroizing<String>)>> {
        authorization_headers(self.credentials.as_deref(), None, &self.clock, request)
    }

    /// Redacts the secrets of the credentials, for errors about responses that were received
    /// earlier.
    pub fn redactor(&self) -> Redactor {
        redactor_of(self.credentials.as_deref().into_iter())
    }
}

impl Deref for AuthorizedTransport {
    type Target = Transport;

    fn deref(&self) -> &Transport {
        &self.transport
    }
}
