//! The page on which a user decides (section 4.1), and the redirect back to the client.

use std::sync::Arc;

use boardlot_service::{
    api::{AUTHORIZE, SCOPES},
    error::{Error, ErrorKind, Result},
};
use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode, header::LOCATION};
use url::form_urlencoded;

use super::{fields::Fields, oauth::Response};
use crate::{
    credentials::{
        scopes::{Scopes, account_scopes},
        tokens::{Client, Consent, Tokens, challenge},
    },
    wire::http_response::HttpResponse,
};

const SCOPE: &str = "scope";
const DECISION: &str = "decision";

/// An authorization request with a known client and one of its redirect URIs.
#[derive(Debug)]
struct Authorization {
    client: Arc<Client>,
    state: String,
    /// The scopes that are ticked at first: the ones that the client requests, or all.
    consent: Consent,
}

impl Authorization {
    /// Checks the query by the endpoint's row and the registered client. If the client or its
    /// redirect URI is unknown, the browser gets a page that says so, and never a redirect. The
    /// client learns of any other mistake from a callback URL.
    fn read(
        tokens: &Tokens,
        query: &str,
    ) -> std::result::Result<std::result::Result<Self, String>, String> {
        let fields = Fields::read(query.as_bytes());
        let client = fields.required("client_id").ok().and_then(|id| tokens.client(id));
        let Some(client) = client else {
            return Err("The application that sent you here is not registered.".to_owned());
        };
        let redirect_uri = fields.required("redirect_uri").unwrap_or_default();
        if !client.redirect_uris.iter().any(|registered| registered == redirect_uri) {
            return Err(format!(
                "This request has redirect_uri {redirect_uri}, but the application registered {}.",
                client.redirect_uris.join(", ")
            ));
        }
        let consent = Consent {
            client_id: client.id.clone(),
            redirect_uri: redirect_uri.to_owned(),
            challenge: [0; 32],
            scopes: Scopes::all(),
        };
        // The state is returned even if something else is wrong.
        let state = fields.all("state").next().unwrap_or_default().to_owned();
        let mut authorization = Authorization { client, state, consent };
        Ok(match authorization.check(&fields) {
            Ok(()) => Ok(authorization),
            Err((error, why)) => Err(authorization.denied(error, &why)),
        })
    }

    /// Reads the other fields. The error tells what is wrong with them (RFC 6749, section 4.1.2.1).
    fn check(&mut self, fields: &Fields) -> std::result::Result<(), (&'static str, String)> {
        let invalid = |why: String| ("invalid_request", why);
        for parameter in AUTHORIZE.parameters.iter() {
            fields.required(&parameter.name).map_err(invalid)?;
        }
        if !fields.all("response_type").eq(["code"]) {
            return Err(("unsupported_response_type", "expected code".to_owned()));
        }
        let is_s256 = fields.all("code_challenge_method").eq(["S256"]);
        let decoded = fields.all("code_challenge").next().and_then(challenge);
        self.consent.challenge = decoded.filter(|_| is_s256).ok_or_else(|| {
            invalid("code_challenge is not valid; expected S256, a hash in BASE64URL".to_owned())
        })?;
        if let Some(requested) = fields.optional(SCOPE).map_err(invalid)? {
            self.consent.scopes = Scopes::parse(requested).map_err(|why| ("invalid_scope", why))?;
        }
        Ok(())
    }

    /// Returns the callback URL with an error.
    fn denied(&self, error: &str, description: &str) -> String {
        self.callback(&[("error", error), ("error_description", description)])
    }

    fn callback(&self, pairs: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(pairs);
        if !self.state.is_empty() {
            query.append_pair("state", &self.state);
        }
        let redirect_uri = &self.consent.redirect_uri;
        let joint = if redirect_uri.contains('?') { '&' } else { '?' };
        format!("{redirect_uri}{joint}{}", query.finish())
    }
}

/// Handles a GET: returns the page, or the reason why it is not shown.
pub fn show(tokens: &Tokens, request: &Request<Bytes>, _: i64) -> Response {
    Ok(match Authorization::read(tokens, request.uri().query().unwrap_or_default()) {
        Ok(Ok(authorization)) => page(&authorization),
        Ok(Err(url)) => redirect(&url),
        Err(reason) => failure(&reason),
    })
}

