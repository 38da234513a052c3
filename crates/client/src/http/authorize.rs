//! Authorizes requests with a client's credentials: tokens, signatures, and the reaction to
//! rejections.

use std::sync::Arc;

use ::http::HeaderValue;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use zeroize::Zeroizing;

use super::{
    EventKind, Request, RequestPlan, clock::Clock, clock_sync, exchange::SentHeaders,
    transport::Transport,
};
use crate::{
    api::{Argument, TOKEN},
    auth::{AUTHORIZATION, Credentials, TokenEndpoint, TokenResponse, TokenSet, signed_headers},
    decode::parse_token_response,
    error::{Advice, Error, ErrorKind, FailureClass, Result},
};

/// The authorization of one call; none by default.
#[derive(Default)]
pub struct CallAuthorization<'a> {
    credentials: Option<(&'a Credentials, &'a Arc<Transport>)>,
    /// The token of a login for the current attempt.
    token: Option<Arc<TokenSet>>,
    /// The token that the service has rejected. It is replaced once in a call.
    rejected: Option<Arc<TokenSet>>,
    /// The tokens that the service may repeat.
    known: Vec<Arc<TokenSet>>,
    /// The clock's count of requests before the current attempt.
    clock_requests: u64,
    clock_corrected: bool,
}

impl<'a> CallAuthorization<'a> {
    /// Creates it for a call that starts now.
    pub fn new(transport: &'a Arc<Transport>, credentials: Option<&'a Credentials>) -> Self {
        let credentials = credentials.map(|credentials| (credentials, transport));
        CallAuthorization { credentials, ..CallAuthorization::default() }
    }

    /// Gets the data that the next attempt needs, such as an access token.
    pub async fn prepare(&mut self) -> Result<()> {
        let Some((credentials, transport)) = self.credentials else { return Ok(()) };
        self.clock_requests = transport.clock.requests();
        if let Credentials::OAuth(oauth) = credentials {
            let rejected = self.rejected.as_deref();
            self.token = Some(match oauth.cached_token(rejected)? {
                Some(token) => token,
                None => {
                    let endpoint: Arc<dyn TokenEndpoint> = transport.clone();
                    oauth.token(&endpoint, rejected).await?
                }
            });
            self.known = oauth.known_tokens().collect();
        }
        Ok(())
    }

    /// Returns the headers that authorize a request now. Each attempt is signed again.
    pub fn headers(&self, request: &Request) -> Result<SentHeaders> {
        let Some((credentials, transport)) = self.credentials else { return Ok(Vec::new()) };
        let token = self.token.as_deref();
        let headers = authorization_headers(Some(credentials), token, &transport.clock, request)?;
        headers.into_iter().map(|(name, value)| Ok((name, sensitive(value)?))).collect()
    }

    /// Removes the cause of a rejection. Returns true if that succeeded, so that the request is to
    /// be sent again at once.
    pub async fn recover(&mut self, error: &Error) -> Result<bool> {
        let Some((credentials, transport)) = self.credentials else { return Ok(false) };
        if self.token.is_some() && self.rejected.is_none() && error.rejects_token() {
            self.rejected = self.token.take();
            return Ok(true);
        }
        let class = error.api_failure().map(|api_failure| api_failure.class);
        let is_clock_skew = class == Some(FailureClass::ClockSkew)
            && matches!(credentials, Credentials::ApiKey { .. });
        if self.clock_corrected || !is_clock_skew {
            return Ok(false);
        }
        self.clock_corrected = true;
        match clock_sync::correct_clock(transport, self.clock_requests).await {
            Ok(()) => Ok(true),
            // The time that the service returns is not plausible: the service's clock is the cause,
            // not this machine's.
            Err(cause) if matches!(*cause.kind, ErrorKind::Protocol { .. }) => Err(cause),
            Err(_) => Err(error.clone()),
        }
    }

    /// Adds advice to the error of a request whose authorization was rejected.
    pub fn advised(&self, error: Error) -> Error {
        match self.credentials {
            None => error.with_advice(Advice::NoCredentials),
            Some((Credentials::OAuth(oauth), _)) => error.with_login(oauth.login()),
            Some(_) => error,
        }
    }

    /// Returns the secrets that the attempts have used, other than the headers.
    pub fn secrets(&self) -> Vec<&str> {
        let tokens = self.token.iter().chain(&self.rejected).chain(&self.known);
        let tokens = tokens.flat_map(|set| set.secrets());
        tokens.chain(self.credentials.and_then(|(own, _)| own.secret())).collect()
    }
}

impl TokenEndpoint for Transport {
    fn refresh(
        &self,
        arguments: Vec<(&'static str, Argument)>,
    ) -> BoxFuture<'_, Result<TokenResponse>> {
        Box::pin(async move {
            // A refresh token can be used again, so a refresh is idempotent; the exchange of a code
            // is not.
            let plan = RequestPlan::new(&TOKEN, &arguments)?.idempotent();
            // Allowed for a read-only client, too: a refresh changes nothing but the client's own
            // token.
            let request = plan.request(&self.base, &self.options.headers, None, None)?;
            let outcome = self.call_unauthorized(&request, parse_token_response).await;
            if let Some(span) = self.span(&request, 1) {
                let kind = match &outcome {
                    Ok(_) => EventKind::TokenRefreshed,
                    Err(error) => EventKind::TokenNotRefreshed { reason: error.kind.summary() },
                };
                let _ = span.emit(kind).await;
            }
            outcome
        })
    }
}

/// Returns the headers that authorize a request now. `token` is the token of a login; without it,
/// the token is masked.
pub fn authorization_headers(
    credentials: Option<&Credentials>,
    token: Option<&TokenSet>,
    clock: &Clock,
    request: &Request,
) -> Result<Vec<(&'static str, Zeroizing<String>)>> {
    match credentials {
        None => Ok(Vec::new()),
        Some(Credentials::OAuth(_)) => {
            let token = token.map_or("***", |set| set.access_token.as_str());
            Ok(vec![(AUTHORIZATION, bearer(token))])
        }
        Some(Credentials::Bearer { token, .. }) => Ok(vec![(AUTHORIZATION, bearer(token))]),
        Some(Credentials::ApiKey { key_id, key, .. }) => {
            let query = request.url.query().unwrap_or_default();
            let line = (request.method.as_str(), request.url.path(), query);
            let signed = signed_headers(key_id, key, clock.now_ms(), line, &request.body)?;
            Ok(signed.map(|(name, value)| (name, Zeroizing::new(value))).into())
        }
    }
}

/// Returns the header value for a bearer token, in a buffer that is never moved: moving it would
/// leave copies.
pub fn bearer(token: &str) -> Zeroizing<String> {
    const SCHEME: &str = "Bearer ";
    let mut value = Zeroizing::new(String::with_capacity(SCHEME.len() + token.len()));
    value.push_str(SCHEME);
    value.push_str(token);
    value
}

/// Makes a header value that is wiped from memory when its last copy is dropped.
fn sensitive(mut value: Zeroizing<String>) -> Result<HeaderValue> {
    let bytes = Zeroizing::new(std::mem::take(&mut *value).into_bytes());
    let mut value = HeaderValue::from_maybe_shared(Bytes::from_owner(bytes)).map_err(|_| {
        Error::config(
            "the credentials have control characters, which a header cannot contain; check for a line \
             break at their end",
        )
    })?;
    value.set_sensitive(true);
    Ok(value)
}
