//! `docs/openapi.json`: the service as an OpenAPI 3.1 description, for clients in any language. It states what
//! the service document shows; what that does not show is left open.

use std::fmt::Write as _;

use boardlot_client::extension::{
    api::{
        CursorLocation, CursorPaging, ENDPOINTS, Endpoint, Envelope, Field, FirstPage, Kind,
        Member, Method, OAUTH_ENDPOINTS, Parameter, ParameterKind, ParameterLocation, Record,
        RecordsLocation, ResponseShape, SCOPES, Schema, TimeUnit, Value, ValueSet, Wire,
    },
    error::CLOCK_OFFSET_CODE,
};
use indexmap::IndexMap;
use serde::Serialize;

/// A JSON value whose members stay in their order.
#[derive(Debug, Clone, Serialize)]
#[serde(untagged)]
pub enum Node {
    Text(String),
    Number(i128),
    Flag(bool),
    List(Vec<Node>),
    Object(Object),
}

/// A JSON object whose members stay in their order.
#[derive(Debug, Clone, Default, Serialize)]
#[serde(transparent)]
pub struct Object(pub IndexMap<String, Node>);

impl Object {
    fn with(mut self, name: &str, value: impl Into<Node>) -> Self {
        self.0.insert(name.to_owned(), value.into());
        self
    }

    /// With a member, unless it is empty.
    fn with_text(self, name: &str, value: &str) -> Self {
        if value.is_empty() { self } else { self.with(name, value) }
    }
}

impl From<&str> for Node {
    fn from(text: &str) -> Self {
        Node::Text(text.to_owned())
    }
}

impl From<String> for Node {
    fn from(text: String) -> Self {
        Node::Text(text)
    }
}

impl From<i128> for Node {
    fn from(number: i128) -> Self {
        Node::Number(number)
    }
}

impl From<bool> for Node {
    fn from(flag: bool) -> Self {
        Node::Flag(flag)
    }
}

impl From<Object> for Node {
    fn from(object: Object) -> Self {
        Node::Object(object)
    }
}

impl<T: Into<Node>> From<Vec<T>> for Node {
    fn from(items: Vec<T>) -> Self {
        Node::List(items.into_iter().map(Into::into).collect())
    }
}

impl<T: Into<Node>, const N: usize> From<[T; N]> for Node {
    fn from(items: [T; N]) -> Self {
        Node::List(items.into_iter().map(Into::into).collect())
    }
}

fn object() -> Object {
    Object::default()
}

fn typed(kind: &str) -> Object {
    object().with("type", kind)
}

fn reference(name: &str) -> Object {
    object().with("$ref", format!("#/components/schemas/{name}"))
}

const ABOUT: &str = "Securities market data, trading data and OAuth 2.1, over HTTP and JSON. Section numbers are \
those of the service's documentation; what it does not show is left open here.

**Success.** The HTTP statuses are not shown (section 7), so `2XX` stands for those of a success. A response is a \
success only if its body has the success mark of its endpoint: `ret_code` 0, `code` 0 or `s` \"ok\". `ErrorCode` has the \
numbers that are shown for failures, so that types tell a failure from a success by the mark; a failure with another \
number has the same form, and `default` allows all of them.

**Values.** A security is `{market}.{code}`. Most times are Unix timestamps in milliseconds, some in seconds or \
microseconds: `x-unit` says which. `x-kind` `decimal` is a decimal number in a string, and `date` a date, whose form \
`x-form` states. Ratios are percentages: 1.23 means 1.23 %. Ids are text: as numbers, those of 64 bits would be rounded \
by some languages. An object may have members that are not described here.

**Pages.** `x-paging` of an operation names its cursor, where the next one is in a response, and the flag that ends \
the list; nothing else ends it, not an empty page either. A cursor is opaque and passed back unchanged. The link \
`next` is the same in OpenAPI's words, with all parameters of the request.

**Not described:** the WebSocket addresses, and the endpoints whose paths are not shown \
(`get_capital_flow_history`, `request_history_kline`).";

const SIGNATURE: &str = "A request signed with an application key (section 5.2). OpenAPI has no such scheme, so here \
it is in words. Four headers are sent:

- `X-Api-Key`: the id of the key.
- `X-Timestamp`: the time in milliseconds since 1970.
- `X-Nonce`: a random string of 1 to 64 letters, digits, `_` and `-`, another one for each request.
- `Authorization`: the signature in Base64, without `Bearer`.

Five fields, joined by line feeds, are signed; an empty one keeps its line feed: the value of `X-Timestamp`; the \
method in upper case; the path, without domain and query; the query as it is sent, without `?`; and the SHA-256 of the \
raw body in lower-case hex, or nothing without a body. The algorithm is Ed25519, over these bytes, or RSA-SHA256 \
(PKCS#1 v1.5). If the two clocks differ by more than a threshold, by default 5 seconds, the service returns the error \
code -12006; `server_time` is its clock.";

/// The groups of operations by their sections.
const TAGS: [(&str, &str, &str); 3] = [
    ("4.2", "quote", "Quote and utility endpoints"),
    ("4.3", "trading", "Trading endpoints"),
    ("4.1", "oauth", "OAuth 2.1 with PKCE"),
];

/// Words of the service document for which the row of an endpoint has those of the client, and the service's
/// defaults, which the client does not need.
struct Shown {
    endpoint: &'static str,
    notes: &'static str,
    parameters: &'static [(&'static str, &'static str)],
    defaults: &'static [(&'static str, i128)],
}

