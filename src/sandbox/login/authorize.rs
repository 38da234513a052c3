//! The authorization page (4.1): who asks, what a person decides, and the way back.

use axum::http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{COOKIE, LOCATION, SET_COOKIE},
};
use url::form_urlencoded;

use super::{
    Asked, OAuth, Refused,
    fields::Fields,
    page::{self, Place, Problem},
};
use crate::{
    api::AUTHORIZE,
    error::Result,
    sandbox::{
        hashed_store::{Hash, Hashed, equal, hash, secret},
        lock,
        outcome::Outcome,
        scopes::Scopes,
        tokens::{Consent, Tokens, challenge},
        verify::random_id,
    },
};

pub const STATE: &str = "state";
/// The one account of the page, which tells it to everyone.
pub const USER: &str = "demo";
pub const PASSWORD: &str = "demo";
/// A page may be left open for this long.
const FORM_LIFETIME_MS: i64 = 600_000;
const FORMS_MAX: usize = 1_000;
const COOKIE_PREFIX: &str = "boardlot-consent-";

/// What a client asks for, its client and redirect URI known to be good.
#[derive(Debug, Clone)]
pub struct Request {
    client_id: String,
    pub client_name: String,
    pub redirect_uri: String,
    challenge: Hash,
    state: String,
}

/// Why a request is not shown to the person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Rejected {
    /// Nobody is known to whom it could be told: never a redirect.
    Page(&'static str),
    /// The client is told, at this address.
    Back(String),
}

/// The pages that were shown, by their ids. Each can be sent in once.
#[derive(Debug)]
pub struct Forms(Hashed<Form>);

#[derive(Debug)]
struct Form {
    request: Request,
    /// What the hidden field and the cookie both have to hold.
    token: Hash,
    until_ms: i64,
}

/// Holds the query against its row and the registered client.
pub fn read(oauth: &OAuth, query: &str) -> Result<Request, Rejected> {
    let fields = Fields::read(&AUTHORIZE, query.as_bytes());
    let client = fields.required("client_id").ok().and_then(|id| oauth.clients.get(id));
    let Some(client) = client else {
        return Err(Rejected::Page("The application that sent you here is not known."));
    };
    let redirect_uri = fields.required("redirect_uri").unwrap_or_default();
    if !client.redirect_uris.iter().any(|registered| registered == redirect_uri) {
        return Err(Rejected::Page(
            "The address to which you would return is not one that the application registered.",
        ));
    }
    let mut request = Request {
        client_id: client.id.clone(),
        client_name: client.name.clone(),
        redirect_uri: redirect_uri.to_owned(),
        challenge: Hash::default(),
        state: fields.required(STATE).unwrap_or_default().to_owned(),
    };
    let checked = AUTHORIZE
        .parameters
        .iter()
        .filter(|parameter| parameter.required)
        .try_for_each(|parameter| fields.required(parameter.name).map(|_| ()))
        .and_then(|()| {
            let text = fields.required("code_challenge")?;
            challenge(text).ok_or_else(|| "code_challenge is no SHA-256 in BASE64URL".to_owned())
        });
    match checked {
        Ok(challenge) => {
            request.challenge = challenge;
            Ok(request)
        }
        Err(faulty) => Err(Rejected::Back(request.refused("invalid_request", &faulty))),
    }
}

/// GET: the page, or why there is none.
pub fn show(oauth: &OAuth, _: &Tokens, asked: &Asked<'_>) -> Result<Outcome, Refused> {
    match read(oauth, asked.query) {
        Ok(request) => ask(oauth, request, StatusCode::OK, asked.now_ms, &page::Filled::default()),
        Err(Rejected::Page(why)) => Ok(page::failure(StatusCode::BAD_REQUEST, why)),
        Err(Rejected::Back(url)) => Ok(back(&url)),
    }
}

