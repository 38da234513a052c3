//! Applies the rules to a response: returns its members if it is a success, otherwise its error.

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
    rules::{Report, Verdict, is_failure_code, is_text, verdict},
};
use crate::{
    api::{Contract, Envelope},
    error::{
        ApiFailure, Error, ErrorClass, ErrorKind, Evidence, FailureClass, HELD_BYTES, Result,
        body_preview, held, says_token_rejected,
    },
};

/// Returns the members of a successful response; none for a bare list.
pub fn success_members(
    contract: impl Into<Contract>,
    response: &Response<Bytes>,
) -> Result<Members<'_>> {
    let contract = contract.into();
    if is_redirect(response.status()) {
        return Err(redirect(response));
    }
    let parsed = parse(response);
    let top = parsed.as_ref().ok();
    let report = report(response, top);
    match (verdict(contract.envelope, response.status(), top, &report), parsed) {
        (Verdict::Success, Ok(top)) => Ok(top),
        (Verdict::Rejection, parsed) => {
            Err(api_failure(&contract, response, parsed.ok().as_ref(), report))
        }
        (Verdict::Success | Verdict::Neither, Err(error)) => Err(error),
        (Verdict::Neither, Ok(_)) => {
            Err(Error::protocol("the response has no success mark", response.body()))
        }
    }
}

/// Checks a response for rejected credentials, a wrong clock and redirects. Its envelope is left to
/// the caller.
pub fn check_credentials(response: &Response<Bytes>) -> Result<()> {
    let status = response.status();
    if is_redirect(status) {
        return Err(redirect(response));
    }
    let top = parse(response).ok();
    let report = report(response, top.as_ref());
    let is_success = |envelope| {
        // The other members of a success are for the caller.
        verdict(envelope, status, top.as_ref(), &report) == Verdict::Success
    };
    if [Envelope::RetCode, Envelope::Code, Envelope::Status].into_iter().any(is_success) {
        return Ok(());
    }
    if verdict(Envelope::Undocumented, status, top.as_ref(), &report) != Verdict::Rejection {
        return Ok(());
    }
    let error = api_failure(&Envelope::Undocumented.into(), response, top.as_ref(), report);
    if error.rejects_credentials() { Err(error) } else { Ok(()) }
}

/// Returns the members of a JSON object.
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

/// Returns the failure that a response reports, in any of the documented forms, because the form
/// for rejected credentials is not documented.
fn report(response: &Response<Bytes>, top: Option<&Members<'_>>) -> Report {
    let value = |name: &str| find_member(top?, name);
    let text = |name: &str| beginning_of_text(value(name)?);
    let error = value("error").and_then(|error| parse_members(error.get()).ok());
    let inner = |name: &str| beginning_of_text(find_member(error.as_ref()?, name)?);
    let is_failure = |name: &&str| value(name).is_some_and(|raw| is_failure_code(raw.get()));
    let code = CODE_MEMBERS.into_iter().find(is_failure);
    let mut messages: Vec<String> = MESSAGE_MEMBERS.into_iter().filter_map(text).collect();
    messages.extend(["message", "description"].into_iter().filter_map(inner));
    // The forms of a service in front of this one: RFC 9457, and lists of errors.
    messages.extend(text("title").or_else(|| value("errors").and_then(first_message)));
    let message = messages.first().cloned().or_else(|| text_of_body(response, top.is_some()));
    let mut texts = messages;
    if !response.status().is_success() {
        texts.extend(message.clone());
        texts.extend(challenges(response.headers()));
    }
    Report {
        code: code.and_then(|name| Value::parse(value(name)?.get()).ok()?.as_integer()),
        has_failure_mark: code.is_some()
            || value("s").is_some_and(|raw| is_text(raw.get(), "error")),
        error_code: inner("code"),
        other_code: inner("type").or_else(|| text("error")).or_else(
            // A text here is in no documented form, so any other text does not make the response a
            // failure.
            || CODE_MEMBERS.into_iter().filter_map(text).find(|text| says_token_rejected(text)),
        ),
        message: message.unwrap_or_default(),
        texts,
    }
}

