//! Registration of clients (section 2.1).

use boardlot_service::api::{Argument, Parameter, ParameterKind, REGISTER};
use http::StatusCode;
use serde_json::{Map, Value, json};

use super::service::{Client, OAuth, OAuthError, OAuthRequest, Response};
use crate::{
    credentials::{random_id, random_secret, scopes::Scopes, tokens::Tokens},
    wire::http_response::HttpResponse,
};

const LIST_MAX: usize = 20;
const CODE_GRANT: &str = "authorization_code";
const REFRESH_GRANT: &str = "refresh_token";

pub fn register(oauth: &OAuth, _: &Tokens, request: &OAuthRequest<'_>) -> Response {
    let body: Map<String, Value> = serde_json::from_slice(request.body)
        .map_err(|error| invalid(format!("the body is not a JSON object: {error}")))?;
    for parameter in REGISTER.parameters.iter() {
        check(parameter, body.get(parameter.name.as_ref())).map_err(invalid)?;
    }
    let list = |name: &str| -> Vec<String> {
        let items = body.get(name).and_then(Value::as_array);
        items.into_iter().flatten().filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let text = |name: &str| body.get(name).and_then(Value::as_str).unwrap_or_default();

    let redirect_uris = list("redirect_uris");
    if let Some(wrong) = redirect_uris.iter().find(|uri| !is_redirect_uri(uri)) {
        let wrong: String = wrong.chars().take(256).collect();
        return Err(OAuthError::new(
            "invalid_redirect_uri",
            format!(
                "'{wrong}' is not a valid redirect URI; expected https, or http to 127.0.0.1 or [::1]"
            ),
        ));
    }
    let grant_types = list("grant_types");
    let refreshes = grant_types.iter().any(|grant| grant == REFRESH_GRANT);
    let known = |grant: &String| [CODE_GRANT, REFRESH_GRANT].contains(&grant.as_str());
    if !grant_types.iter().all(known) || !grant_types.iter().any(|grant| grant == CODE_GRANT) {
        return Err(invalid(format!(
            "grant_types is not valid; expected {CODE_GRANT}, with or without {REFRESH_GRANT}"
        )));
    }
    if list("response_types").iter().any(|response| response != "code") {
        return Err(invalid("response_types is not valid; expected only code"));
    }

    let is_confidential = text("token_endpoint_auth_method") == "client_secret_post";
    let secret = is_confidential.then(random_secret).transpose()?;
    let id = random_id("client-")?;
    let mut registered = json!({
        "client_id": id,
        "client_id_issued_at": request.now_ms.div_euclid(1_000),
        "registration_access_token": random_secret()?,
        "registration_client_uri": format!("{}{}/{id}", oauth.base_url, REGISTER.path),
        "scope": Scopes::all().to_text(),
        "pkce_required": true,
    });
    if let Some(members) = registered.as_object_mut() {
        let sent = REGISTER.parameters.iter().map(|parameter| parameter.name.as_ref());
        members.extend(sent.filter_map(|name| Some((name.to_owned(), body.get(name)?.clone()))));
        if let Some(secret) = &secret {
            members.insert("client_secret".to_owned(), json!(secret));
            // RFC 7591, section 3.2.1: 0 for one that does not expire.
            members.insert("client_secret_expires_at".to_owned(), json!(0));
        }
    }
    let name = text("client_name").to_owned();
    oauth.clients.add(Client { id, name, redirect_uris, refreshes, secret })?;
    Ok(HttpResponse::json(StatusCode::CREATED, registered.to_string().into_bytes()))
}

/// Checks a member of the body by its row.
fn check(parameter: &Parameter, value: Option<&Value>) -> Result<(), String> {
    let name = &parameter.name;
    let fits = |value: &Value| match value.as_str() {
        Some(text) => parameter.check(&Argument::Text(text.to_owned()), |_| None).is_ok(),
        None => false,
    };
    match (parameter.kind, value) {
        (_, None) => Err(format!("{name} is missing")),
        (ParameterKind::TextList, Some(Value::Array(items)))
            if (1..=LIST_MAX).contains(&items.len()) && items.iter().all(fits) =>
        {
            Ok(())
        }
        (ParameterKind::TextList, _) => {
            Err(format!("{name} is not valid; expected a list of 1 to {LIST_MAX} strings"))
        }
        (_, Some(value)) if fits(value) => Ok(()),
        (_, Some(_)) => Err(format!("{name} is malformed: {}", parameter.doc)),
    }
}

/// https, or http to a loopback address written as a number; without user and fragment, and only with the
/// characters of RFC 3986, since it is used in headers.
fn is_redirect_uri(text: &str) -> bool {
    let (scheme, rest) = text.split_once("://").unwrap_or_default();
    let authority = rest.split(['/', '?']).next().unwrap_or_default();
    let is_loopback = ["127.0.0.1", "[::1]"].iter().any(|host| {
        authority.strip_prefix(host).is_some_and(|port| port.is_empty() || port.starts_with(':'))
    });
    let plain = |more: &'static [u8]| {
        move |byte: u8| {
            byte.is_ascii_alphanumeric() || b"-.:[]".contains(&byte) || more.contains(&byte)
        }
    };
    !authority.is_empty()
        && authority.bytes().all(plain(b""))
        && text.bytes().all(plain(b"_~/?@!$&'()*+,;=%"))
        && (scheme == "https" || scheme == "http" && is_loopback)
}

fn invalid(description: impl Into<String>) -> OAuthError {
    OAuthError::new("invalid_client_metadata", description)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn redirect_uris_are_https_or_a_loopback_literal() {
        for good in [
            "https://app.example/callback",
            "https://app.example:8443/cb?x=1&y=%20",
            "https://192.0.2.7/cb",
            "http://127.0.0.1:8765/callback",
            "http://127.0.0.1",
            "http://[::1]:9/cb",
        ] {
            assert!(is_redirect_uri(good), "{good}");
        }
        for wrong in [
            "",
            "callback",
            "//127.0.0.1/cb",
            "http://app.example/cb",
            "http://localhost:8765/cb",
            "http://127.1:8765/cb",
            "http://2130706433/cb",
            "http://0x7f000001/cb",
            "http://127.0.0.1.example/cb",
            "http://0.0.0.0/cb",
            "http://[::ffff:127.0.0.1]/cb",
            "http://127.0.0.1:8765/cb#x",
            "http://127.0.0.1:8765/cb#",
            "http://user@127.0.0.1/cb",
            "http://127.0.0.1@evil.example/cb",
            "https://user:pass@app.example/cb",
            "https://a;sandbox/cb",
            "https://a,b/cb",
            "https://app.example\\@evil.example/",
            "https://app.example/\"><script>",
            "https://app.example/a b",
            "https://app.example/\r\nX: y",
            "https://bücher.example/",
            "HTTPS://app.example/",
            "javascript:alert(1)",
            "data:text/html,x",
            "file:///etc/passwd",
            "boardlot:callback",
        ] {
            assert!(!is_redirect_uri(wrong), "{wrong}");
        }
    }
}