/// POST: what the person has decided.
pub fn decide(oauth: &OAuth, tokens: &Tokens, asked: &Asked<'_>) -> Result<Outcome, Refused> {
    let fields = Fields::read(&AUTHORIZE, asked.body);
    let one = |name: &str| fields.optional(name).ok().flatten().unwrap_or_default();
    let id = one(page::FORM);
    let cookie = cookie(asked.headers, &format!("{COOKIE_PREFIX}{id}"));
    let taken = lock(&oauth.forms).take(id, one(page::TOKEN), cookie, asked.now_ms);
    let Some(request) = taken else {
        return Ok(page::failure(
            StatusCode::FORBIDDEN,
            "This page was sent in before, was open for too long, or cookies are turned off.",
        ));
    };
    let forget = expired(id);
    let answer = match one(page::DECISION) {
        page::ALLOW => {
            let ticked: Vec<String> = fields.all(page::SCOPE).map(str::to_owned).collect();
            let mut problems = Vec::new();
            if (one(page::USER), one(page::PASSWORD)) != (USER, PASSWORD) {
                let message = "The user name or the password is wrong.".to_owned();
                problems.push(Problem { place: Place::SignIn, message });
            }
            match Scopes::chosen(&ticked) {
                Ok(scopes) if problems.is_empty() => {
                    back(&request.allowed(tokens, scopes, asked.now_ms)?)
                }
                chosen => {
                    if let Err(message) = chosen {
                        problems.push(Problem { place: Place::Scopes, message });
                    }
                    let user = one(page::USER).to_owned();
                    let filled = page::Filled { user, ticked: Some(ticked), problems };
                    return ask(oauth, request, StatusCode::BAD_REQUEST, asked.now_ms, &filled);
                }
            }
        }
        page::DENY => back(&request.refused("access_denied", "the user denied the request")),
        _ => page::failure(StatusCode::BAD_REQUEST, "The form holds no decision."),
    };
    Ok(match forget {
        Some(forget) => answer.with(SET_COOKIE, forget),
        None => answer,
    })
}

/// The page with a form of its own: every one is sent in at most once.
fn ask(
    oauth: &OAuth,
    request: Request,
    status: StatusCode,
    now_ms: i64,
    filled: &page::Filled,
) -> Result<Outcome, Refused> {
    let (id, token) = (random_id("")?, secret()?);
    let answer = page::consent(status, &request, (&id, &token), filled);
    lock(&oauth.forms).add(&id, request, &token, now_ms);
    let age = FORM_LIFETIME_MS / 1_000;
    Ok(match set_cookie(&id, &token, age) {
        Some(cookie) => answer.with(SET_COOKIE, cookie),
        None => answer,
    })
}

impl Request {
    /// Where the browser goes with a fresh code.
    pub fn allowed(&self, tokens: &Tokens, scopes: Scopes, now_ms: i64) -> Result<String> {
        let consent = Consent {
            client_id: self.client_id.clone(),
            redirect_uri: self.redirect_uri.clone(),
            challenge: self.challenge,
            scopes,
        };
        let code = tokens.add_code(consent, now_ms)?;
        Ok(self.callback(&[("code", &code)]))
    }

    /// Where the browser goes with bad news.
    fn refused(&self, error: &str, description: &str) -> String {
        self.callback(&[("error", error), ("error_description", description)])
    }

    fn callback(&self, pairs: &[(&str, &str)]) -> String {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.extend_pairs(pairs);
        if !self.state.is_empty() {
            query.append_pair(STATE, &self.state);
        }
        let joint = if self.redirect_uri.contains('?') { '&' } else { '?' };
        format!("{}{joint}{}", self.redirect_uri, query.finish())
    }
}

impl Default for Forms {
    fn default() -> Self {
        Forms(Hashed::new(FORMS_MAX))
    }
}

impl Forms {
    pub fn clear(&mut self) {
        self.0.clear();
    }

    fn add(&mut self, id: &str, request: Request, token: &str, now_ms: i64) {
        let until_ms = now_ms.saturating_add(FORM_LIFETIME_MS);
        self.0.insert(id, Form { request, token: hash(token), until_ms });
    }

