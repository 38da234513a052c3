//! Examples of every form of a response, each with its meaning: the table of `docs/responses.md`,
//! and the material of a test of the client's rules for reading responses.

/// One form of a response to some endpoints.
#[derive(Debug, Clone, Copy)]
pub struct Form {
    /// The endpoints.
    pub of: Of,
    /// The HTTP status.
    pub status: u16,
    /// The body; `…` stands for the name of the list of records.
    pub body: &'static str,
    /// The meaning.
    pub is: Outcome,
    /// The words of the service document, with their section; or the gap in the document.
    pub source: &'static str,
}

/// The endpoints to which a form applies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    /// Endpoints with these names.
    Named(&'static [&'static str]),
    /// Endpoints that return one response with records.
    Lists,
    /// Endpoints that return records, in one response or in pages.
    Records,
}

/// The meaning of a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// A success with this many records, or another success if there are none to count.
    Success(usize),
    /// A rejection or a protocol error: the name of the error's class.
    Error(&'static str),
}

const TABLE: Of = Of::Named(&["reference_futures", "ipo_list", "dividends"]);
const SIM: Of = Of::Named(&["sim_orders", "sim_positions"]);
const CRYPTO: Of = Of::Named(&["crypto_orders"]);
const FILLS: Of = Of::Named(&["fills_history"]);
const PLATE: Of = Of::Named(&["plate_stocks"]);
const DAYS: Of = Of::Named(&["trading_days"]);
const CLOCK: Of = Of::Named(&["server_time"]);
const OAUTH: Of = Of::Named(&["register", "token"]);

const fn form(of: Of, status: u16, body: &'static str, is: Outcome, source: &'static str) -> Form {
    Form { of, status, body, is, source }
}

const NOT_SHOWN: &str = "not shown";
const STATUS_NOT_SHOWN: &str = "7: \"Not shown: the HTTP status codes used\"";
const PROTOCOL: Outcome = Outcome::Error("ProtocolError");
const REJECTION: Outcome = Outcome::Error("ApiError");

