//! Watches and controls the sandbox over HTTP, for tests in any language: offers the functions that
//! [`crate::Sandbox`] has in Rust and Python, under `/_sandbox/` of the same address.
//! `control.json` describes them.

use boardlot_service::{
    api::AUTHORIZE,
    error::{Error, Result},
};
use bytes::Bytes;
use http::{HeaderValue, StatusCode, header::ALLOW};
use serde::Deserialize;
use serde_json::{Map, Value, json, value::RawValue};

use super::{planned_failures::PlannedFailure, routes::CONTROL, state::Shared};
use crate::{
    OPENAPI, faults::Faults, lock, login, options::Control, wire::http_response::HttpResponse,
};

/// Methods and paths below the prefix.
const NAMES: &str = "GET requests, POST reset, POST fail-next, PUT faults, PUT rows, POST revoke-tokens, POST \
                     revoke-grants, POST approve";

/// Description of the control paths, which is added to that of the service.
const OWN: &str = include_str!("control.json");

/// The body of `fail-next`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct FailNext {
    endpoint: Option<String>,
    #[serde(default = "once")]
    times: Option<u64>,
    status: Option<u16>,
    code: Option<i64>,
    message: Option<String>,
}

fn once() -> Option<u64> {
    Some(1)
}

/// The body of `rows`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Rows<'a> {
    endpoint: String,
    #[serde(borrow)]
    rows: &'a RawValue,
    #[serde(default)]
    arguments: Map<String, Value>,
}

/// The body of `approve`.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Approve {
    authorize_url: String,
    scopes: Option<Vec<String>>,
}

/// Returns the response to a request below the prefix. An error response is a JSON object with
/// `error`.
pub fn respond(shared: &Shared, method: &str, path: &str, body: &Bytes) -> HttpResponse {
    if shared.control == Control::Refused {
        let why = "this sandbox was started without --control";
        return failed(StatusCode::FORBIDDEN, why);
    }
    let name = path.strip_prefix(CONTROL).unwrap_or_default();
    let done = match (method, name) {
        ("GET", "requests") => Ok(json!(lock(&shared.requests).last)),
        ("POST", "reset") => {
            shared.reset();
            Ok(json!({}))
        }
        ("POST", "fail-next") => read(body).and_then(|it| fail_next(shared, it)),
        ("PUT", "faults") => read(body).and_then(|faults: Faults| {
            shared.set_faults(faults.clone())?;
            Ok(json!(faults))
        }),
        ("PUT", "rows") => {
            // The body is borrowed, so that the rows are served as they were written.
            read(body).and_then(|it| put(shared, &it))
        }
        ("POST", "revoke-tokens") => {
            shared.credentials.tokens.revoke_access();
            Ok(json!({}))
        }
        ("POST", "revoke-grants") => {
            shared.credentials.tokens.revoke_grants();
            Ok(json!({}))
        }
        ("POST", "approve") => read(body).and_then(|it| approve(shared, &it)),
        _ => {
            let why = format!("{method} {path} does not exist; expected one of {NAMES}");
            let mut known = NAMES.split(", ").filter_map(|one| one.split_once(' '));
            return match known.find(|(_, known)| *known == name) {
                Some((allowed, _)) => failed(StatusCode::METHOD_NOT_ALLOWED, &why)
                    .with(ALLOW, HeaderValue::from_static(allowed)),
                None => failed(StatusCode::NOT_FOUND, &why),
            };
        }
    };
    match done {
        Ok(value) => HttpResponse::json(StatusCode::OK, value.to_string().into_bytes()),
        Err(error) => failed(StatusCode::BAD_REQUEST, &error.to_string()),
    }
}

/// Returns the description of the service and of the control paths, in JSON.
pub fn description() -> String {
    let whole = || -> serde_json::Result<Value> {
        let mut service: Value = serde_json::from_str(OPENAPI)?;
        let own: Value = serde_json::from_str(OWN)?;
        for place in ["/paths", "/components/schemas"] {
            if let (Some(Value::Object(all)), Some(Value::Object(more))) =
                (service.pointer_mut(place), own.pointer(place))
            {
                all.extend(more.clone());
            }
        }
        if let (Some(Value::Array(all)), Some(Value::Array(more))) =
            (service.pointer_mut("/tags"), own.pointer("/tags"))
        {
            all.extend(more.iter().cloned());
        }
        Ok(service)
    };
    // Both descriptions are constants, which a test parses.
    whole().map_or_else(|_| OPENAPI.to_owned(), |whole| whole.to_string())
}

/// Reads the body as this type. An empty body is an empty object.
fn read<'a, T: Deserialize<'a>>(body: &'a Bytes) -> Result<T> {
    let text: &[u8] = if body.is_empty() { b"{}" } else { body };
    // serde would read a list as the members in their order.
    if !text.trim_ascii_start().starts_with(b"{") {
        return Err(Error::config("the body is not valid: expected a JSON object"));
    }
    serde_json::from_slice(text)
        .map_err(|error| Error::config(format!("the body is not valid: {error}")))
}

fn failed(status: StatusCode, why: &str) -> HttpResponse {
    HttpResponse::json(status, json!({ "error": why }).to_string().into_bytes())
}

fn fail_next(shared: &Shared, asked: FailNext) -> Result<Value> {
    let FailNext { endpoint: target, times, status, code, message } = asked;
    let status = status.unwrap_or(if code.is_some() { 200 } else { 503 });
    shared.fail_next(PlannedFailure { target, times, status, code, message })?;
    Ok(json!({}))
}

fn put(shared: &Shared, asked: &Rows<'_>) -> Result<Value> {
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let only = asked.arguments.iter().map(|(name, value)| (name.clone(), text(value)));
    shared.put("endpoint", &asked.endpoint, asked.rows.get(), only.collect())?;
    Ok(json!({}))
}

fn approve(shared: &Shared, asked: &Approve) -> Result<Value> {
    let tokens = &shared.credentials.tokens;
    // A container is reached at another address than its listening address.
    let url = match asked.authorize_url.find(&*AUTHORIZE.path) {
        Some(index) => format!("{}{}", tokens.base_url, asked.authorize_url.split_at(index).1),
        None => asked.authorize_url.clone(),
    };
    let scopes = asked.scopes.as_deref();
    let callback = login::allow_as_demo_user(tokens, &url, scopes, shared.now_ms())?;
    Ok(json!({ "callback_url": callback }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_that_it_does_is_described_beside_the_service() {
        let service: Value = serde_json::from_str(OPENAPI).expect("JSON");
        let whole: Value = serde_json::from_str(&description()).expect("JSON");
        let paths = |of: &Value| of["paths"].as_object().expect("paths").clone();
        let mut described: Vec<String> = Vec::new();
        for (path, item) in paths(&whole) {
            match path.strip_prefix(CONTROL) {
                None => assert_eq!(item, service["paths"][&path]),
                Some(name) => described.extend(
                    item.as_object()
                        .expect("methods")
                        .keys()
                        .map(|method| format!("{} {name}", method.to_uppercase())),
                ),
            }
        }
        let mut known: Vec<&str> = NAMES.split(", ").collect();
        known.sort_unstable();
        described.sort_unstable();
        assert_eq!(described, known);
        assert_eq!(paths(&whole).len(), paths(&service).len() + known.len());
    }
}