    /// The request of a page, where both copies of its token are right. Another page could put a
    /// field into a form, but not the cookie beside it.
    fn take(&mut self, id: &str, field: &str, cookie: &str, now_ms: i64) -> Option<Request> {
        let form = self.0.get(id)?;
        let is_ours = equal(&form.token, &hash(field)) & equal(&form.token, &hash(cookie));
        if !is_ours || now_ms >= form.until_ms {
            return None;
        }
        self.0.remove(id).map(|form| form.request)
    }
}

/// 303, so that the browser goes there with a GET.
fn back(url: &str) -> Outcome {
    match HeaderValue::from_str(url) {
        Ok(location) => {
            page::guarded(Outcome::html(StatusCode::SEE_OTHER, ""), None).with(LOCATION, location)
        }
        // No registered redirect URI leads here: all their characters fit a header.
        Err(_) => page::failure(StatusCode::BAD_REQUEST, "The way back cannot be written."),
    }
}

fn cookie<'a>(headers: &'a HeaderMap, name: &str) -> &'a str {
    headers
        .get_all(COOKIE)
        .iter()
        .filter_map(|value| value.to_str().ok())
        .flat_map(|text| text.split(';'))
        .filter_map(|pair| pair.trim().split_once('='))
        .find(|(known, _)| *known == name)
        .map_or("", |(_, value)| value)
}

fn set_cookie(id: &str, value: &str, age_seconds: i64) -> Option<HeaderValue> {
    let path = AUTHORIZE.path;
    let attributes = format!("Max-Age={age_seconds}; Path={path}; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&format!("{COOKIE_PREFIX}{id}={value}; {attributes}")).ok()
}

fn expired(id: &str) -> Option<HeaderValue> {
    set_cookie(id, "", 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NOW: i64 = 1_790_000_000_000;

    fn request() -> Request {
        Request {
            client_id: "c1".to_owned(),
            client_name: "one".to_owned(),
            redirect_uri: "https://app.example/cb?x=1".to_owned(),
            challenge: [7; 32],
            state: "a b&c=d%".to_owned(),
        }
    }

    #[test]
    fn security_35_a_form_needs_both_copies_of_its_token_and_works_once() {
        let mut forms = Forms::default();
        forms.add("f", request(), "token", NOW);
        for (id, field, cookie, after) in [
            ("g", "token", "token", 0),
            ("f", "", "", 0),
            ("f", "token", "", 0),
            ("f", "", "token", 0),
            ("f", "token", "Token", 0),
            ("f", "token", "token", FORM_LIFETIME_MS),
        ] {
            assert!(forms.take(id, field, cookie, NOW + after).is_none(), "{id} {field} {cookie}");
        }
        assert!(forms.take("f", "token", "token", NOW + FORM_LIFETIME_MS - 1).is_some());
        assert!(forms.take("f", "token", "token", NOW).is_none());
    }

    #[test]
    fn forms_are_bounded() {
        let mut forms = Forms::default();
        for number in 0..FORMS_MAX + 5 {
            forms.add(&format!("f{number}"), request(), "t", NOW);
        }
        assert!(forms.take("f4", "t", "t", NOW).is_none());
        assert!(forms.take("f5", "t", "t", NOW).is_some());
    }

    #[test]
    fn the_way_back_keeps_the_query_that_is_there_and_the_state() {
        assert_eq!(
            request().refused("access_denied", "the user"),
            "https://app.example/cb?x=1&error=access_denied&error_description=the+user\
             &state=a+b%26c%3Dd%25"
        );
    }

    #[test]
    fn a_cookie_is_found_among_others() {
        let mut headers = HeaderMap::new();
        headers.append(COOKIE, HeaderValue::from_static("a=1; bb=2;c=3=4"));
        headers.append(COOKIE, HeaderValue::from_static("d=5"));
        for (name, value) in [("a", "1"), ("bb", "2"), ("c", "3=4"), ("d", "5"), ("b", "")] {
            assert_eq!(cookie(&headers, name), value, "{name}");
        }
    }
}
