//! The rules applied to every form of a response in the table of docs/responses.md.

use ::http::{HeaderMap, Method, Response, StatusCode};
use bytes::Bytes;

use crate::{
    api::{ENDPOINTS, Endpoint, FORMS, Form, Of, Outcome, RecordsLocation, ResponseShape},
    decode::{parse_page, parse_registration, parse_server_time, parse_token_response},
    error::{Advice, Error, Result},
    http::{Body, RequestPlan},
    pages::RecordsCall,
};

fn response(status: u16, body: &str) -> Response<Bytes> {
    let mut response = Response::new(Bytes::copy_from_slice(body.as_bytes()));
    *response.status_mut() = StatusCode::from_u16(status).expect("a status");
    response
}

/// The methods that a form is about.
fn names(form: &Form) -> Vec<&'static str> {
    let is_meant = |endpoint: &&&Endpoint| {
        let has_records = matches!(endpoint.response, ResponseShape::Rows(..));
        has_records && (form.of == Of::Records || endpoint.paging.is_none())
    };
    match form.of {
        Of::Named(names) => names.to_vec(),
        _ => ENDPOINTS.iter().filter(is_meant).map(|endpoint| endpoint.name.as_ref()).collect(),
    }
}

/// The number of records in a response to this method.
fn read(name: &str, status: u16, body: &str) -> Result<usize> {
    let Some(endpoint) = crate::api::endpoint(name) else {
        let response = response(status, body);
        return match name {
            "register" => parse_registration(&response).map(|_| 0),
            _ => parse_token_response(&response).map(|_| 0),
        };
    };
    let ResponseShape::Rows(location, _) = &endpoint.response else {
        return parse_server_time(&response(status, body)).map(|_| 0);
    };
    let list = match location {
        RecordsLocation::At(path) => path.rsplit('.').next().expect("a name"),
        _ => "list",
    };
    let response = response(status, &body.replace('…', list));
    if endpoint.paging.is_some() {
        return parse_page(endpoint.contract(), location, &response).map(|page| page.len());
    }
    let request = RequestPlan::custom(Method::GET, "/x", Vec::new(), Body::None, HeaderMap::new());
    RecordsCall::of_location(request, endpoint.contract(), location.clone())
        .parse_whole(&response)
        .map(|page| page.len())
}

fn is(outcome: Outcome, read: &Result<usize>) -> bool {
    match (outcome, read) {
        (Outcome::Success(count), Ok(found)) => count == *found,
        (Outcome::Error(class), Err(error)) => class == error.class().name(),
        _ => false,
    }
}

#[test]
fn every_form_is_read_as_the_table_says() {
    for form in FORMS {
        for name in names(form) {
            let read = read(name, form.status, form.body);
            assert!(is(form.is, &read), "{name}: {form:?}: {:?}", read.map_err(|e| e.to_string()));
        }
    }
}

#[test]
fn every_method_has_a_form_of_success_of_rejection_and_of_neither() {
    let has = |name: &str, outcome: fn(Outcome) -> bool| {
        FORMS.iter().any(|form| outcome(form.is) && names(form).contains(&name))
    };
    let methods = ENDPOINTS.iter().map(|endpoint| endpoint.name.as_ref());
    for name in methods {
        assert!(has(name, |is| matches!(is, Outcome::Success(_))), "{name}");
        assert!(has(name, |is| is == Outcome::Error("ProtocolError")), "{name}");
    }
    for name in ENDPOINTS.iter().skip(1).map(|endpoint| endpoint.name.as_ref()) {
        assert!(has(name, |is| is == Outcome::Error("ServiceError")), "{name}");
    }
}