const SHOWN: &[Shown] = &[
    Shown {
        endpoint: "server_time",
        notes: "Signed requests are rejected if the two clocks differ by more than a threshold, by default 5 \
                seconds. That this request needs credentials is not shown.",
        parameters: &[],
        defaults: &[],
    },
    Shown {
        endpoint: "trading_days",
        notes: "The response is not shown.",
        parameters: &[("start", "Start date, `YYYY-MM-DD`."), ("end", "End date, `YYYY-MM-DD`.")],
        defaults: &[],
    },
    Shown {
        endpoint: "reference_futures",
        notes: "Supported markets are HK, US, SG and JP, and the input is a continuous futures contract. A symbol \
                that is not a future, or of a market without futures (such as AU, CA, SH, SZ and MY), returns an \
                empty list.",
        parameters: &[("symbol", "Typically a continuous futures contract code.")],
        defaults: &[],
    },
    Shown {
        endpoint: "plate_stocks",
        notes: "The fields of a constituent, and the default and the bounds of `limit`, are not shown.",
        parameters: &[
            (
                "next_key",
                "Empty for the first page; then `pagination.next_key` of the page before.",
            ),
            ("limit", "Page size."),
        ],
        defaults: &[],
    },
    Shown {
        endpoint: "crypto_orders",
        notes: "Open are the four states of `CryptoOrderStatus`. The unit of the times is not shown.",
        parameters: &[
            ("acc_id", "Account id, a uint64 in decimal digits."),
            ("page_size", "Orders in a page: at most 50, by default 50."),
            ("page_flag", "Omitted for the first page; then that of the page before."),
        ],
        defaults: &[("page_size", 50)],
    },
    Shown {
        endpoint: "fills_history",
        notes: "Which range is read: `start` and `end`, if both are greater than 0; with `end` alone, from 90 \
                days before it; with `start` alone, to 90 days after it; with both 0, the 90 days until the \
                current date. The values of `trd_market` are not shown.",
        parameters: &[
            (
                "start",
                "Start of the update time, in microseconds since 1970. Without it, or with 0: 90 days before `end`.",
            ),
            (
                "end",
                "End of the update time, in microseconds since 1970, after `start`. Without it, or with 0: 90 days \
                 after `start`, or the current date if there is no `start` either.",
            ),
            ("page_flag", "Empty for the first page; then that of the page before."),
            ("page_size", "Fills in a page: 10 to 50, by default 50."),
        ],
        defaults: &[("page_size", 50)],
    },
    Shown {
        endpoint: "authorize",
        notes: "On success the browser is sent to `redirect_uri` with `code` and `state`. The code is valid for 5 \
                minutes (300 s), and once.",
        parameters: &[
            ("code_challenge", "BASE64URL(SHA256(code_verifier)): 43 characters."),
            ("redirect_uri", "Exactly one of the registered `redirect_uris`."),
            ("state", "A random string of the caller, which the callback returns unchanged."),
        ],
        defaults: &[],
    },
    Shown {
        endpoint: "token",
        notes: "A code is exchanged within 5 minutes (300 s) and once, with the `redirect_uri` of the authorization \
                and the original `code_verifier`; after that, the authorization starts again. A refresh returns \
                no `refresh_token`: the one of the code exchange stays valid. Its lifetime is not shown.",
        parameters: &[
            ("code", "The authorization code: valid for 5 minutes (300 s), and once."),
            ("redirect_uri", "Exactly as in the authorization."),
            ("code_verifier", "The string whose hash was the `code_challenge`."),
            ("refresh_token", "Of the code exchange. It is not rotated."),
            ("client_secret", "Required if the client was registered with `client_secret_post`."),
        ],
        defaults: &[],
    },
];

/// The only value of a field, for which the document says "fixed" (sections 2.1, 2.2 and 2.9).
const FIXED: [(&str, &str, Fixed); 4] = [
    ("RelatedFuture", "stock_type", Fixed::Text("FUTURE")),
    ("RelatedFuture", "future_valid", Fixed::True),
    ("AccessToken", "token_type", Fixed::Text("Bearer")),
    ("OAuthClient", "pkce_required", Fixed::True),
];

