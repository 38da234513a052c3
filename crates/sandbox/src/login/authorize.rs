//! The authorization page (section 4.1): what is requested, what the user decides, and the redirect
//! back to the client.

use axum::http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{COOKIE, LOCATION, SET_COOKIE},
};

use super::{
    authorization::{AuthorizationRequest, STATE},
    error::OAuthError,
    fields::Fields,
    forms::FORM_LIFETIME_MS,
    page::{self, Place, Problem},
    service::{OAuth, OAuthRequest},
};
use crate::{
    api::AUTHORIZE,
    error::{Error, ErrorKind, Result},
    sandbox::{
        credentials::{
            hashed_store::{Hash, secret},
            proof_key::challenge,
            scopes::Scopes,
            tokens::Tokens,
            verify::random_id,
        },
        sync::lock,
        wire::http_response::HttpResponse,
    },
};

const COOKIE_PREFIX: &str = "boardlot-consent-";

/// Why a request is not shown to the user.
#[derive(Debug, Clone, PartialEq, Eq)]
enum InvalidRequest {
    /// The client or its redirect URI is unknown: a page says so, never a redirect.
    Page(&'static str),
    /// The client learns it from this callback URL.
    Callback(String),
}

/// Checks the query by its row and the registered client.
fn read(oauth: &OAuth, query: &str) -> Result<AuthorizationRequest, InvalidRequest> {
    let fields = Fields::read(&AUTHORIZE, query.as_bytes());
    let client = fields.required("client_id").ok().and_then(|id| oauth.clients.get(id));
    let Some(client) = client else {
        return Err(InvalidRequest::Page("The application that sent you here is not registered."));
    };
    let redirect_uri = fields.required("redirect_uri").unwrap_or_default();
    if !client.redirect_uris.iter().any(|registered| registered == redirect_uri) {
        return Err(InvalidRequest::Page(
            "The address to which you would return is not one that the application registered.",
        ));
    }
    let mut authorization = AuthorizationRequest {
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
        .try_for_each(|parameter| fields.required(&parameter.name).map(|_| ()))
        .and_then(|()| {
            let text = fields.required("code_challenge")?;
            challenge(text).ok_or_else(|| {
                "code_challenge is not valid; expected a SHA-256 hash in BASE64URL".to_owned()
            })
        });
    match checked {
        Ok(challenge) => {
            authorization.challenge = challenge;
            Ok(authorization)
        }
        Err(invalid) => {
            Err(InvalidRequest::Callback(authorization.denied("invalid_request", &invalid)))
        }
    }
}

/// GET: the page, or why there is none.
pub fn show(
    oauth: &OAuth,
    _: &Tokens,
    request: &OAuthRequest<'_>,
) -> Result<HttpResponse, OAuthError> {
    match read(oauth, request.query) {
        Ok(authorization) => {
            let form = page::Filled::default();
            show_form(oauth, authorization, StatusCode::OK, request.now_ms, &form)
        }
        Err(InvalidRequest::Page(reason)) => Ok(page::failure(StatusCode::BAD_REQUEST, reason)),
        Err(InvalidRequest::Callback(url)) => Ok(redirect(&url)),
    }
}

/// POST: what the user has decided.
pub fn decide(
    oauth: &OAuth,
    tokens: &Tokens,
    request: &OAuthRequest<'_>,
) -> Result<HttpResponse, OAuthError> {
    let now_ms = request.now_ms;
    let fields = Fields::read(&AUTHORIZE, request.body);
    let one = |name: &str| fields.optional(name).ok().flatten().unwrap_or_default();
    let id = one(page::FORM);
    let cookie = cookie(request.headers, &format!("{COOKIE_PREFIX}{id}"));
    let taken = lock(&oauth.forms).take(id, one(page::TOKEN), cookie, now_ms);
    let Some(authorization) = taken else {
        return Ok(page::failure(
            StatusCode::FORBIDDEN,
            "This page was submitted before, was open for too long, or cookies are turned off.",
        ));
    };
    let response = match one(page::DECISION) {
        page::ALLOW => {
            let ticked: Vec<String> = fields.all(page::SCOPE).map(str::to_owned).collect();
            let mut problems = Vec::new();
            if (one(page::USER), one(page::PASSWORD)) != (page::DEMO_USER, page::DEMO_PASSWORD) {
                let message = "The user name or the password is wrong.".to_owned();
                problems.push(Problem { place: Place::SignIn, message });
            }
            match Scopes::chosen(&ticked) {
                Ok(scopes) if problems.is_empty() => {
                    redirect(&authorization.allowed(tokens, scopes, now_ms)?)
                }
                chosen => {
                    if let Err(message) = chosen {
                        problems.push(Problem { place: Place::Scopes, message });
                    }
                    let user = one(page::USER).to_owned();
                    let form = page::Filled { user, ticked: Some(ticked), problems };
                    let status = StatusCode::BAD_REQUEST;
                    return show_form(oauth, authorization, status, now_ms, &form);
                }
            }
        }
        page::DENY => {
            redirect(&authorization.denied("access_denied", "the user denied the request"))
        }
        _ => page::failure(StatusCode::BAD_REQUEST, "The form has no decision."),
    };
    Ok(match expired_cookie(id) {
        Some(cookie) => response.with(SET_COOKIE, cookie),
        None => response,
    })
}

/// What a user would do on the page: sign in, tick these scopes, allow.
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
    let authorization = match read(oauth, query) {
        Ok(authorization) => authorization,
        Err(InvalidRequest::Page(reason)) => {
            let error = "invalid_request".to_owned();
            return Err(ErrorKind::OAuth { error, description: reason.to_owned() }.into());
        }
        // A browser would go there, and the client would learn it.
        Err(InvalidRequest::Callback(url)) => return Ok(url),
    };
    let scopes = match scopes {
        None => Scopes::all(),
        Some(scopes) => Scopes::chosen(scopes).map_err(Error::config)?,
    };
    authorization.allowed(tokens, scopes, now_ms)
}

/// The page with a new form.
fn show_form(
    oauth: &OAuth,
    authorization: AuthorizationRequest,
    status: StatusCode,
    now_ms: i64,
    form: &page::Filled,
) -> Result<HttpResponse, OAuthError> {
    let (id, token) = (random_id("")?, secret()?);
    let response = page::consent(status, &authorization, (&id, &token), form);
    lock(&oauth.forms).add(&id, authorization, &token, now_ms);
    let age = FORM_LIFETIME_MS / 1_000;
    Ok(match set_cookie(&id, &token, age) {
        Some(cookie) => response.with(SET_COOKIE, cookie),
        None => response,
    })
}

/// 303, so that the browser goes there with a GET.
fn redirect(url: &str) -> HttpResponse {
    match HeaderValue::from_str(url) {
        Ok(location) => page::guarded(HttpResponse::html(StatusCode::SEE_OTHER, ""), None)
            .with(LOCATION, location),
        // Unreachable with a registered redirect URI: all their characters fit a header.
        Err(_) => page::failure(StatusCode::BAD_REQUEST, "The redirect URI is not valid."),
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
    let path = &AUTHORIZE.path;
    let attributes = format!("Max-Age={age_seconds}; Path={path}; HttpOnly; SameSite=Strict");
    HeaderValue::from_str(&format!("{COOKIE_PREFIX}{id}={value}; {attributes}")).ok()
}

fn expired_cookie(id: &str) -> Option<HeaderValue> {
    set_cookie(id, "", 0)
}

#[cfg(test)]
mod tests {
    use super::*;

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
