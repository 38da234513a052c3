//! The page on which a user decides (section 4.1), and the redirect back to the client.

use std::sync::Arc;

use boardlot_service::{
    api::{AUTHORIZE, SCOPES},
    error::{Error, ErrorKind, Result},
};
use http::{HeaderValue, StatusCode, header::LOCATION};
use url::form_urlencoded;

use super::{
    fields::Fields,
    oauth::{Client, OAuth, OAuthRequest, Response},
};
use crate::{
    credentials::{
        scopes::{Scopes, account_scopes},
        tokens::{Consent, Tokens, challenge},
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
    /// The scopes that are ticked at first: those that the client requests, or all.
    consent: Consent,
}

/// Reasons why a request is not shown to the user.
#[derive(Debug)]
enum Invalid {
    /// The client or its redirect URI is unknown: a page says so, never a redirect.
    Page(&'static str),
    /// The client learns it from this callback URL.
    Callback(String),
}

impl Authorization {
    /// Checks the query by its row and the registered client.
    fn read(oauth: &OAuth, query: &str) -> std::result::Result<Self, Invalid> {
        let fields = Fields::read(query.as_bytes());
        let client = fields.required("client_id").ok().and_then(|id| oauth.client(id));
        let Some(client) = client else {
            return Err(Invalid::Page("The application that sent you here is not registered."));
        };
        let redirect_uri = fields.required("redirect_uri").unwrap_or_default();
        if !client.redirect_uris.iter().any(|registered| registered == redirect_uri) {
            return Err(Invalid::Page(
                "The address to which you would return is not one that the application registered.",
            ));
        }
        let consent = Consent {
            client_id: client.id.clone(),
            redirect_uri: redirect_uri.to_owned(),
            challenge: [0; 32],
            scopes: Scopes::all(),
        };
        // Returned even if something else is wrong.
        let state = fields.all("state").next().unwrap_or_default().to_owned();
        let mut authorization = Authorization { client, state, consent };
        match authorization.check(&fields) {
            Ok(()) => Ok(authorization),
            Err((error, why)) => Err(Invalid::Callback(authorization.denied(error, &why))),
        }
    }

    /// Reads the other fields, or returns what is wrong with them (RFC 6749, section 4.1.2.1).
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

    /// The callback URL with a new code.
    fn allowed(&self, tokens: &Tokens, scopes: Scopes, now_ms: i64) -> String {
        let consent = Consent { scopes, ..self.consent.clone() };
        self.callback(&[("code", &tokens.add_code(consent, now_ms))])
    }

    /// The callback URL with an error.
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

/// GET: the page, or the reason why it is not shown.
pub fn show(oauth: &OAuth, _: &Tokens, request: &OAuthRequest<'_>) -> Response {
    Ok(match Authorization::read(oauth, request.query) {
        Ok(authorization) => page(&authorization),
        Err(Invalid::Page(reason)) => failure(reason),
        Err(Invalid::Callback(url)) => redirect(&url),
    })
}

/// POST to the same address: what the user has decided.
pub fn decide(oauth: &OAuth, tokens: &Tokens, request: &OAuthRequest<'_>) -> Response {
    let fields = Fields::read(request.body);
    let decision = |_: &Authorization| match fields.all(DECISION).next() {
        Some("allow") => Scopes::of(fields.all(SCOPE).map(str::to_owned).collect()).map(Some),
        Some("deny") => Ok(None),
        _ => Err("The form has no decision.".to_owned()),
    };
    Ok(match callback(oauth, tokens, request.query, decision, request.now_ms) {
        Ok(url) => redirect(&url),
        Err(reason) => failure(&reason),
    })
}

/// Does what a user would do on the page: tick these scopes, allow.
pub fn allow_as_demo_user(
    oauth: &OAuth,
    tokens: &Tokens,
    url: &str,
    scopes: Option<&[String]>,
    now_ms: i64,
) -> Result<String> {
    let page = format!("{}{}", oauth.base_url, AUTHORIZE.path);
    let Some(query) = url.strip_prefix(&page) else {
        return Err(Error::config(format!("the URL does not lead to {page}")));
    };
    let decision = |authorization: &Authorization| match scopes {
        None => Ok(Some(authorization.consent.scopes.clone())),
        Some(scopes) => Scopes::of(scopes.to_vec()).map(Some),
    };
    let query = query.strip_prefix('?').unwrap_or(query);
    callback(oauth, tokens, query, decision, now_ms).map_err(|description| {
        ErrorKind::OAuth { error: "invalid_request".to_owned(), description }.into()
    })
}

/// The callback URL of a decision, which is the scopes that are allowed; or the reason why the browser goes
/// nowhere.
fn callback(
    oauth: &OAuth,
    tokens: &Tokens,
    query: &str,
    decision: impl FnOnce(&Authorization) -> std::result::Result<Option<Scopes>, String>,
    now_ms: i64,
) -> std::result::Result<String, String> {
    match Authorization::read(oauth, query) {
        Ok(authorization) => Ok(match decision(&authorization)? {
            Some(scopes) => authorization.allowed(tokens, scopes, now_ms),
            None => authorization.denied("access_denied", "the user denied it"),
        }),
        Err(Invalid::Page(reason)) => Err(reason.to_owned()),
        Err(Invalid::Callback(url)) => Ok(url),
    }
}

/// 303, so that the browser goes there with a GET.
fn redirect(url: &str) -> HttpResponse {
    match HeaderValue::from_str(url) {
        Ok(location) => HttpResponse::html(StatusCode::SEE_OTHER, "").with(LOCATION, location),
        // Unreachable with a registered redirect URI: all their characters fit a header.
        Err(_) => failure("The redirect URI is not valid."),
    }
}

/// The page that says what is asked for.
fn page(authorization: &Authorization) -> HttpResponse {
    let Consent { redirect_uri, scopes, .. } = &authorization.consent;
    let (client, target) = (escaped(&authorization.client.name), escaped(redirect_uri));
    let choice = |scope: &str, note: &str| {
        let checked = if scopes.has(scope) { " checked" } else { "" };
        format!(
            "<p><label><input type=\"checkbox\" name=\"{SCOPE}\" value=\"{scope}\"{checked}> \
             <code>{scope}</code>{note}</label></p>\n"
        )
    };
    let offered = SCOPES.iter().map(|scope| choice(scope, ""));
    let accounts = account_scopes().map(|(kind, scope)| choice(&scope, &format!(" ({kind})")));
    let choices: String = offered.chain(accounts).collect();
    let body = format!(
        "<h1>Allow <bdi>{client}</bdi> to use your account?</h1>\n\
         <p>You then return to <code>{target}</code>.</p>\n\
         <form method=\"post\">\n\
         <fieldset>\n<legend>What it may do</legend>\n{choices}</fieldset>\n\
         <p>To allow only some accounts, untick <code>accid:*</code> (all accounts) and tick those.</p>\n\
         <p><button name=\"{DECISION}\" value=\"allow\">Allow</button>\n\
         <button name=\"{DECISION}\" value=\"deny\">Deny</button></p>\n\
         </form>"
    );
    document(StatusCode::OK, &body)
}

/// A page that says why the login ends here, without a link.
fn failure(why: &str) -> HttpResponse {
    let why = escaped(why);
    let body = format!(
        "<h1>This login cannot continue</h1>\n<p>{why}</p>\n\
         <p>Close this page, go back to the application and start the login again.</p>"
    );
    document(StatusCode::BAD_REQUEST, &body)
}

fn document(status: StatusCode, body: &str) -> HttpResponse {
    let page = format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n<title>boardlot sandbox</title>\n\
         <style>{}</style>\n</head>\n<body>\n\
         <p>This is a sandbox of the service on this machine. Nobody has to sign in.</p>\n\
         {body}\n</body>\n</html>\n",
        include_str!("page.css")
    );
    HttpResponse::html(status, page)
}

/// A text in HTML, between tags or in a quoted attribute.
fn escaped(text: &str) -> String {
    let signs = [('&', "&amp;"), ('<', "&lt;"), ('>', "&gt;"), ('"', "&quot;"), ('\'', "&#39;")];
    signs.into_iter().fold(text.to_owned(), |text, (sign, name)| text.replace(sign, name))
}