enum Fixed {
    Text(&'static str),
    True,
}

/// The values of the lists of a registration (section 2.1).
const LISTS: [(&str, &[&str]); 2] =
    [("grant_types", &["authorization_code", "refresh_token"]), ("response_types", &["code"])];

/// Ids of decimal digits, as text.
const DIGITS: &str = "^[0-9]+$";
/// A uint64 in decimal digits.
const UINT64_DIGITS: &str = "^[0-9]{1,20}$";
/// Ids of whatever characters.
const OPAQUE: &str = r"^\S+$";
/// The ids of the records that are digits.
const IDS_OF_DIGITS: [&str; 3] = ["order_id", "deal_id", "pstn_id"];
/// The other ids of the records.
const OPAQUE_IDS: [&str; 2] = ["order_show_id", "client_id"];

/// The most dividends of a security (section 8).
const DIVIDENDS_MAX: i128 = 100;

/// The defaults of the sets of request types.
const REQUEST_DEFAULTS: [(&str, i128); 2] = [("IpoRequest", 11), ("CnIpoRequest", 4)];

/// The grants of the token endpoint with the parameters that each requires and allows (section 4.1).
const GRANTS: [(&str, &str, &[&str], &[&str]); 2] = [
    (
        "AuthorizationCodeGrant",
        "authorization_code",
        &["code", "client_id", "redirect_uri", "code_verifier"],
        &[],
    ),
    ("RefreshTokenGrant", "refresh_token", &["refresh_token", "client_id"], &["client_secret"]),
];

/// The header that the document shows in examples of this endpoint (section 4.2).
const EXAMPLE_HEADER: (&str, &str, &str) = (
    "plate_stocks",
    "X-Service-Client-Nnid",
    "A numeric string, shown in examples of requests; that it is required is not shown.",
);

/// The description, as indented JSON.
pub fn text() -> String {
    let mut text = serde_json::to_string_pretty(&description()).unwrap_or_default();
    text.push('\n');
    text
}

/// The whole description.
pub fn description() -> Object {
    let mut schemas = Schemas::default();
    let paths = paths(&mut schemas);
    object()
        .with("openapi", "3.1.0")
        .with(
            "info",
            object()
                .with("title", "Market data, trading and authorization service")
                .with("version", env!("CARGO_PKG_VERSION"))
                .with("description", ABOUT),
        )
        .with("servers", [object().with("url", "/").with("description", "The service's address.")])
        .with("security", credentials())
        .with(
            "tags",
            TAGS.map(|(_, name, doc)| object().with("name", name).with("description", doc)),
        )
        .with("paths", paths)
        .with(
            "components",
            object().with("schemas", Object(schemas.0)).with("securitySchemes", security_schemes()),
        )
}

/// The schemas by name, in the order of their first use.
#[derive(Default)]
struct Schemas(IndexMap<String, Node>);

impl Schemas {
    /// Adds a schema once, and returns a reference to it.
    fn add(&mut self, name: &str, schema: impl FnOnce(&mut Self) -> Object) -> Object {
        if !self.0.contains_key(name) {
            let schema = schema(self);
            self.0.insert(name.to_owned(), schema.into());
        }
        reference(name)
    }

    fn value_set(&mut self, set: &ValueSet) -> Object {
        self.add(set.name, |_| value_set(set))
    }

    fn record(&mut self, record: &Record) -> Object {
        self.add(record.name, |schemas| {
            let described = described(record.doc, record.section);
            fields(schemas, record.name, record.fields()).with("description", described)
        })
    }
}

fn described(doc: &str, section: &str) -> String {
    format!("{doc} Section {section}.")
}

/// Any of the two ways to authenticate.
fn credentials() -> Node {
    let none: [&str; 0] = [];
    [object().with("oauth", none), object().with("signature", none)].into()
}

fn security_schemes() -> Object {
    let scopes = SCOPES.iter().fold(object(), |scopes, scope| {
        let about = if *scope == "accid:*" { "All accounts; `accid:<acc_id>` is one." } else { "" };
        scopes.with(scope, about)
    });
    let flow = object()
        .with("authorizationUrl", "/oauth2/authorize/confirm")
        .with("tokenUrl", "/oauth2/token")
        .with("refreshUrl", "/oauth2/token")
        .with("scopes", scopes);
    let oauth = object()
        .with("type", "oauth2")
        .with(
            "description",
            "An access token as `Authorization: Bearer` (section 5.1). The code flow always uses PKCE with \
             S256. Which scope each endpoint requires is not shown.",
        )
        .with("flows", object().with("authorizationCode", flow));
    let signature = object()
        .with("type", "apiKey")
        .with("in", "header")
        .with("name", "X-Api-Key")
        .with("description", SIGNATURE);
    object().with("oauth", oauth).with("signature", signature)
}

/// The operations. A path parameter that selects a record is written out: the document calls each of its
/// values an endpoint of its own.
fn paths(schemas: &mut Schemas) -> Object {
    let mut paths = object();
    for endpoint in ENDPOINTS.iter().chain(OAUTH_ENDPOINTS) {
        let variants = match &endpoint.response {
            ResponseShape::Rows(_, Schema::By(parameter, records)) => {
                records.iter().map(|(value, record)| Some((*parameter, *value, *record))).collect()
            }
            _ => vec![None],
        };
        for variant in variants {
            let operation = Operation { endpoint, variant };
            let method = endpoint.method.as_str().to_ascii_lowercase();
            paths =
                paths.with(&operation.path(), object().with(&method, operation.describe(schemas)));
        }
    }
    paths
}

/// One operation: an endpoint, or one value of its parameter that selects the record.
struct Operation {
    endpoint: &'static Endpoint,
    variant: Option<(&'static str, &'static str, &'static Record)>,
}

impl Operation {
    fn path(&self) -> String {
        match self.variant {
            Some((parameter, value, _)) => {
                self.endpoint.path.replace(&format!("{{{parameter}}}"), value)
            }
            None => self.endpoint.path.to_string(),
        }
    }

    fn name(&self) -> String {
        match self.variant {
            Some((_, value, _)) => format!("{}_{value}", self.endpoint.name),
            None => self.endpoint.name.to_string(),
        }
    }

    fn shown(&self) -> Option<&'static Shown> {
        SHOWN.iter().find(|shown| shown.endpoint == self.endpoint.name)
    }

    fn is_oauth(&self) -> bool {
        OAUTH_ENDPOINTS.iter().any(|endpoint| std::ptr::eq(*endpoint, self.endpoint))
    }

