//! Describes a request before it is sent.

use super::Client;
use crate::{
    api::{Argument, Endpoint},
    auth::{X_TIMESTAMP, body_hash, payload},
    error::Result,
    http::{ClientRate, Request, RequestPlan},
    pages::PagedCall,
};

/// A request as it would be sent, without secrets.
#[non_exhaustive]
pub struct Explanation {
    /// The HTTP method.
    pub method: String,
    /// The final URL.
    pub url: String,
    /// The canonical request: the five lines that are signed, the last of which is the hash of the
    /// body. None without an API key.
    pub payload: Option<String>,
    /// Lowercase hexadecimal SHA-256 of the body.
    pub body_hash: String,
    /// The headers that describe the request, and the caller's own.
    pub headers: Vec<(String, String)>,
    /// The headers that authorize the request, with tokens masked.
    pub authorization: Vec<(String, String)>,
    /// The rate limit that applies to the request.
    pub rate_limit: Option<ClientRate>,
}

// The headers of callers may be secrets.
boardlot_service::shown_as!(
    Explanation,
    |this| "Explanation({} {})",
    this.method,
    path_of(&this.url)
);

fn path_of(url: &str) -> &str {
    url.split_once('?').map_or(url, |(path, _)| path)
}

impl Client {
    /// Describes the request of a plan as it would be sent, signed as of now.
    pub fn explain(&self, plan: &RequestPlan) -> Result<Explanation> {
        self.explanation(&self.transport.request(plan, None, None)?)
    }

    /// Describes the request of an endpoint; for a paged endpoint, the request of the first page.
    pub fn explain_call<N: AsRef<str>>(
        &self,
        endpoint: &Endpoint,
        arguments: &[(N, Argument)],
    ) -> Result<Explanation> {
        if endpoint.paging.is_none() {
            return self.explain(&RequestPlan::new(endpoint, arguments)?);
        }
        let listing = PagedCall::new(endpoint, arguments, None)?;
        let (plan, cursor) = (&listing.plan.request, listing.cursor(None));
        self.explanation(&self.transport.request(plan, cursor, None)?)
    }

    fn explanation(&self, request: &Request) -> Result<Explanation> {
        let authorization = self.transport.authorization_headers(request)?;
        let timestamp = authorization
            .iter()
            .find(|(name, _)| *name == X_TIMESTAMP)
            .and_then(|(_, value)| value.parse().ok());
        let (url, body) = (&request.url, &request.body);
        let canonical = |timestamp| {
            let query = url.query().unwrap_or_default();
            let bytes = payload(timestamp, request.method.as_str(), url.path(), query, body);
            String::from_utf8_lossy(&bytes).into_owned()
        };
        let headers = request.headers.iter().map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        });
        let authorization = authorization.into_iter().map(|(name, value)| {
            // A bearer token is a secret; a signature is not.
            let secret = value.starts_with("Bearer ");
            (name.to_owned(), if secret { "Bearer ***".to_owned() } else { value.to_string() })
        });
        Ok(Explanation {
            method: request.method.to_string(),
            url: url.to_string(),
            payload: timestamp.map(canonical),
            body_hash: body_hash(body),
            headers: headers.collect(),
            authorization: authorization.collect(),
            rate_limit: self.transport.rate_limit().cloned(),
        })
    }
}
