//! The one classification of responses: the success mark, the documented forms of failure, and
//! anything else.

use std::time::{Duration, SystemTime};

use ::http::{
    HeaderMap, Response, StatusCode,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
};
use bytes::Bytes;
use serde_json::value::RawValue;

use super::{
    json::{Members, Value, find_member, is_too_deep, parse_members},
    records::check_utf8,
};
use crate::{
    api::{Contract, Envelope},
    error::{
        ApiFailure, Error, ErrorKind, Evidence, FailureClass, HELD_BYTES, Result, body_preview,
        held, is_temporary_status, says_token_rejected,
    },
};

/// The members of a successful response.
pub fn success_members(
    contract: impl Into<Contract>,
    response: &Response<Bytes>,
) -> Result<Members<'_>> {
    let contract = contract.into();
    let top = match parse(response) {
        Ok(top) => top,
        Err(error) => return Err(api_failure(&contract, response, None).unwrap_or(error)),
    };
    let marked = match contract.envelope {
        // A failure is known by what it says.
        Envelope::Unknown => api_failure(&contract, response, Some(&top)).is_none(),
        envelope => has_success_mark(envelope, &top),
    };
    if marked && response.status().is_success() {
        return Ok(top);
    }
    Err(api_failure(&contract, response, Some(&top)).unwrap_or_else(|| {
        let status = response.status().as_u16();
        let what = if marked {
            format!(
                "the response has a success mark and the HTTP status {status}; expected them to \
                 agree"
            )
        } else {
            "the response has no success mark".to_owned()
        };
        Error::protocol(what, response.body())
    }))
}

/// Checks a response whose envelope is left to the caller for rejected credentials, a wrong clock and
/// redirects.
pub fn check_credentials(response: &Response<Bytes>) -> Result<()> {
    let status = response.status();
    if is_redirect(status) {
        return Err(redirect(response));
    }
    let top = parse(response).ok();
    let succeeded = status.is_success()
        && top.as_ref().is_some_and(|top| {
            // The other members of a success are for the caller.
            [Envelope::RetCode, Envelope::Code, Envelope::Status]
                .into_iter()
                .any(|envelope| has_success_mark(envelope, top))
        });
    if succeeded {
        return Ok(());
    }
    match api_failure(&Envelope::Undocumented.into(), response, top.as_ref()) {
        Some(error) if error.rejects_credentials() => Err(error),
        _ => Ok(()),
    }
}

fn has_success_mark(envelope: Envelope, top: &Members<'_>) -> bool {
    is_success(envelope, &|name| find_member(top, name).map(RawValue::get))
}

/// The members of a JSON object.
pub(super) fn parse(response: &Response<Bytes>) -> Result<Members<'_>> {
    let body = response.body();
    if body.is_empty() {
        return Err(Error::protocol("the response is empty", body));
    }
    let text = check_utf8(body)?;
    if is_too_deep(text) {
        return Err(Error::protocol("the response is nested too deeply", body));
    }
    parse_members(text).map_err(|error| {
        Error::protocol(format!("the response is not a JSON object: {error}"), body)
    })
}

/// Returns true if a response is a success; `value` returns the JSON of a top-level member.
pub(super) fn is_success<'a>(envelope: Envelope, value: &dyn Fn(&str) -> Option<&'a str>) -> bool {
    let zero = |name| value(name) == Some("0");
    let ok = || value("s") == Some("\"ok\"");
    match envelope {
        Envelope::RetCode => zero("ret_code"),
        Envelope::Code => zero("code"),
        Envelope::Status => ok(),
        Envelope::Field(name) => value(name).is_some(),
        // What else the response says decides.
        Envelope::Unknown => false,
        Envelope::Undocumented => match (value("s"), value("ret_code")) {
            (Some(_), _) => ok(),
            (None, Some(_)) => zero("ret_code"),
            (None, None) => zero("code"),
        },
    }
}