    fn describe(&self, schemas: &mut Schemas) -> Object {
        let endpoint = self.endpoint;
        let notes = self.shown().map_or(endpoint.notes, |shown| shown.notes);
        let mut text = format!("{notes}\n\nSection {}.", endpoint.section).trim_start().to_owned();
        if !endpoint.failures.is_empty() {
            text += "\n\nDocumented failures:\n";
        }
        for failure in endpoint.failures {
            let name = match failure.error_code {
                "" => String::new(),
                name => format!(" `{name}`"),
            };
            let _ = write!(text, "\n- {}{name}: {}", failure.code, failure.condition);
        }
        let tag = TAGS.iter().find(|(section, ..)| *section == endpoint.section);
        let mut out = object()
            .with("operationId", self.name())
            .with("tags", tag.map(|(_, name, _)| *name).into_iter().collect::<Vec<_>>())
            .with("summary", endpoint.summary)
            .with("description", text);
        let parameters = self.parameters(schemas);
        if !parameters.is_empty() {
            out = out.with("parameters", parameters);
        }
        if let Some(body) = self.request_body(schemas) {
            out = out.with("requestBody", body);
        }
        out = out.with("responses", self.responses(schemas));
        if self.is_oauth() {
            let none: [Object; 0] = [];
            out = out.with("security", none);
        } else if matches!(endpoint.response, ResponseShape::ServerTime(_)) {
            let Node::List(mut either) = credentials() else { return out };
            either.insert(0, object().into());
            out = out.with("security", either);
        }
        match endpoint.cursor_paging() {
            Some(paging) => out.with("x-paging", paging_words(endpoint, paging)),
            None => out,
        }
    }

    fn parameters(&self, schemas: &mut Schemas) -> Vec<Object> {
        let mut parameters = Vec::new();
        for parameter in self.endpoint.parameters.iter() {
            let place = match parameter.place {
                ParameterLocation::Path => "path",
                ParameterLocation::Query => "query",
                ParameterLocation::Body | ParameterLocation::Form => continue,
            };
            if self.variant.is_some_and(|(name, ..)| name == parameter.name) {
                continue;
            }
            parameters.push(
                object()
                    .with("name", &*parameter.name)
                    .with("in", place)
                    .with("required", parameter.required)
                    .with("description", self.parameter_doc(parameter))
                    .with("schema", self.parameter_schema(schemas, parameter)),
            );
        }
        let (endpoint, header, doc) = EXAMPLE_HEADER;
        if endpoint == self.endpoint.name {
            parameters.push(
                object()
                    .with("name", header)
                    .with("in", "header")
                    .with("required", false)
                    .with("description", doc)
                    .with("schema", typed("string").with("pattern", "^[0-9]+$")),
            );
        }
        parameters
    }

    fn parameter_doc(&self, parameter: &Parameter) -> String {
        let words = self.shown().into_iter().flat_map(|shown| shown.parameters);
        let own = words.into_iter().find(|(name, _)| *name == parameter.name);
        if let (ParameterKind::ValuesBy { sets, .. }, Some((_, market, _))) =
            (parameter.kind, self.variant)
        {
            let set = sets.iter().find(|(name, _)| *name == market);
            return set.map_or(String::new(), |(_, set)| meanings(set));
        }
        own.map_or(parameter.doc, |(_, doc)| doc).to_owned()
    }

    /// The values of a parameter that the document allows; a rule of the client's own is none.
    fn parameter_schema(&self, schemas: &mut Schemas, parameter: &Parameter) -> Object {
        let defaults = self.shown().into_iter().flat_map(|shown| shown.defaults);
        let default =
            defaults.into_iter().find(|(name, _)| *name == parameter.name).map(|(_, value)| *value);
        let schema = match parameter.kind {
            ParameterKind::Symbol { max } => {
                let schema = typed("string").with("pattern", r"^[^.]+\..+$");
                match max {
                    Some(max) => schema.with("maxLength", max as i128),
                    None => schema,
                }
            }
            ParameterKind::PlateCode => typed("string").with("pattern", r"^[^.]+\.BK[0-9]+$"),
            ParameterKind::OneOf(words) => typed("string").with("enum", words.to_vec()),
            ParameterKind::ValuesBy { sets, .. } => {
                let market = self.variant.map_or("", |(_, market, _)| market);
                match sets.iter().find(|(name, _)| *name == market) {
                    Some((_, set)) => {
                        let default = REQUEST_DEFAULTS.iter().find(|(name, _)| *name == set.name);
                        let schema = schemas.value_set(set);
                        return match default {
                            Some((_, default)) => schema.with("default", *default),
                            None => schema,
                        };
                    }
                    None => typed("integer"),
                }
            }
            ParameterKind::AccountNumber => typed("string").with("pattern", UINT64_DIGITS),
            ParameterKind::AccountId => typed("string").with("pattern", DIGITS),
            ParameterKind::Time(unit) => {
                uint64().with("x-kind", "timestamp").with("x-unit", unit_symbol(unit))
            }
            ParameterKind::Integer { max, .. } if max >= i128::from(i32::MAX) => typed("integer"),
            // That a page has at least one row is not shown: without it, it would never end.
            ParameterKind::Integer { min, max } => {
                typed("integer").with("minimum", min).with("maximum", max)
            }
            ParameterKind::Date => {
                typed("string").with("format", "date").with("x-form", "YYYY-MM-DD")
            }
            ParameterKind::TextList => {
                let values = LISTS.iter().find(|(name, _)| *name == parameter.name);
                let items = typed("string");
                let items = match values {
                    Some((_, values)) => items.with("enum", values.to_vec()),
                    None => items,
                };
                typed("array").with("items", items)
            }
            ParameterKind::Number => typed("number"),
            ParameterKind::Flag => typed("boolean"),
            ParameterKind::Json => object(),
            ParameterKind::FreeText if OPAQUE_IDS.contains(&&*parameter.name) => {
                typed("string").with("pattern", OPAQUE)
            }
            ParameterKind::Market
            | ParameterKind::Decimal
            | ParameterKind::FreeText
            | ParameterKind::Segment
            | ParameterKind::Text
            | ParameterKind::Secret
            | ParameterKind::Cursor => typed("string"),
        };
        match default {
            Some(default) => schema.with("default", default),
            None => schema,
        }
    }

