//! OAuth 2.1 with PKCE, the service's side (sections 2.1, 2.2, 3.4, 4.1 and 5.1): registration,
//! the consent page, and the token endpoint. Paths, methods and parameters come from the rows; the
//! sandbox's own choices are listed in [`super`].

mod authorization;
mod authorize;
mod clients;
mod error;
mod fields;
mod forms;
mod page;
mod register;
mod service;
mod token;

use std::borrow::Cow;

use axum::http::{
    HeaderValue, StatusCode,
    header::{CACHE_CONTROL, PRAGMA},
};

use super::{credentials::tokens::Tokens, faults::Fault, wire::http_response::HttpResponse};
use crate::api::{self, Endpoint, Method, ParameterLocation, ResponseShape};
pub use authorize::allow_as_demo_user;
use error::OAuthError;
pub use service::{OAuth, OAuthRequest};

/// One of the three endpoints.
#[derive(Debug)]
pub struct Route {
    pub endpoint: &'static Endpoint,
    pub method: Method,
    handler: Handler,
}

type Handler = fn(&OAuth, &Tokens, &OAuthRequest<'_>) -> Result<HttpResponse, OAuthError>;

pub const ROUTES: &[Route] = &[
    row(&api::REGISTER, register::register),
    row(&api::AUTHORIZE, authorize::show),
    // Where the page sends its form is the page's own business: back to itself.
    Route { method: Method::Post, ..row(&api::AUTHORIZE, authorize::decide) },
    row(&api::TOKEN, token::grant),
];

const fn row(endpoint: &'static Endpoint, handler: Handler) -> Route {
    Route { endpoint, method: endpoint.method, handler }
}

impl Route {
    /// Whether it is for a person in a browser.
    pub fn is_page(&self) -> bool {
        matches!(self.endpoint.response, ResponseShape::Page)
    }

    pub fn respond(
        &self,
        oauth: &OAuth,
        tokens: &Tokens,
        request: &OAuthRequest<'_>,
        fault: Option<Fault>,
    ) -> HttpResponse {
        let out_of_order = |status| {
            Err(OAuthError {
                status,
                error: "temporarily_unavailable",
                description: "out of order on purpose".to_owned(),
            })
        };
        let response = match fault {
            Some(Fault::Throttle) => out_of_order(StatusCode::TOO_MANY_REQUESTS),
            Some(Fault::Error(_)) => out_of_order(StatusCode::SERVICE_UNAVAILABLE),
            _ => (self.handler)(oauth, tokens, request),
        };
        response
            .unwrap_or_else(OAuthError::into_response)
            .with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
            .with(PRAGMA, HeaderValue::from_static("no-cache"))
    }
}

/// A query as it is recorded: on the way to these endpoints only the values of parameters that are
/// no secret, and `state` is one.
pub fn recorded<'a>(path: &str, query: &'a str) -> Cow<'a, str> {
    if query.is_empty() || ROUTES.iter().all(|route| route.endpoint.path != path) {
        return Cow::Borrowed(query);
    }
    let shown = |name: &str| {
        name != authorization::STATE
            && api::AUTHORIZE.parameters.iter().any(|parameter| {
                parameter.place == ParameterLocation::Query && parameter.name == name
            })
    };
    let pairs: Vec<Cow<'_, str>> = query
        .split('&')
        .map(|pair| match pair.split_once('=') {
            Some((name, _)) if !shown(name) => Cow::Owned(format!("{name}=***")),
            _ => Cow::Borrowed(pair),
        })
        .collect();
    Cow::Owned(pairs.join("&"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_row_has_a_route() {
        for endpoint in api::OAUTH_ENDPOINTS {
            let own = |route: &&Route| {
                std::ptr::eq(route.endpoint, *endpoint) && route.method == endpoint.method
            };
            assert_eq!(ROUTES.iter().filter(own).count(), 1, "{}", endpoint.name);
        }
        assert_eq!(ROUTES.len(), api::OAUTH_ENDPOINTS.len() + 1);
    }

    #[test]
    fn secrets_are_struck_out_of_the_recorded_query() {
        let page = &*api::AUTHORIZE.path;
        for (path, query, shown) in [
            (page, "client_id=c&state=s&code=x", "client_id=c&state=***&code=***"),
            (page, "st%61te=s&state&a=b=c&", "st%61te=***&state&a=***&"),
            (&*api::TOKEN.path, "client_secret=s&client_id=c", "client_secret=***&client_id=c"),
            ("/api/v1.0/accounts/1/fills_history", "code=HK.00700", "code=HK.00700"),
        ] {
            assert_eq!(recorded(path, query), shown);
        }
    }
}
