//! The one classification of answers: the success mark, the forms of refusal, all else.

use std::time::{Duration, SystemTime};

use ::http::{
    HeaderMap, Response, StatusCode,
    header::{RETRY_AFTER, WWW_AUTHENTICATE},
};
use bytes::Bytes;
use serde_json::value::RawValue;

use super::{
    Page, RowsAt, Value,
    json::{Members, member, members, nests_too_deeply},
    scan::{Utf8, scan},
};
use crate::{
    api::{Contract, Envelope, ResponseShape, SERVER_TIME},
    error::{
        ApiFailure, Error, ErrorKind, Evidence, FailureClass, Result, body_preview,
        says_token_rejected,
    },
};

/// The rows of an answer that says it is a success; the error that it is otherwise.
pub fn parse_page(
    contract: impl Into<Contract>,
    at: &RowsAt,
    answer: &Response<Bytes>,
) -> Result<Page> {
    let contract = contract.into();
    match scanned(contract.envelope, at, answer) {
        Some(page) => Ok(page),
        None => parse_slow_path(contract, at, answer),
    }
}

/// The page where the scan takes the answer.
pub fn scanned(envelope: Envelope, at: &RowsAt, answer: &Response<Bytes>) -> Option<Page> {
    if !answer.status().is_success() {
        return None;
    }
    scan(answer.body(), at, |value| is_success(envelope, value))
}

/// The same through serde: for all that the scan leaves alone, and to hold it against.
pub fn parse_slow_path(
    contract: impl Into<Contract>,
    at: &RowsAt,
    answer: &Response<Bytes>,
) -> Result<Page> {
    let (_, top) = object(contract, answer)?;
    let body = Utf8::new(answer.body()).ok_or_else(|| not_utf8(answer))?;
    Page::find(&body, &top, at)
}

/// 2010-01-01 to 2100-01-01 in milliseconds: no clock that a request can be signed by, or a range
/// be ended with, is beyond these.
const PLAUSIBLE_MS: std::ops::Range<i64> = 1_262_304_000_000..4_102_444_800_000;

/// The service's time in milliseconds.
pub fn server_time(answer: &Response<Bytes>) -> Result<i64> {
    let ResponseShape::ServerTime(field) = SERVER_TIME.answer else {
        return Err(Error::config("server-time has no time field"));
    };
    let (_, top) = object(SERVER_TIME.contract(), answer)?;
    let value = member(&top, field).and_then(|raw| Value::parse(raw.get()).ok());
    let text = value.as_ref().and_then(Value::as_text);
    text.filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()))
        .and_then(|text| text.parse().ok())
        .filter(|millis| PLAUSIBLE_MS.contains(millis))
        .ok_or_else(|| {
            let text = format!(
                "{field} is not the time; expected milliseconds since 1970 as a string of digits, \
                 between 2010 and 2100"
            );
            Error::protocol(text, answer.body())
        })
}

/// The members of a successful answer, with its text.
pub fn object(
    contract: impl Into<Contract>,
    answer: &Response<Bytes>,
) -> Result<(&str, Members<'_>)> {
    let contract = contract.into();
    let (text, top) = match parse(answer) {
        Ok(parsed) => parsed,
        Err(error) => return Err(api_failure(&contract, answer, None).unwrap_or(error)),
    };
    let marked = has_success_mark(contract.envelope, &top);
    if marked && answer.status().is_success() {
        return Ok((text, top));
    }
    Err(api_failure(&contract, answer, Some(&top)).unwrap_or_else(|| {
        let status = answer.status().as_u16();
        let what = if marked {
            format!(
                "the response has a success mark and the HTTP status {status}; expected both to say \
                 the same"
            )
        } else {
            "the answer has no success mark".to_owned()
        };
        Error::protocol(what, answer.body())
    }))
}