    fn request_body(&self, schemas: &mut Schemas) -> Option<Object> {
        let place = match self.endpoint.method {
            Method::Get => return None,
            Method::Post => self.endpoint.parameters.iter().find(|parameter| {
                matches!(parameter.place, ParameterLocation::Body | ParameterLocation::Form)
            })?,
        }
        .place;
        let (media_type, schema) = match place {
            ParameterLocation::Form => {
                let grants =
                    GRANTS.map(|grant| schemas.add(grant.0, |schemas| self.grant(schemas, grant)));
                ("application/x-www-form-urlencoded", object().with("oneOf", grants))
            }
            _ => {
                let name = format!("{}Request", camel(&self.name()));
                ("application/json", schemas.add(&name, |schemas| self.members(schemas)))
            }
        };
        let content = object().with(media_type, object().with("schema", schema));
        Some(object().with("required", true).with("content", content))
    }

    /// The JSON body of a request.
    fn members(&self, schemas: &mut Schemas) -> Object {
        let mut properties = object();
        let mut required = Vec::new();
        for parameter in self.endpoint.parameters.iter() {
            if parameter.place != ParameterLocation::Body {
                continue;
            }
            let schema = self.parameter_schema(schemas, parameter);
            let schema = schema.with("description", self.parameter_doc(parameter));
            properties = properties.with(&parameter.name, schema);
            if parameter.required {
                required.push(&*parameter.name);
            }
        }
        let out = typed("object").with("properties", properties);
        if required.is_empty() { out } else { out.with("required", required) }
    }

    /// The form of one grant.
    fn grant(
        &self,
        schemas: &mut Schemas,
        (_, grant, required, allowed): (&str, &str, &[&str], &[&str]),
    ) -> Object {
        let kind = typed("string").with("const", grant);
        let mut properties = object().with("grant_type", kind);
        for name in required.iter().chain(allowed) {
            if let Some(parameter) = self.endpoint.parameter(name) {
                let schema = self.parameter_schema(schemas, parameter);
                let doc = self.parameter_doc(parameter);
                properties = properties.with(name, schema.with("description", doc));
            }
        }
        let required: Vec<&str> = ["grant_type"].iter().chain(required).copied().collect();
        typed("object").with("properties", properties).with("required", required)
    }

    fn responses(&self, schemas: &mut Schemas) -> Object {
        let name = camel(&self.name());
        let content = match &self.endpoint.response {
            ResponseShape::Page => {
                object().with("text/html", object().with("schema", typed("string")))
            }
            ResponseShape::Object(record) => json_content(self.client_record(schemas, record)),
            ResponseShape::ServerTime(field) => json_content(schemas.add(&name, |_| {
                let time = typed("string")
                    .with("description", "The service's clock, in milliseconds since 1970.")
                    .with("pattern", DIGITS)
                    .with("x-kind", "timestamp")
                    .with("x-unit", "ms");
                object_with(object().with(field, time), [*field].into())
            })),
            ResponseShape::Rows(location, schema) => {
                let record = match (self.variant, schema) {
                    (Some((_, _, record)), _) => Some(record),
                    (None, Schema::One(record)) => Some(*record),
                    _ => None,
                };
                match location {
                    RecordsLocation::OnlyList => json_content(object()),
                    RecordsLocation::At(path) => {
                        let (holder, list) = path.split_once('.').unwrap_or(("", path));
                        let data = self.data(schemas, list, record);
                        json_content(self.envelope(schemas, &name, holder, data))
                    }
                    RecordsLocation::OnlyListOf(holder) => {
                        let open = object().with("description", "Its shape is not shown.");
                        json_content(self.envelope(schemas, &name, holder, open))
                    }
                }
            }
        };
        let about = match self.endpoint.response {
            ResponseShape::Page => {
                "The page. On success the browser is redirected to `redirect_uri` with the query parameters \
                 `code` and `state`; the caller compares `state` with its own."
            }
            ResponseShape::Rows(RecordsLocation::OnlyList, _) => "Not shown.",
            ResponseShape::Rows(..) => "A success, or a failure in the same envelope.",
            _ => "A success.",
        };
        let mut success = object().with("description", about).with("content", content);
        if let Some(link) = self.next_page() {
            success = success.with("links", object().with("next", link));
        }
        let any =
            object().with("description", "Any other response: statuses and bodies are not shown.");
        let any = match self.any_failure(schemas) {
            Some(failure) => any.with("content", json_content(failure)),
            None => any,
        };
        object().with("2XX", success).with("default", any)
    }