/// Handles a POST to the same address, with the user's decision.
pub fn decide(tokens: &Tokens, request: &Request<Bytes>, now_ms: i64) -> Response {
    let fields = Fields::read(request.body());
    let decision = |_: &Authorization| match fields.all(DECISION).next() {
        Some("allow") => Scopes::of(fields.all(SCOPE).map(str::to_owned).collect()).map(Some),
        Some("deny") => Ok(None),
        _ => Err("The form has no decision.".to_owned()),
    };
    let query = request.uri().query().unwrap_or_default();
    let target = callback(tokens, query, decision, now_ms);
    Ok(target.map_or_else(|reason| failure(&reason), |url| redirect(&url)))
}

/// Acts as a user on the page: ticks these scopes and allows them.
pub fn allow_as_demo_user(
    tokens: &Tokens,
    url: &str,
    scopes: Option<&[String]>,
    now_ms: i64,
) -> Result<String> {
    let page = format!("{}{}", tokens.base_url, AUTHORIZE.path);
    let Some(query) = url.strip_prefix(&page) else {
        return Err(Error::config(format!("the URL does not lead to {page}")));
    };
    let decision = |authorization: &Authorization| match scopes {
        None => Ok(Some(authorization.consent.scopes.clone())),
        Some(scopes) => Scopes::of(scopes.to_vec()).map(Some),
    };
    let query = query.strip_prefix('?').unwrap_or(query);
    callback(tokens, query, decision, now_ms).map_err(|description| {
        let refusal = ErrorKind::OAuth { error: "invalid_request".to_owned(), description };
        Error::from(refusal).with_advice(
            "Use the client id and a redirect URI of the registration, as `register_client` returned them."
                .to_owned(),
        )
    })
}

/// Returns the callback URL of a decision, which consists of the allowed scopes; or the reason why
/// the browser is not redirected.
fn callback(
    tokens: &Tokens,
    query: &str,
    decision: impl FnOnce(&Authorization) -> std::result::Result<Option<Scopes>, String>,
    now_ms: i64,
) -> std::result::Result<String, String> {
    let authorization = match Authorization::read(tokens, query)? {
        Ok(authorization) => authorization,
        Err(url) => return Ok(url),
    };
    let Some(scopes) = decision(&authorization)? else {
        return Ok(authorization.denied("access_denied", "the user denied it"));
    };
    let consent = Consent { scopes, ..authorization.consent.clone() };
    Ok(authorization.callback(&[("code", &tokens.add_code(consent, now_ms))]))
}

/// Redirects with 303, so that the browser follows with a GET.
fn redirect(url: &str) -> HttpResponse {
    // All characters of a registered redirect URI are valid in a header.
    let location = HeaderValue::from_str(url).unwrap_or(HeaderValue::from_static("/"));
    HttpResponse::html(StatusCode::SEE_OTHER, "").with(LOCATION, location)
}

/// Returns the page that shows the request.
fn page(authorization: &Authorization) -> HttpResponse {
    let Consent { redirect_uri, scopes, .. } = &authorization.consent;
    let (client, target) = (escaped(&authorization.client.name), escaped(redirect_uri));
    let choice = |scope: &str, note: &str| {
        let checked = if scopes.has(scope) { " checked" } else { "" };
        format!(include_str!("choice.html"), scope = scope, checked = checked, note = note)
    };
    let offered = SCOPES.iter().map(|scope| choice(scope, ""));
    let accounts = account_scopes().map(|(kind, scope)| choice(&scope, &format!(" ({kind})")));
    let choices: String = offered.chain(accounts).collect();
    let body =
        format!(include_str!("consent.html"), client = client, target = target, choices = choices);
    document(StatusCode::OK, &body)
}

/// Returns a page without a link that says why the login ends here.
fn failure(why: &str) -> HttpResponse {
    document(StatusCode::BAD_REQUEST, &format!(include_str!("failure.html"), why = escaped(why)))
}

fn document(status: StatusCode, body: &str) -> HttpResponse {
    let style = include_str!("page.css");
    HttpResponse::html(status, format!(include_str!("page.html"), style = style, body = body))
}

/// Escapes a text for HTML, between tags or in a quoted attribute.
fn escaped(text: &str) -> String {
    let signs = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    signs.into_iter().fold(text.to_owned(), |text, (sign, name)| text.replace(sign, name))
}