/// Every form; forms of single endpoints come first.
pub const FORMS: &[Form] = &[
    form(
        CLOCK,
        200,
        r#"{"server_time_ms":"1790000000123"}"#,
        Outcome::Success(0),
        "2.3: `server_time_ms`, \"with no envelope\"",
    ),
    form(CLOCK, 200, r#"{"time":"1790000000123"}"#, PROTOCOL, NOT_SHOWN),
    form(
        TABLE,
        200,
        r#"{"ret_code":0,"ret_msg":"success","data":{"…":[{}]}}"#,
        Outcome::Success(1),
        "7: `{ret_code:0, ret_msg:'success', data}`",
    ),
    form(
        TABLE,
        200,
        r#"{"ret_code":-3,"ret_msg":"no","error":{"code":"invalid_parameter"}}"#,
        Outcome::Error("InvalidParameter"),
        "7: \"`ret_code` non-zero, with an `error.code` string\", and its table of codes",
    ),
    form(
        TABLE,
        200,
        r#"{"ret_code":-99,"ret_msg":"no"}"#,
        REJECTION,
        "7: \"`ret_code` non-zero\"; codes that are not in its table are not shown",
    ),
    form(
        SIM,
        200,
        r#"{"ret_code":0,"data":{"…":[{}]}}"#,
        Outcome::Success(1),
        "4.3: `{ret_code, data:{…}}`",
    ),
    form(
        SIM,
        200,
        r#"{"ret_code":-3,"ret_msg":"no"}"#,
        REJECTION,
        "7: \"Not shown: error codes of the simulated-trading endpoints\"",
    ),
    form(
        CRYPTO,
        200,
        r#"{"code":0,"msg":"success","data":{"…":[{}],"page_flag":"","completed":true}}"#,
        Outcome::Success(1),
        "7: `{code:0, msg:'success', data}`",
    ),
    form(
        CRYPTO,
        200,
        r#"{"code":1,"msg":"invalid token BTCX"}"#,
        REJECTION,
        "7: `{code:<nonzero int>, msg:<message>}`; an example \"uses `code` 1 with a message\"",
    ),
    form(
        FILLS,
        200,
        r#"{"s":"ok","d":{"…":[{}],"page_flag":"","completed":true}}"#,
        Outcome::Success(1),
        "7: `{s:'ok', d}`",
    ),
    form(
        FILLS,
        200,
        r#"{"s":"error","errcode":-1200,"errmsg":"no"}"#,
        REJECTION,
        "7: `{s:'error', errcode:<int>, errmsg:<message>}`",
    ),
    form(
        PLATE,
        200,
        r#"{"code":0,"data":[{}],"pagination":{"has_more":false,"next_key":"-1"}}"#,
        Outcome::Success(1),
        "7: `{code:0, data, pagination}`; the shape of `data` is not shown",
    ),
    form(PLATE, 200, r#"{"code":5,"msg":"no"}"#, REJECTION, "7: \"form not stated beyond code\""),
    form(
        DAYS,
        200,
        r#"["2026-01-02"]"#,
        Outcome::Success(1),
        "4.2: \"Response fields: not shown\"",
    ),
    form(DAYS, 200, r#"{"ret_code":0,"data":{"days":[{}]}}"#, Outcome::Success(1), NOT_SHOWN),
    form(DAYS, 200, r#"{"code":0,"data":["2026-01-02"]}"#, Outcome::Success(1), NOT_SHOWN),
    form(DAYS, 200, r#"{"s":"ok","d":{"days":[{}]}}"#, Outcome::Success(1), NOT_SHOWN),
    form(DAYS, 200, r#"{"data":["2026-01-02"]}"#, PROTOCOL, NOT_SHOWN),
    form(DAYS, 200, r#"{"ret_code":0,"data":null,"warnings":["x"]}"#, PROTOCOL, NOT_SHOWN),
    form(DAYS, 200, r#"{"ret_code":0,"data":[],"error_code":"x"}"#, PROTOCOL, NOT_SHOWN),
    form(
        OAUTH,
        200,
        r#"{"client_id":"c","access_token":"t","token_type":"Bearer"}"#,
        Outcome::Success(0),
        "2.1 and 2.2: `client_id`, `access_token`",
    ),
    form(
        OAUTH,
        400,
        r#"{"error":"invalid_client","error_description":"no"}"#,
        Outcome::Error("OAuthError"),
        "7: \"Not shown: error codes and bodies of the OAuth endpoints\"; the form is that of RFC 6749",
    ),
    form(
        Of::Lists,
        200,
        r#"{"ret_code":0,"data":{"…":[{}]},"pagination":{"has_more":true,"next_key":"k"}}"#,
        Outcome::Error("PaginationError"),
        "2.4: \"`has_more=false` is the only signal to stop paginating\"",
    ),
    form(
        Of::Lists,
        200,
        r#"{"ret_code":0,"data":{"…":[{}],"completed":false,"page_flag":"f"}}"#,
        Outcome::Error("PaginationError"),
        "2.4: \"`completed` … true means all data was returned\"",
    ),
    form(
        Of::Records,
        200,
        r#"{"ret_code":-12006,"ret_msg":"no"}"#,
        Outcome::Error("ClockSkewError"),
        "5.2: \"the service returns error code `-12006`\"; its envelope is not shown",
    ),
    form(
        Of::Records,
        200,
        r#"{"message":"the access token expired"}"#,
        Outcome::Error("AuthenticationError"),
        "5.2: \"Not shown: the error response for a failed or missing credential\"",
    ),
    form(
        Of::Records,
        200,
        r#"{"ret_code":5,"error":{"code":"rate_limited"}}"#,
        Outcome::Error("RateLimited"),
        "8: \"Rate limits, quotas and back-off strategy: not shown\"",
    ),
    form(Of::Records, 200, r#"{"message":"no"}"#, PROTOCOL, NOT_SHOWN),
    form(Of::Records, 200, "", PROTOCOL, NOT_SHOWN),
    form(Of::Records, 302, "", PROTOCOL, STATUS_NOT_SHOWN),
    form(Of::Records, 400, r#"{"title":"no","status":400}"#, REJECTION, STATUS_NOT_SHOWN),
    form(Of::Records, 404, "<html>no</html>", REJECTION, STATUS_NOT_SHOWN),
    form(Of::Records, 401, "", Outcome::Error("AuthenticationError"), STATUS_NOT_SHOWN),
    form(Of::Records, 403, "no", Outcome::Error("PermissionDenied"), STATUS_NOT_SHOWN),
    form(Of::Records, 429, "", Outcome::Error("RateLimited"), STATUS_NOT_SHOWN),
    form(Of::Records, 503, "", Outcome::Error("ServiceError"), STATUS_NOT_SHOWN),
];