    /// A failure with whatever code, in the endpoint's envelope. That it has more than its mark is not shown:
    /// neither are the responses for a failed or missing credential.
    fn any_failure(&self, schemas: &mut Schemas) -> Option<Object> {
        let (name, mark) = match self.endpoint.envelope {
            _ if !matches!(self.endpoint.response, ResponseShape::Rows(..)) => return None,
            Envelope::Status => ("StatusError", "s"),
            Envelope::Code => ("CodeError", "code"),
            Envelope::RetCode => ("RetCodeError", "ret_code"),
            _ => return None,
        };
        let nonzero = typed("integer").with("not", object().with("const", 0_i128));
        Some(schemas.add(name, |_| {
            let properties = match mark {
                "s" => status_failure(),
                "code" => object().with("code", nonzero).with("msg", message()),
                _ => ret_code_failure(nonzero),
            };
            let about =
                format!("A failure in the envelope of `{mark}`, with whatever code. Section 7.");
            object_with(properties, [mark].into()).with("description", about)
        }))
    }

    /// A success or a failure of this envelope; `data` is the schema of its member `holder`.
    fn envelope(&self, schemas: &mut Schemas, name: &str, holder: &str, data: Object) -> Object {
        let endpoint = self.endpoint;
        let zero = typed("integer").with("const", 0_i128);
        let is_shown = !endpoint.failures.is_empty();
        let success_message = typed("string").with("description", "`success`.");
        // "Form not stated beyond code", and those of simulated trading are not shown.
        let required = |mark: &'static str, more: &'static str| -> Node {
            if is_shown { [mark, more].into() } else { [mark].into() }
        };
        let (mark, mut success, failure) = match endpoint.envelope {
            Envelope::Status => (
                "s",
                object().with("s", typed("string").with("const", "ok")),
                object_with(status_failure(), ["s", "errcode", "errmsg"].into()),
            ),
            Envelope::Code => {
                let code = schemas.add("ErrorCode", |_| error_code());
                let failure = object().with("code", code);
                let success = object().with("code", zero);
                let (success, failure) = match is_shown {
                    true => (success.with("msg", success_message), failure.with("msg", message())),
                    false => (success, failure),
                };
                ("code", success, object_with(failure, required("code", "msg")))
            }
            _ => {
                let code = schemas.add("ErrorCode", |_| error_code());
                let success = object().with("ret_code", zero);
                let (success, failure) = match is_shown {
                    true => (success.with("ret_msg", success_message), ret_code_failure(code)),
                    false => (success, object().with("ret_code", code)),
                };
                ("ret_code", success, object_with(failure, required("ret_code", "error")))
            }
        };
        success = success.with(holder, data);
        let mut required = vec![mark, holder];
        if let Some(paging) = endpoint.cursor_paging()
            && paging.location == CursorLocation::Pagination
        {
            success = success.with("pagination", schemas.add("Pagination", |_| pagination(paging)));
            required.push("pagination");
        }
        let success_name = format!("{name}Success");
        let success = schemas.add(&success_name, |_| object_with(success, required.into()));
        let failure = schemas.add(&format!("{name}Failure"), |_| failure);
        object().with("anyOf", [success, failure])
    }

    /// The object with the list, and what is documented beside it.
    fn data(&self, schemas: &mut Schemas, list: &str, record: Option<&Record>) -> Object {
        let items = record.map_or_else(object, |record| schemas.record(record));
        let rows = typed("array").with("items", items);
        let rows = match self.endpoint.name.as_ref() {
            "dividends" => rows.with("maxItems", DIVIDENDS_MAX),
            _ => rows,
        };
        let mut properties = object().with(list, rows);
        let mut required = vec![list.to_owned()];
        for field in self.endpoint.beside {
            properties = properties.with(&field.name, field_schema(schemas, "", field));
            required.push(field.name.to_string());
        }
        if let Some(paging) = self.endpoint.cursor_paging()
            && paging.location == CursorLocation::BesideRows
        {
            let (flag, at_end) = paging.end;
            let cursor = typed("string").with("description", "Cursor of the next page.");
            let end = format!("{at_end}: this is the last page.");
            let flag_schema = typed("boolean").with("description", end);
            properties = properties.with(paging.name, cursor).with(flag, flag_schema);
            required.extend([paging.name.to_owned(), flag.to_owned()]);
        }
        object_with(properties, required.into())
    }

    /// The record of an OAuth endpoint. Fields that a request sends as a list come back as one.
    fn client_record(&self, schemas: &mut Schemas, record: &Record) -> Object {
        schemas.add(record.name, |schemas| {
            let mut out = fields(schemas, record.name, record.fields());
            if let Some(Node::Object(properties)) = out.0.get_mut("properties") {
                for (name, property) in &mut properties.0 {
                    let parameter = self.endpoint.parameter(name);
                    let list = parameter
                        .filter(|parameter| matches!(parameter.kind, ParameterKind::TextList));
                    if let (Some(parameter), Node::Object(property)) = (list, property) {
                        property
                            .0
                            .extend(self.parameter_schema(&mut Schemas::default(), parameter).0);
                    }
                }
            }
            out.with("description", described(record.doc, record.section))
        })
    }