/// The failure that a response reports, in any of the documented forms (the form of rejected
/// credentials is not documented) or by its HTTP status alone.
fn api_failure(
    contract: &Contract,
    response: &Response<Bytes>,
    top: Option<&Members<'_>>,
) -> Option<Error> {
    let status = response.status();
    if is_redirect(status) {
        return Some(redirect(response));
    }
    let text = |name: &str| beginning_of_text(find_member(top?, name)?);
    let error = top.and_then(|top| parse_members(find_member(top, "error")?.get()).ok());
    let inner = |name: &str| beginning_of_text(find_member(error.as_ref()?, name)?);

    let integer = |name| find_member(top?, name)?.get().parse::<i64>().ok();
    let code = CODE_MEMBERS.into_iter().filter_map(integer).find(|code| *code != 0);
    let error_code =
        ["code", "type"].into_iter().find_map(inner).or_else(|| text("error")).or_else(
            // No documented form has a text here, so any other text does not make it a failure.
            || CODE_MEMBERS.into_iter().filter_map(text).find(|text| says_token_rejected(text)),
        );
    let mut messages: Vec<String> = MESSAGE_MEMBERS.into_iter().filter_map(text).collect();
    messages.extend(["message", "description"].into_iter().filter_map(inner));
    let message = messages.first().cloned().unwrap_or_default();
    if !status.is_success() {
        messages.extend(messages_outside_json(response, top.is_some()));
    }
    let is_failure = code.is_some()
        || error_code.is_some()
        || text("s").as_deref() == Some("error")
        || FailureClass::of_status(status.as_u16()).is_some()
        || (is_temporary_status(status.as_u16())
            && !top.is_some_and(|top| has_success_mark(contract.envelope, top)))
        || messages.iter().any(|text| says_token_rejected(text));
    if !is_failure {
        return None;
    }
    let documented = code.and_then(|code| contract.failure(code));
    let class = FailureClass::of(&Evidence {
        status: status.as_u16(),
        code,
        documented: documented.map(|failure| failure.error_code),
        error_code: error_code.as_deref(),
        messages: &messages,
    });
    let error = Error::from(ErrorKind::Api(ApiFailure {
        class,
        http_status: status.as_u16(),
        code,
        error_code,
        message,
        headers: header_pairs(response.headers()),
        body: body_preview(response.body()),
        retry_after: retry_after(response.headers(), SystemTime::now()),
    }));
    Some(match documented.filter(|_| class == FailureClass::InvalidParameter) {
        Some(failure) => error.with_advice(format!("{}.", failure.handling)),
        None => error,
    })
}

/// The beginning of a string's text: no more of it is unescaped than is held.
fn beginning_of_text(json: &RawValue) -> Option<String> {
    let json = json.get();
    if !json.starts_with('"') {
        return None;
    }
    let text = |json: &str| Some(held(Value::parse(json).ok()?.as_text()?).to_owned());
    // All that is held, even if all is escaped, and what is tried below.
    let most = (HELD_BYTES + 3) * ESCAPE_LONGEST;
    if json.len() <= most {
        return text(json);
    }
    // Not cut within a character or a pair of escapes.
    (most - 2 * ESCAPE_LONGEST..most).rev().find_map(|end| text(&format!("{}\"", json.get(..end)?)))
}

/// The bytes of `\uXXXX`, which stands for one byte at least.
const ESCAPE_LONGEST: usize = 6;

/// The members that hold a code, in the documented forms.
const CODE_MEMBERS: [&str; 3] = ["ret_code", "code", "errcode"];
/// The members that hold a message, in the documented forms and in common ones.
const MESSAGE_MEMBERS: [&str; 7] =
    ["ret_msg", "msg", "errmsg", "message", "error_description", "error_message", "detail"];

/// The messages of an HTTP error outside a JSON object: its challenges (RFC 6750, section 3), and a
/// body that is not an HTML page.
fn messages_outside_json(
    response: &Response<Bytes>,
    is_object: bool,
) -> impl Iterator<Item = String> {
    let challenges = response.headers().get_all(WWW_AUTHENTICATE).into_iter();
    let challenges = challenges.filter_map(|value| value.to_str().ok()).map(str::to_owned);
    let body =
        std::str::from_utf8(response.body()).ok().filter(|text| !is_object && !is_html(text));
    challenges.chain(body.map(|text| held(text).to_owned())).collect::<Vec<_>>().into_iter()
}

/// Returns true if this is an HTML page: not from the service, but from a proxy or a login page
/// before it.
pub(super) fn is_html(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// 304 does not redirect: it responds to a condition that the caller sent.
fn is_redirect(status: StatusCode) -> bool {
    status.is_redirection() && status != StatusCode::NOT_MODIFIED
}

fn redirect(response: &Response<Bytes>) -> Error {
    Error::protocol(
        format!(
            "the response is a redirect (HTTP {}), which is never followed because that would send \
             the credentials along",
            response.status().as_u16()
        ),
        response.body(),
    )
}

fn header_pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            let value = String::from_utf8_lossy(value.as_bytes());
            (held(name.as_str()).to_owned(), held(&value).to_owned())
        })
        .collect()
}