/// The refusal that an answer is where the envelope is left to the caller: rejected credentials, and
/// a clock that is off. A redirect is no answer at all.
pub fn refused_credentials(answer: &Response<Bytes>) -> Result<()> {
    let status = answer.status();
    if is_redirect(status) {
        return Err(redirect(answer));
    }
    let top = parse(answer).ok().map(|(_, top)| top);
    let succeeded = status.is_success()
        && top.as_ref().is_some_and(|top| {
            // What a success says beside its mark is the caller's own.
            [Envelope::RetCode, Envelope::Code, Envelope::Status]
                .into_iter()
                .any(|envelope| has_success_mark(envelope, top))
        });
    if succeeded {
        return Ok(());
    }
    match api_failure(&Envelope::Undocumented.into(), answer, top.as_ref()) {
        Some(error) if error.rejects_credentials() => Err(error),
        _ => Ok(()),
    }
}

fn has_success_mark(envelope: Envelope, top: &Members<'_>) -> bool {
    is_success(envelope, &|name| member(top, name).map(RawValue::get))
}

fn parse(answer: &Response<Bytes>) -> Result<(&str, Members<'_>)> {
    let body = answer.body();
    if body.is_empty() {
        return Err(Error::protocol("the answer is empty", body));
    }
    let text = std::str::from_utf8(body).map_err(|_| not_utf8(answer))?;
    if nests_too_deeply(text) {
        return Err(Error::protocol("the answer nests too deeply", body));
    }
    let top = members(text)
        .map_err(|error| Error::protocol(format!("the answer is no JSON object: {error}"), body))?;
    Ok((text, top))
}

fn not_utf8(answer: &Response<Bytes>) -> Error {
    Error::protocol("the answer is not UTF-8", answer.body())
}

/// Whether an answer is a success; `value` gives the JSON of a member at its top.
fn is_success<'a>(envelope: Envelope, value: &dyn Fn(&str) -> Option<&'a str>) -> bool {
    let zero = |name| value(name) == Some("0");
    let ok = || value("s") == Some("\"ok\"");
    match envelope {
        Envelope::RetCode => zero("ret_code"),
        Envelope::Code => zero("code"),
        Envelope::Status => ok(),
        Envelope::Field(name) => value(name).is_some(),
        Envelope::Undocumented => match (value("s"), value("ret_code")) {
            (Some(_), _) => ok(),
            (None, Some(_)) => zero("ret_code"),
            (None, None) => zero("code"),
        },
    }
}

/// The refusal that an answer is: by any of the documented forms, since nobody documents which
/// form a refused credential takes, or by its HTTP status alone.
fn api_failure(
    contract: &Contract,
    answer: &Response<Bytes>,
    top: Option<&Members<'_>>,
) -> Option<Error> {
    let status = answer.status();
    if is_redirect(status) {
        return Some(redirect(answer));
    }
    let field = |name: &str| Value::parse(member(top?, name)?.get()).ok();
    let text = |name: &str| field(name)?.as_text().map(str::to_owned);
    let error = field("error");
    let inner = |name: &str| Some(error.as_ref()?.get(name)?.as_text()?.to_owned());

    let code = CODES.into_iter().filter_map(|name| field(name)?.as_integer()).find(|c| *c != 0);
    let error_code =
        ["code", "type"].into_iter().find_map(inner).or_else(|| text("error")).or_else(
            // No documented form has a text there, so that one alone makes no refusal of an answer.
            || CODES.into_iter().filter_map(text).find(|text| says_token_rejected(text)),
        );
    let mut messages: Vec<String> = MESSAGES.into_iter().filter_map(text).collect();
    messages.extend(["message", "description"].into_iter().filter_map(inner));
    let message = messages.first().cloned().unwrap_or_default();
    if !status.is_success() {
        messages.extend(beside_the_envelope(answer, top.is_some()));
    }
    let says_no = code.is_some()
        || error_code.is_some()
        || text("s").as_deref() == Some("error")
        || speaks_for_itself(status)
        || messages.iter().any(|text| says_token_rejected(text));
    if !says_no {
        return None;
    }
    let class = FailureClass::of(&Evidence {
        status: status.as_u16(),
        code,
        documented: code.and_then(|code| contract.error_code(code)),
        error_code: error_code.as_deref(),
        messages: &messages,
    });
    Some(
        ErrorKind::Api(ApiFailure {
            class,
            http_status: status.as_u16(),
            code,
            error_code,
            message,
            headers: header_pairs(answer.headers()),
            body: body_preview(answer.body()),
            retry_after: retry_after(answer.headers(), SystemTime::now()),
        })
        .into(),
    )
}