    /// The request for the next page, as a link.
    fn next_page(&self) -> Option<Object> {
        let paging = self.endpoint.cursor_paging()?;
        let link = object().with("operationId", self.name());
        let next =
            format!("$response.body#/{}", cursor_path(self.endpoint, paging).replace('.', "/"));
        let mut parameters = object();
        let mut body = object();
        for parameter in self.endpoint.parameters.iter() {
            let is_cursor = matches!(parameter.kind, ParameterKind::Cursor);
            let (place, name) = match parameter.place {
                ParameterLocation::Path => ("path", &parameter.name),
                ParameterLocation::Query => ("query", &parameter.name),
                ParameterLocation::Body => {
                    let same = format!("$request.body#/{}", parameter.name);
                    body = body.with(&parameter.name, if is_cursor { next.clone() } else { same });
                    continue;
                }
                ParameterLocation::Form => continue,
            };
            let same = format!("$request.{place}.{name}");
            let value = if is_cursor { next.clone() } else { same };
            parameters = parameters.with(&format!("{place}.{name}"), value);
        }
        let (endpoint, header, _) = EXAMPLE_HEADER;
        if endpoint == self.endpoint.name {
            let same = format!("$request.header.{header}");
            parameters = parameters.with(&format!("header.{header}"), same);
        }
        let link = link.with("parameters", parameters);
        let link = if body.0.is_empty() { link } else { link.with("requestBody", body) };
        let (flag, at_end) = paging.end;
        Some(link.with("description", format!("The next page, unless `{flag}` is {at_end}.")))
    }
}

fn json_content(schema: Object) -> Object {
    object().with("application/json", object().with("schema", schema))
}

/// An object with at least these members. `additionalProperties` is left out, which allows others: stated, it would make
/// every misspelt name valid in TypeScript.
fn object_with(properties: Object, required: Node) -> Object {
    typed("object").with("properties", properties).with("required", required)
}

/// The message of a failure.
fn message() -> Object {
    typed("string").with("description", "The error's message.")
}

/// A failure in the envelope of `s`.
fn status_failure() -> Object {
    object()
        .with("s", typed("string").with("const", "error"))
        .with("errcode", typed("integer").with("description", "The error's code, such as -1200."))
        .with("errmsg", message())
}

/// A failure in the envelope of `ret_code`.
fn ret_code_failure(code: Object) -> Object {
    let name = typed("string").with("description", "Such as `invalid_parameter`.");
    object()
        .with("ret_code", code)
        .with("ret_msg", message())
        .with("error", object_with(object().with("code", name), ["code"].into()))
}

/// The numbers of failures that the service document shows for any endpoint. A type without 0 is what tells a failure
/// from a success: no language has one for all numbers but 0.
fn error_code() -> Object {
    let shown = ENDPOINTS.iter().filter(|endpoint| !matches!(endpoint.envelope, Envelope::Status));
    let mut codes: Vec<i64> =
        shown.flat_map(|endpoint| endpoint.failures).map(|failure| failure.code).collect();
    codes.push(CLOCK_OFFSET_CODE);
    codes.sort_unstable_by_key(|code| (code.abs(), *code));
    codes.dedup();
    let codes: Vec<Node> = codes.into_iter().map(|code| Node::Number(code.into())).collect();
    typed("integer").with("enum", codes).with(
        "description",
        "The numbers that the service's documentation shows for failures. The operation's description says which \
         its endpoint returns; another number has the same form.",
    )
}

fn uint64() -> Object {
    typed("integer")
        .with("format", "uint64")
        .with("minimum", 0_i128)
        .with("maximum", i128::from(u64::MAX))
}

/// The location of the next cursor in a response.
fn cursor_path(endpoint: &Endpoint, paging: &CursorPaging) -> String {
    match (paging.location, &endpoint.response) {
        (CursorLocation::BesideRows, ResponseShape::Rows(RecordsLocation::At(path), _)) => {
            let holder = path.rsplit_once('.').map_or("", |(holder, _)| holder);
            format!("{holder}.{}", paging.name)
        }
        _ => format!("pagination.{}", paging.name),
    }
}

/// The paging of an operation, for programs.
fn paging_words(endpoint: &Endpoint, paging: &CursorPaging) -> Object {
    let next = cursor_path(endpoint, paging);
    let flag_at = next.rsplit_once('.').map_or("", |(holder, _)| holder);
    let place = match endpoint.cursor().map(|cursor| cursor.place) {
        Some(ParameterLocation::Body) => "body",
        _ => "query",
    };
    let first = match paging.first {
        FirstPage::Empty => "empty",
        FirstPage::Omitted => "omitted",
    };
    let (flag, at_end) = paging.end;
    object()
        .with("cursor", paging.name)
        .with("in", place)
        .with("first", first)
        .with("next", next.clone())
        .with("end", object().with("at", format!("{flag_at}.{flag}")).with("is", at_end))
}

/// The object `pagination` (section 2.4).
fn pagination(paging: &CursorPaging) -> Object {
    let (flag, at_end) = paging.end;
    let flag_doc = format!("{at_end}: this is the last page, and nothing else says so.");
    let cursor_doc =
        format!("Cursor of the next page, opaque; `{}` when there are no more.", paging.last);
    object_with(
        object()
            .with(flag, typed("boolean").with("description", flag_doc))
            .with(paging.name, typed("string").with("description", cursor_doc))
            .with("total", typed("integer").with("description", "Total of matching items.")),
        [flag, paging.name].into(),
    )
    .with("description", described("The cursor of a list.", "2.4"))
}

/// An object with these fields.
fn fields<'a>(
    schemas: &mut Schemas,
    record: &str,
    fields: impl Iterator<Item = &'a Field>,
) -> Object {
    let mut properties = object();
    let mut required = Vec::new();
    for field in fields {
        properties = properties.with(&field.name, field_schema(schemas, record, field));
        if field.required {
            required.push(&*field.name);
        }
    }
    object_with(properties, required.into())
}