#[test]
fn marks_are_compared_as_json_values() {
    let rows = |body: &str| read("sim_orders", 200, body);
    for zero in ["0", "-0", "0.0", "-0.00", "0e0", "0E+5", "0.0e-99999"] {
        let body = format!(r#"{{"ret_code":{zero},"data":{{"orders":[{{}}]}}}}"#);
        assert!(matches!(rows(&body), Ok(1)), "{zero}: {:?}", rows(&body));
        let code = format!(r#"{{"\u0063ode" : {zero} ,"data":[{{}}]}}"#);
        assert!(matches!(read("plate_stocks", 200, &code), Ok(1)), "{zero}");
    }
    for ok in [r#""ok""#, r#""\u006fk""#, r#""o\u006B""#] {
        let body = format!(r#"{{"s":{ok},"d":{{"order_fills":[{{}}]}}}}"#);
        assert!(matches!(read("fills_history", 200, &body), Ok(1)), "{ok}");
    }
    for (other, class) in [
        ("1e-400", "ApiError"),
        ("0.5", "ApiError"),
        ("1e400", "ApiError"),
        ("-3.0", "ApiError"),
        ("18446744073709551616", "ApiError"),
        (r#""0""#, "ProtocolError"),
        ("false", "ProtocolError"),
        ("null", "ProtocolError"),
        ("[]", "ProtocolError"),
    ] {
        let body = format!(r#"{{"ret_code":{other},"data":{{"orders":[]}}}}"#);
        let error = rows(&body).expect_err(other);
        assert_eq!(error.class().name(), class, "{other}");
    }
    let error = rows(r#"{"ret_code":-3.0}"#).expect_err("a failure");
    assert_eq!(error.api_failure().and_then(|failure| failure.code), Some(-3));
}

#[test]
fn an_http_error_is_a_rejection_with_its_message_in_every_form() {
    for (body, message) in [
        (r#"{"message":"no such account"}"#, "no such account"),
        (r#"{"type":"about:blank","title":"Bad","detail":"no limit"}"#, "no limit"),
        (r#"{"type":"about:blank","title":"Bad"}"#, "Bad"),
        (r#"{"errors":[{"message":"boom"},{"message":"x"}]}"#, "boom"),
        (r#"{"errors":["boom"]}"#, "boom"),
        (r#"{"error":{"message":"boom"}}"#, "boom"),
        (r#"{"ret_code":0,"ret_msg":"success","data":{"orders":[]}}"#, "success"),
        (r#""no such account""#, "no such account"),
        (" no such account\n", "no such account"),
        ("<html>no</html>", ""),
        (r#"[{"message":"x"}]"#, ""),
        (r#"{"message":"cut"#, ""),
        ("", ""),
    ] {
        for (status, class) in [
            (400, "ApiError"),
            (401, "AuthenticationError"),
            (403, "PermissionDenied"),
            (404, "ApiError"),
            (409, "ApiError"),
            (422, "ApiError"),
            (429, "RateLimited"),
            (500, "ServiceError"),
            (503, "ServiceError"),
        ] {
            for name in ["sim_orders", "crypto_orders", "fills_history", "trading_days"] {
                let error: Error = read(name, status, body).expect_err(body);
                assert_eq!(error.class().name(), class, "{name} {status} {body}");
                let failure = error.api_failure().expect("a rejection");
                assert_eq!(failure.http_status, status);
                assert_eq!(failure.message, message, "{name} {status} {body}");
            }
        }
    }
}

#[test]
fn a_documented_failure_is_that_failure_whatever_its_words() {
    let words = "the access token expired";
    for (name, body, class) in [
        ("crypto_orders", r#"{"code":1,"msg":"@"}"#, "ApiError"),
        ("crypto_orders", r#"{"code":2,"msg":"@"}"#, "AuthenticationError"),
        ("fills_history", r#"{"s":"error","errcode":-1200,"errmsg":"@"}"#, "ApiError"),
        ("fills_history", r#"{"s":"error","errcode":-1,"errmsg":"@"}"#, "AuthenticationError"),
        ("dividends", r#"{"ret_code":-7,"ret_msg":"@"}"#, "InvalidSymbol"),
        ("dividends", r#"{"ret_code":-9,"ret_msg":"@"}"#, "AuthenticationError"),
        ("sim_orders", r#"{"ret_code":-11,"ret_msg":"too many requests"}"#, "ApiError"),
    ] {
        for status in [200, 400, 404] {
            let error = read(name, status, &body.replace('@', words)).expect_err(body);
            assert_eq!(error.class().name(), class, "{name} {status} {body}");
        }
    }
}

#[test]
fn a_signal_that_says_more_is_never_ignored_wherever_it_is() {
    for (body, name) in [
        (r#"{"ret_code":0,"data":{"orders":[{}]},"pagination":{"has_more":true}}"#, "sim_orders"),
        (r#"{"ret_code":0,"data":{"orders":[],"pagination":{"has_more":true}}}"#, "sim_orders"),
        (r#"{"ret_code":0,"data":{"orders":[],"has_more":true}}"#, "sim_orders"),
        (
            r#"{"completed":false,"ret_code":0,"data":{"orders":[{"completed":true}]}}"#,
            "sim_orders",
        ),
        (r#"{"ret_code":0,"data":{"orders":null,"\u0063ompleted":false}}"#, "sim_orders"),
        (r#"{"ret_code":0,"data":["2026-01-02"],"has_more":true}"#, "trading_days"),
        (r#"{"s":"ok","d":{"x":[{}],"completed":false}}"#, "trading_days"),
        (r#"{"ret_code":0,"x":[{}],"pagination":{"has_more":true}}"#, "trading_days"),
    ] {
        let error = read(name, 200, body).expect_err(body);
        assert_eq!(error.class().name(), "PaginationError", "{body}");
        assert!(error.to_string().contains("more records follow"), "{error}");
        let advised = error.advice.clone().expect("advice");
        assert!(
            matches!(&*advised, Advice::MorePages { method, path, .. } if method == "GET" && path == "/x"),
            "{advised:?}"
        );
    }
    for body in [
        r#"{"ret_code":0,"data":{"orders":[{"has_more":true}],"completed":true}}"#,
        r#"{"ret_code":0,"data":{"orders":[{}],"x":{"completed":false}},"pagination":{"has_more":false}}"#,
        r#"{"ret_code":0,"data":{"orders":[{}],"has_more":"true"},"pagination":null}"#,
    ] {
        assert!(matches!(read("sim_orders", 200, body), Ok(1)), "{body}");
    }
}

#[test]
fn no_trading_day_is_made_of_the_words_of_an_error() {
    for body in [
        r#"{"errors":[{"message":"boom"}]}"#,
        r#"{"message":"bad market","path":["trading-days"]}"#,
        r#"{"msg":"bad","allowed_markets":["US"]}"#,
        r#"{"ret_code":0,"data":null,"warnings":["x"]}"#,
        r#"{"ret_code":0,"data":{"days":null,"warnings":["x"]}}"#,
        r#"{"ret_code":0,"data":{"errors":[{"message":"boom"}]}}"#,
        r#"{"ret_code":0,"errors":[{"message":"boom"}]}"#,
        r#"{"ret_code":0,"data":{"days":{"list":["2026-01-02"]}}}"#,
        r#"{"ret_code":0,"data":{"a":["2026-01-02"],"b":["2026-01-02"]}}"#,
        r#"{"ret_code":0,"data":{}}"#,
        r#"{"ret_code":0,"data":"2026-01-02"}"#,
        r#"{"ret_code":0}"#,
        r#"{"success":false,"data":[]}"#,
        r#"{"ret_code":0,"success":false,"data":[]}"#,
        r#"{"status":"error","data":[]}"#,
        r#"{"error_code":"E1","data":[]}"#,
        r#"{"ret_code":0,"error_code":"E1","data":[]}"#,
        r#"{"error":"boom","list":[]}"#,
        r#"{"result":{"HK":["2026-01-02"]}}"#,
        r#"["error: bad market"]"#,
        r#""2026-01-02""#,
        "<html>",
        "{}",
        "1",
    ] {
        let error = read("trading_days", 200, body).expect_err(body);
        assert_eq!(error.class().name(), "ProtocolError", "{body}: {error}");
        assert!(error.hint().contains("client.request"), "{body}: {}", error.hint());
    }
    for (body, count) in [
        ("[]", 0),
        (r#"["2026-01-02","\u0032026-01-03",{"time":"x"},20260102]"#, 4),
        (r#"{"ret_code":0,"data":[]}"#, 0),
        (r#"{"ret_code":0,"data":null,"ret_msg":"success"}"#, 0),
        (r#"{"ret_code":0,"data":{"days":null,"n":0}}"#, 0),
        (r#"{"ret_code":0.0,"data":{"days":["2026-01-02"]},"warnings":[]}"#, 1),
        (r#"{"ret_code":0,"days":["2026-01-02"],"error":null,"success":true}"#, 1),
        (r#"{"code":0,"msg":"success","data":{"n":1,"days":[{}]}}"#, 1),
    ] {
        assert_eq!(read("trading_days", 200, body).expect(body), count, "{body}");
    }
}
