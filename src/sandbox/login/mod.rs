//! OAuth 2.1 with PKCE, the service's side (sections 2.1, 2.2, 3.4, 4.1 and 5.1): registration,
//! the page for consent, and the token endpoint. Paths, methods and parameters come from the rows;
//! what was chosen where the service document shows nothing stands in [`super`].

mod authorize;
mod clients;
mod fields;
mod page;
mod token;

use std::{borrow::Cow, sync::Mutex, time::Duration};

use axum::http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CACHE_CONTROL, PRAGMA},
};
use serde::Serialize;

use super::{faults::Fault, lock, outcome::Outcome, reply::json, scopes::Scopes, tokens::Tokens};
use crate::{
    api::{self, Endpoint, Method, ParameterLocation, ResponseShape},
    error::{Error, ErrorKind, Result},
};
use authorize::{Forms, Rejected};
use clients::Clients;

/// Who has registered, and the pages that wait for a person.
#[derive(Debug)]
pub struct OAuth {
    base_url: String,
    token_lifetime: Duration,
    clients: Clients,
    forms: Mutex<Forms>,
}

/// One of the three endpoints.
#[derive(Debug)]
pub struct Route {
    pub endpoint: &'static Endpoint,
    pub method: Method,
    handler: Handler,
}

type Handler = fn(&OAuth, &Tokens, &Asked<'_>) -> Result<Outcome, Refused>;

/// A request to one of them.
#[derive(Debug, Clone, Copy)]
pub struct Asked<'a> {
    pub headers: &'a HeaderMap,
    pub query: &'a str,
    pub body: &'a [u8],
    pub now_ms: i64,
}

/// A refusal in the form of RFC 6749, section 5.2.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    status: StatusCode,
    error: &'static str,
    description: String,
}

pub const ROUTES: &[Route] = &[
    row(&api::REGISTER, clients::register),
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
        matches!(self.endpoint.answer, ResponseShape::Page)
    }
}

impl OAuth {
    pub fn new(base_url: String, token_lifetime: Duration) -> Self {
        OAuth { base_url, token_lifetime, clients: Clients::default(), forms: Mutex::default() }
    }

    pub fn answer(
        &self,
        route: &Route,
        tokens: &Tokens,
        asked: &Asked<'_>,
        fault: Option<Fault>,
    ) -> Outcome {
        let out_of_order = |status| {
            Err(Refused {
                status,
                error: "temporarily_unavailable",
                description: "out of order on purpose".to_owned(),
            })
        };
        let answered = match fault {
            Some(Fault::Throttle) => out_of_order(StatusCode::TOO_MANY_REQUESTS),
            Some(Fault::Error(_)) => out_of_order(StatusCode::SERVICE_UNAVAILABLE),
            _ => (route.handler)(self, tokens, asked),
        };
        answered
            .unwrap_or_else(Refused::into_outcome)
            .with(CACHE_CONTROL, HeaderValue::from_static("no-store"))
            .with(PRAGMA, HeaderValue::from_static("no-cache"))
    }

    /// What a person would do on the page: sign in, tick these scopes, allow.
    pub fn allow_as_demo_user(
        &self,
        tokens: &Tokens,
        url: &str,
        scopes: Option<&[String]>,
        now_ms: i64,
    ) -> Result<String> {
        let page = format!("{}{}", self.base_url, api::AUTHORIZE.path);
        let query = url.strip_prefix(&page).map(|rest| rest.strip_prefix('?').unwrap_or(rest));
        let Some(query) = query else {
            return Err(Error::config(format!("the URL does not lead to {page}")));
        };
        let request = match authorize::read(self, query) {
            Ok(request) => request,
            Err(Rejected::Page(why)) => {
                let error = "invalid_request".to_owned();
                return Err(ErrorKind::OAuth { error, description: why.to_owned() }.into());
            }
            // A browser would go there and tell the client.
            Err(Rejected::Back(url)) => return Ok(url),
        };
        let scopes = match scopes {
            None => Scopes::all(),
            Some(scopes) => Scopes::chosen(scopes).map_err(Error::config)?,
        };
        request.allowed(tokens, scopes, now_ms)
    }

    pub fn forget(&self) {
        self.clients.forget();
        lock(&self.forms).clear();
    }
}

impl Refused {
    fn new(error: &'static str, description: impl Into<String>) -> Self {
        Refused { status: StatusCode::BAD_REQUEST, error, description: description.into() }
    }

    fn invalid_request(description: impl Into<String>) -> Self {
        Refused::new("invalid_request", description)
    }

    fn into_outcome(self) -> Outcome {
        #[derive(Serialize)]
        struct Body<'a> {
            error: &'a str,
            error_description: &'a str,
        }
        let body = Body { error: self.error, error_description: &self.description };
        Outcome::json(self.status, json(&body))
    }
}

impl From<fields::Faulty> for Refused {
    fn from(faulty: fields::Faulty) -> Self {
        Refused::invalid_request(faulty)
    }
}

impl From<Error> for Refused {
    /// Nothing but a system that gives no random bytes.
    fn from(error: Error) -> Self {
        Refused {
            status: StatusCode::INTERNAL_SERVER_ERROR,
            error: "server_error",
            description: error.to_string(),
        }
    }
}

/// A query as it is recorded: on the way to these endpoints only the values of parameters that are
/// no secret, and `state` is one.
pub fn recorded<'a>(path: &str, query: &'a str) -> Cow<'a, str> {
    if query.is_empty() || ROUTES.iter().all(|route| route.endpoint.path != path) {
        return Cow::Borrowed(query);
    }
    let shown = |name: &str| {
        name != authorize::STATE
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
        let page = api::AUTHORIZE.path;
        for (path, query, shown) in [
            (page, "client_id=c&state=s&code=x", "client_id=c&state=***&code=***"),
            (page, "st%61te=s&state&a=b=c&", "st%61te=***&state&a=***&"),
            (api::TOKEN.path, "client_secret=s&client_id=c", "client_secret=***&client_id=c"),
            ("/api/v1.0/accounts/1/fills_history", "code=HK.00700", "code=HK.00700"),
        ] {
            assert_eq!(recorded(path, query), shown);
        }
    }
}