/// `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3); anything else is ignored.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number with more digits is longer than any wait that is honoured.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::from(u32::MAX))));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{api::RecordsLocation, decode::parse_page};

    fn response(status: u16, body: &str) -> Response<Bytes> {
        let mut response = Response::new(Bytes::copy_from_slice(body.as_bytes()));
        *response.status_mut() = StatusCode::from_u16(status).expect("a status");
        response
    }

    fn rows(envelope: Envelope, status: u16, body: &str) -> Result<usize> {
        let at = RecordsLocation::OnlyListOf("data");
        parse_page(envelope, &at, &response(status, body)).map(|page| page.len())
    }

    #[test]
    fn only_its_own_mark_makes_a_response_a_success() {
        let ret_code = r#"{"ret_code":0,"ret_msg":"success","data":{"list":[{}]}}"#;
        let code = r#"{"code":0,"data":[{}]}"#;
        assert_eq!(rows(Envelope::RetCode, 200, ret_code).expect("rows"), 1);
        assert_eq!(rows(Envelope::Code, 200, code).expect("rows"), 1);
        assert_eq!(rows(Envelope::Undocumented, 200, ret_code).expect("rows"), 1);
        assert!(rows(Envelope::Code, 200, ret_code).is_err());
        assert!(rows(Envelope::RetCode, 200, code).is_err());
        for mark in ["\"0\"", "false", "null", "0.0", "-0", "{}", "00"] {
            let body = format!("{{\"ret_code\":{mark},\"data\":[]}}");
            let error = rows(Envelope::RetCode, 200, &body).expect_err(mark);
            assert!(matches!(*error.kind, ErrorKind::Protocol { .. }), "{mark}: {error}");
        }
    }

    #[test]
    fn a_failure_is_the_same_with_any_status() {
        let body = r#"{"ret_code":-7,"ret_msg":"no such","error":{"code":"invalid_symbol"}}"#;
        for status in [200, 400, 404, 500] {
            let error = rows(Envelope::RetCode, status, body).expect_err("a failure");
            let api_failure = error.api_failure().expect("a failure");
            assert_eq!(api_failure.class, FailureClass::InvalidSymbol);
            assert_eq!(api_failure.code, Some(-7));
            assert_eq!(api_failure.error_code.as_deref(), Some("invalid_symbol"));
        }
    }

    #[test]
    fn a_message_without_end_is_shown_from_its_beginning() {
        let member = |name: &str, body: &str| {
            let raw = parse_members(body).expect("an object");
            beginning_of_text(find_member(&raw, name).expect("a member"))
        };
        let escapes = ["x", "\\\\", "\\u0041", "é", "\\ud83d\\ude00", "\\u00e9x", "\\n😀"];
        for escape in escapes {
            for before in 0..13 {
                let (json, all) = (escape.repeat(HELD_BYTES * 2), "a".repeat(before));
                let body = format!("{{\"msg\":\"{all}{json}\"}}");
                let whole = Value::parse(&body).expect("JSON");
                let whole = whole.get("msg").and_then(Value::as_text).expect("a text");
                assert_eq!(member("msg", &body).as_deref(), Some(held(whole)), "{before} {escape}");
            }
        }
        let deep = format!("{{\"msg\":[{}\"\"]}}", "\"x\",".repeat(HELD_BYTES * 2));
        assert_eq!(member("msg", &deep), None);
    }

    #[test]
    fn invalid_responses_are_never_an_empty_list() {
        let deep = format!("{{\"code\":0,\"data\":{}", "[".repeat(100_000));
        for body in [
            "",
            "<html>",
            "{\"code\":0,\"data\":[{}",
            "NaN",
            "[]",
            "0",
            &deep,
            "{\"code\":0}",
            "{\"code\":0,\"data\":{}}",
            "{\"code\":0,\"data\":1}",
            "{\"code\":0,\"data\":{\"a\":[],\"b\":[]}}",
            "{\"code\":0,\"data\":[{\"a\":\"\\ud80\"}]}",
            "{\"code\":0,\"data\":[{\"a\":NaN}]}",
        ] {
            let error = rows(Envelope::Code, 200, body).expect_err("invalid");
            assert!(matches!(*error.kind, ErrorKind::Protocol { .. }), "{error}");
        }
    }

    #[test]
    fn malformed_waits_are_ignored() {
        let wait = |text: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(RETRY_AFTER, text.parse().expect("a value"));
            retry_after(&headers, SystemTime::UNIX_EPOCH)
        };
        assert_eq!(wait("7"), Some(Duration::from_secs(7)));
        assert_eq!(wait("Thu, 01 Jan 1970 00:00:30 GMT"), Some(Duration::from_secs(30)));
        for text in ["", "-1", "1.5", "soon", "1e3", "Thu, 99 Jan 1970 00:00:30 GMT"] {
            assert_eq!(wait(text), None, "{text}");
        }
        assert!(wait("99999999999999999999").is_some_and(|w| w > Duration::from_secs(3600)));
    }
}