/// The members that hold a code, in the documented forms.
const CODES: [&str; 3] = ["ret_code", "code", "errcode"];
/// The members that hold words: those of the documented forms, and those that others use.
const MESSAGES: [&str; 7] =
    ["ret_msg", "msg", "errmsg", "message", "error_description", "error_message", "detail"];

/// What an HTTP error says outside a JSON object: in its challenge (RFC 6750, section 3), and in a
/// body that is no page for a browser.
fn beside_the_envelope(answer: &Response<Bytes>, is_object: bool) -> impl Iterator<Item = String> {
    let challenges = answer.headers().get_all(WWW_AUTHENTICATE).into_iter();
    let challenges = challenges.filter_map(|value| value.to_str().ok()).map(str::to_owned);
    let body = std::str::from_utf8(answer.body()).ok().filter(|text| !is_object && !is_html(text));
    challenges.chain(body.map(str::to_owned)).collect::<Vec<_>>().into_iter()
}

/// A page for a browser: not the service's own, but that of a proxy or a login page before it.
pub fn is_html(text: &str) -> bool {
    text.trim_start().starts_with('<')
}

/// Statuses that are a refusal whatever the body is.
fn speaks_for_itself(status: StatusCode) -> bool {
    matches!(status.as_u16(), 401 | 403 | 429 | 500..=599)
}

/// 304 points nowhere: it answers a condition of the caller's own.
fn is_redirect(status: StatusCode) -> bool {
    status.is_redirection() && status != StatusCode::NOT_MODIFIED
}

fn redirect(answer: &Response<Bytes>) -> Error {
    Error::protocol(
        format!(
            "the answer is a redirect (HTTP {}), which is never followed since it would carry the \
             credentials along",
            answer.status().as_u16()
        ),
        answer.body(),
    )
}

fn header_pairs(headers: &HeaderMap) -> Vec<(String, String)> {
    headers
        .iter()
        .map(|(name, value)| {
            (name.to_string(), String::from_utf8_lossy(value.as_bytes()).into_owned())
        })
        .collect()
}

/// `Retry-After` as seconds or as a date (RFC 9110, section 10.2.3); anything else says nothing.
fn retry_after(headers: &HeaderMap, now: SystemTime) -> Option<Duration> {
    let value = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit()) {
        // More digits than fit are a wait longer than any that is honoured.
        return Some(Duration::from_secs(value.parse().unwrap_or(u64::from(u32::MAX))));
    }
    let date = httpdate::parse_http_date(value).ok()?;
    Some(date.duration_since(now).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(status: u16, body: &str) -> Response<Bytes> {
        let mut answer = Response::new(Bytes::copy_from_slice(body.as_bytes()));
        *answer.status_mut() = StatusCode::from_u16(status).expect("a status");
        answer
    }

    fn rows(envelope: Envelope, status: u16, body: &str) -> Result<usize> {
        let at = RowsAt::OnlyListOf("data".into());
        parse_page(envelope, &at, &answer(status, body)).map(|page| page.len())
    }

    #[test]
    fn only_its_own_mark_makes_an_answer_a_success() {
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
    fn a_refusal_is_the_same_with_any_status() {
        let body = r#"{"ret_code":-7,"ret_msg":"no such","error":{"code":"invalid_symbol"}}"#;
        for status in [200, 400, 404, 500] {
            let error = rows(Envelope::RetCode, status, body).expect_err("refused");
            let api_failure = error.api_failure().expect("a refusal");
            assert_eq!(api_failure.class, FailureClass::InvalidSymbol);
            assert_eq!(api_failure.code, Some(-7));
            assert_eq!(api_failure.error_code.as_deref(), Some("invalid_symbol"));
        }
    }

    #[test]
    fn broken_answers_are_never_an_empty_list() {
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
            "{\"code\":0,\"data\":null}",
            "{\"code\":0,\"data\":{}}",
            "{\"code\":0,\"data\":[1]}",
            "{\"code\":0,\"data\":{\"a\":[],\"b\":[]}}",
            "{\"code\":0,\"data\":[{\"a\":\"\\ud800\"}]}",
            "{\"code\":0,\"data\":[{\"a\":NaN}]}",
        ] {
            let error = rows(Envelope::Code, 200, body).expect_err("broken");
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