fn field_schema(schemas: &mut Schemas, record: &str, field: &Field) -> Object {
    if let Kind::Object(inner) = field.kind {
        let name = format!("{record}{}", camel(&field.name));
        return schemas.add(&name, |schemas| {
            fields(schemas, &name, inner.iter()).with_text("description", field.doc)
        });
    }
    let kind = field.json_type();
    let name = &*field.name;
    let schema = match field.values {
        Some(set) => schemas.value_set(set),
        None if field.nullable => object().with("type", [kind, "null"]),
        None => typed(kind),
    };
    let schema = schema.with_text("description", &field_doc(field));
    let schema = match FIXED.iter().find(|(of, known, _)| *of == record && *known == name) {
        Some((_, _, Fixed::Text(text))) => schema.with("const", *text),
        Some((_, _, Fixed::True)) => schema.with("const", true),
        None => schema,
    };
    let schema = match field.kind {
        Kind::Text if IDS_OF_DIGITS.contains(&name) => schema.with("pattern", DIGITS),
        Kind::Text if OPAQUE_IDS.contains(&name) => schema.with("pattern", OPAQUE),
        Kind::Timestamp(_, Wire::Text) => {
            schema.with("pattern", DIGITS).with("x-kind", "timestamp")
        }
        Kind::Timestamp(_, Wire::Integer) => schema.with("x-kind", "timestamp"),
        Kind::Decimal => schema.with("x-kind", "decimal"),
        Kind::Date => {
            let (form, pattern) = date_form(field);
            schema.with("pattern", pattern).with("x-kind", "date").with("x-form", form)
        }
        _ => schema,
    };
    match field.kind {
        Kind::Timestamp(unit, _) => schema.with("x-unit", unit_symbol(unit)),
        _ => schema.with_text("x-unit", field.unit_name()),
    }
}

/// The unit of a time.
fn unit_symbol(unit: TimeUnit) -> &'static str {
    match unit {
        TimeUnit::Micros => "µs",
        unit => unit.symbol(),
    }
}

/// The form of a date, and a pattern of it and of what the document has in place of a missing one.
fn date_form(field: &Field) -> (&'static str, String) {
    let (form, pattern) = match &*field.name {
        "ex_date" => ("YYYY/MM/DD", "[0-9]{4}/[0-9]{2}/[0-9]{2}"),
        _ => ("YYYY-MM-DD", "[0-9]{4}-[0-9]{2}-[0-9]{2}"),
    };
    let pattern = match field.doc {
        doc if doc.contains("`--`") => format!("^({pattern}|--)$"),
        doc if doc.contains("empty string") => format!("^({pattern})?$"),
        _ => format!("^{pattern}$"),
    };
    (form, pattern)
}

/// The meaning of a field with the unit of a time, or the form of a date: most generators show nothing else.
fn field_doc(field: &Field) -> String {
    let more = match field.kind {
        Kind::Timestamp(unit, _) => format!("in {} since 1970", unit.name()),
        Kind::Date => format!("as `{}`", date_form(field).0),
        Kind::Decimal => "a decimal number".to_owned(),
        _ => match field.unit {
            "" => return field.doc.to_owned(),
            "not shown" => "its unit is not shown".to_owned(),
            "%" => "in percent: 1.23 means 1.23 %".to_owned(),
            "s" => "in seconds".to_owned(),
            unit => format!("in {unit}"),
        },
    };
    match field.doc {
        "" => more,
        doc => format!("{doc}; {more}"),
    }
}

fn value_set(set: &ValueSet) -> Object {
    let is_text = |member: &Member| matches!(member.value, Value::Text(_));
    let kind = if set.members.iter().any(is_text) { "string" } else { "integer" };
    let values: Vec<Node> = set
        .members
        .iter()
        .map(|member| match member.value {
            Value::Integer(number) => Node::Number(number.into()),
            Value::Text(text) => text.into(),
        })
        .collect();
    let out = typed(kind).with("enum", values);
    let out = match kind {
        "integer" => {
            let names: Vec<&str> = set.members.iter().map(|member| member.name).collect();
            out.with("x-enum-varnames", names)
        }
        _ => out,
    };
    out.with("description", meanings(set))
}

/// The values of a set with their meanings.
fn meanings(set: &ValueSet) -> String {
    // A default is stated beside the parameter.
    let about = set.doc.split(" The default is").next().unwrap_or_default();
    let members = set.members.iter().filter_map(|member| match member.value {
        Value::Integer(number) => Some(format!("{number}={}", member.doc)),
        Value::Text(_) => None,
    });
    let members = members.collect::<Vec<_>>().join(", ");
    let members = if members.is_empty() { members } else { format!(" {members}.") };
    format!("{}{members} Section {}.", about, set.section)
}

/// `fills_history` as `FillsHistory`.
fn camel(name: &str) -> String {
    let parts = name.split('_').flat_map(|part| {
        part.chars().take(1).flat_map(char::to_uppercase).chain(part.chars().skip(1))
    });
    parts.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_paging_of_the_table_is_described() {
        for endpoint in ENDPOINTS {
            assert_eq!(endpoint.paging.is_some(), endpoint.cursor_paging().is_some());
        }
    }

    #[test]
    fn every_word_that_replaces_another_belongs_to_an_endpoint_and_a_parameter() {
        for shown in SHOWN {
            let mut endpoints = ENDPOINTS.iter().chain(OAUTH_ENDPOINTS);
            let endpoint = endpoints.find(|one| one.name == shown.endpoint);
            let endpoint = endpoint.expect(shown.endpoint);
            let names = shown.parameters.iter().map(|(name, _)| *name);
            for name in names.chain(shown.defaults.iter().map(|(name, _)| *name)) {
                assert!(endpoint.parameter(name).is_some(), "{}: {name}", shown.endpoint);
            }
        }
    }
}
