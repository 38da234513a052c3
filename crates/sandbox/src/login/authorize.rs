//! The page on which a user decides (section 4.1), and the redirect back to the client.

use boardlot_service::{
    api::{AUTHORIZE, SCOPES},
    error::{Error, ErrorKind, Result},
};
use http::{HeaderValue, StatusCode, header::LOCATION};
use url::form_urlencoded;

use super::{
    fields::Fields,
    service::{OAuth, OAuthRequest, Response},
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
    client_id: String,
    client_name: String,
    redirect_uri: String,
    challenge: [u8; 32],
    state: String,
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
    fn read(oauth: &OAuth, query: &str) -> Result<Self, Invalid> {
        let fields = Fields::read(&AUTHORIZE, query.as_bytes());
        let client = fields.required("client_id").ok().and_then(|id| oauth.clients.get(id));
        let Some(client) = client else {
            return Err(Invalid::Page("The application that sent you here is not registered."));
        };
        let redirect_uri = fields.required("redirect_uri").unwrap_or_default();
        if !client.redirect_uris.iter().any(|registered| registered == redirect_uri) {
            return Err(Invalid::Page(
                "The address to which you would return is not one that the application registered.",
            ));
        }
        let mut authorization = Authorization {
            client_id: client.id.clone(),
            client_name: client.name.clone(),
            redirect_uri: redirect_uri.to_owned(),
            challenge: [0; 32],
            // Returned even if something else is wrong.
            state: fields.all("state").next().unwrap_or_default().to_owned(),
        };
        let response_type = fields.all("response_type").next().unwrap_or("code");
        let checked = AUTHORIZE
            .parameters
            .iter()
            .try_for_each(|parameter| fields.required(&parameter.name).map(|_| ()))
            .and_then(|()| {
                challenge(fields.required("code_challenge")?).ok_or_else(|| {
                    "code_challenge is not valid; expected a SHA-256 hash in BASE64URL".to_owned()
                })
            });
        match checked {
            Ok(challenge) => {
                authorization.challenge = challenge;
                Ok(authorization)
            }
            Err(invalid) => {
                let error = match response_type {
                    "code" | "" => "invalid_request",
                    _ => "unsupported_response_type",
                };
                Err(Invalid::Callback(authorization.denied(error, &invalid)))
            }
        }
    }

    /// The callback URL with a new code.
    fn allowed(&self, tokens: &Tokens, scopes: Scopes, now_ms: i64) -> Result<String> {
        let consent = Consent {
            client_id: self.client_id.clone(),
            redirect_uri: self.redirect_uri.clone(),
            challenge: self.challenge,
            scopes,
        };
        Ok(self.callback(&[("code", &tokens.add_code(consent, now_ms)?)]))
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
        let joint = if self.redirect_uri.contains('?') { '&' } else { '?' };
        format!("{}{joint}{}", self.redirect_uri, query.finish())
    }
}

impl Invalid {
    fn response(self) -> HttpResponse {
        match self {
            Invalid::Page(reason) => failure(reason),
            Invalid::Callback(url) => redirect(&url),
        }
    }
}

/// GET: the page, or the reason why it is not shown.
pub fn show(oauth: &OAuth, _: &Tokens, request: &OAuthRequest<'_>) -> Response {
    Ok(match Authorization::read(oauth, request.query) {
        Ok(authorization) => page(&authorization),
        Err(invalid) => invalid.response(),
    })
}

/// POST to the same address: what the user has decided.
pub fn decide(oauth: &OAuth, tokens: &Tokens, request: &OAuthRequest<'_>) -> Response {
    let authorization = match Authorization::read(oauth, request.query) {
        Ok(authorization) => authorization,
        Err(invalid) => return Ok(invalid.response()),
    };
    let fields = Fields::read(&AUTHORIZE, request.body);
    let ticked: Vec<String> = fields.all(SCOPE).map(str::to_owned).collect();
    Ok(match fields.all(DECISION).next() {
        Some("allow") => match Scopes::chosen(&ticked) {
            Ok(scopes) => redirect(&authorization.allowed(tokens, scopes, request.now_ms)?),
            Err(message) => failure(&message),
        },
        Some("deny") => redirect(&authorization.denied("access_denied", "the user denied it")),
        _ => failure("The form has no decision."),
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
    let query = url.strip_prefix(&page).map(|rest| rest.strip_prefix('?').unwrap_or(rest));
    let Some(query) = query else {
        return Err(Error::config(format!("the URL does not lead to {page}")));
    };
    let authorization = match Authorization::read(oauth, query) {
        Ok(authorization) => authorization,
        Err(Invalid::Page(reason)) => {
            let error = "invalid_request".to_owned();
            return Err(ErrorKind::OAuth { error, description: reason.to_owned() }.into());
        }
        // A browser would go there, and the client would learn it.
        Err(Invalid::Callback(url)) => return Ok(url),
    };
    let scopes = match scopes {
        None => Scopes::all(),
        Some(scopes) => Scopes::chosen(scopes).map_err(Error::config)?,
    };
    authorization.allowed(tokens, scopes, now_ms)
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
    let (client, target) =
        (escaped(&authorization.client_name), escaped(&authorization.redirect_uri));
    let offered = SCOPES.iter().map(|(scope, meaning)| choice(scope, meaning, " checked"));
    let accounts =
        account_scopes().map(|(kind, scope)| choice(&scope, &format!("One account: {kind}"), ""));
    let choices: String = offered.chain(accounts).collect();
    let body = format!(
        "<h1>Allow <bdi>{client}</bdi> to use your account?</h1>\n\
         <p>You then return to <code>{target}</code>.</p>\n\
         <form method=\"post\">\n\
         <fieldset>\n<legend>What it may do</legend>\n{choices}</fieldset>\n\
         <p>To allow only some accounts, untick “All accounts” and tick those.</p>\n\
         <p><button name=\"{DECISION}\" value=\"allow\">Allow</button>\n\
         <button name=\"{DECISION}\" value=\"deny\">Deny</button></p>\n\
         </form>"
    );
    document(StatusCode::OK, &body)
}

fn choice(scope: &str, meaning: &str, checked: &str) -> String {
    format!(
        "<p><label><input type=\"checkbox\" name=\"{SCOPE}\" value=\"{scope}\"{checked}> {meaning} \
         <code>{scope}</code></label></p>\n"
    )
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