/// Returns the error for a response that rejects a request.
fn api_failure(
    contract: &Contract,
    response: &Response<Bytes>,
    top: Option<&Members<'_>>,
    report: Report,
) -> Error {
    let status = response.status().as_u16();
    let Report { code, message, texts, .. } = report;
    let error_code = report.error_code.or(report.other_code);
    let documented = code.and_then(|code| contract.failure(code));
    let class = FailureClass::of(&Evidence {
        status,
        code,
        documented: documented.map(|failure| failure.error_code),
        error_code: error_code.as_deref(),
        messages: &texts,
    });
    let mut failure = ApiFailure::new(class, status);
    failure.code = code;
    failure.error_code = error_code;
    failure.message = message;
    failure.headers = header_pairs(response.headers());
    failure.body = body_preview(response.body());
    failure.retry_after = retry_after(response.headers(), SystemTime::now());
    let error = Error::from(ErrorKind::Api(failure));
    match documented {
        Some(failure) if class == FailureClass::InvalidParameter => {
            error.with_advice(format!("{}.", failure.handling))
        }
        // A body that is not JSON is not from the service.
        None if class == FailureClass::Other && top.is_none() => {
            error.with_advice(ErrorClass::ProtocolError.hint().to_owned())
        }
        _ => error,
    }
}

/// Returns the first message in a list of errors.
fn first_message(errors: &RawValue) -> Option<String> {
    let errors: Vec<&RawValue> = serde_json::from_str(errors.get()).ok()?;
    let first = errors.first()?;
    let members = parse_members(first.get()).unwrap_or_default();
    let text = |name: &str| beginning_of_text(find_member(&members, name)?);
    beginning_of_text(first).or_else(|| ["message", "detail", "title"].into_iter().find_map(text))
}

/// Returns the beginning of a string's text: only as much is unescaped as an error holds.
fn beginning_of_text(json: &RawValue) -> Option<String> {
    let json = json.get();
    if !json.starts_with('"') {
        return None;
    }
    let text = |json: &str| Some(held(Value::parse(json).ok()?.as_text()?).to_owned());
    // Enough for all bytes that an error holds, even if each is escaped, and for the bytes that are
    // tried below.
    let most = (HELD_BYTES + 3) * ESCAPE_LONGEST;
    if json.len() <= most {
        return text(json);
    }
    // Does not cut within a character or a pair of escapes.
    (most - 2 * ESCAPE_LONGEST..most).rev().find_map(|end| text(&format!("{}\"", json.get(..end)?)))
}

/// Length of `\uXXXX`, which represents at least one byte.
const ESCAPE_LONGEST: usize = 6;

/// Members that hold a code, in the documented forms.
const CODE_MEMBERS: [&str; 3] = ["ret_code", "code", "errcode"];
/// Members that hold a message, in the documented forms and in common ones; `detail` is from RFC
/// 9457.
const MESSAGE_MEMBERS: [&str; 7] =
    ["ret_msg", "msg", "errmsg", "message", "error_description", "error_message", "detail"];

/// Returns the message of a body that is plain text or a JSON string.
fn text_of_body(response: &Response<Bytes>, is_object: bool) -> Option<String> {
    let text = std::str::from_utf8(response.body()).ok().filter(|_| !is_object)?.trim();
    match text.as_bytes().first()? {
        b'"' => serde_json::from_str(text).ok().and_then(beginning_of_text),
        b'<' | b'{' | b'[' => None,
        _ => Some(held(text).to_owned()),
    }
}

/// Returns the challenges of an HTTP error (RFC 6750, section 3).
fn challenges(headers: &HeaderMap) -> impl Iterator<Item = String> {
    let challenges = headers.get_all(WWW_AUTHENTICATE).into_iter();
    challenges.filter_map(|value| value.to_str().ok()).map(str::to_owned)
}

/// Returns true if this is an HTML page, which comes from a proxy or a login page in front of the
/// service.
pub(super) fn is_html(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// Returns true for a redirect. 304 is not one: it responds to a condition that the caller sent.
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

/// Reads `Retry-After` in seconds or as a date (RFC 9110, section 10.2.3); ignores anything else.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // A number with more digits is longer than any wait that is honored.
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
        for mark in ["\"0\"", "false", "null", "{}", "00"] {
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
