//! OAuth 2.1 with PKCE: sections 2.1, 2.2, 4.1 and 5.1.

use std::borrow::Cow;

use super::{
    endpoint::{Endpoint, Method},
    parameter::{Parameter, ParameterKind},
    record::{Field, Record},
    response::{Envelope, ResponseShape},
};

/// The OAuth endpoints, in the order of the service document. A login calls them; they are not
/// methods of the client.
pub const OAUTH_ENDPOINTS: &[&Endpoint] = &[&REGISTER, &AUTHORIZE, &TOKEN];

/// The scopes that a client can request.
pub const SCOPES: &[&str] = &["quote:read", "quote:write", "trade:read", "trade:write", "accid:*"];

/// Registers a client.
pub static REGISTER: Endpoint = Endpoint {
    name: Cow::Borrowed("register"),
    method: Method::Post,
    path: Cow::Borrowed("/oauth2/register"),
    section: "4.1",
    summary: "Registers an OAuth client.",
    parameters: Cow::Borrowed(&[
        Parameter::body("redirect_uris", ParameterKind::TextList, "Callback URLs.").required(),
        Parameter::body(
            "token_endpoint_auth_method",
            ParameterKind::OneOf(&["none", "client_secret_post"]),
            "`none` (public client) or `client_secret_post` (confidential client).",
        )
        .required(),
        Parameter::body(
            "grant_types",
            ParameterKind::TextList,
            "`authorization_code`, `refresh_token`.",
        )
        .required(),
        Parameter::body("response_types", ParameterKind::TextList, "`code`.").required(),
        Parameter::body("client_name", ParameterKind::Text, "Display name.").required(),
    ]),
    envelope: Envelope::Field("client_id"),
    response: ResponseShape::Object(&CLIENT_RECORD),
    idempotent: false,
    ..Endpoint::BASE
};

/// The page on which the user signs in and consents.
pub static AUTHORIZE: Endpoint = Endpoint {
    name: Cow::Borrowed("authorize"),
    path: Cow::Borrowed("/oauth2/authorize/confirm"),
    section: "4.1",
    summary: "The page for login, choice of scopes and consent.",
    parameters: Cow::Borrowed(&[
        Parameter::query("client_id", ParameterKind::FreeText, "From registration.").required(),
        Parameter::query(
            "code_challenge",
            ParameterKind::Text,
            "BASE64URL(SHA256(code_verifier)).",
        )
        .required(),
        Parameter::query("code_challenge_method", ParameterKind::OneOf(&["S256"]), "`S256`.")
            .required(),
        Parameter::query(
            "redirect_uri",
            ParameterKind::FreeText,
            "One of the registered ones, exactly.",
        )
        .required(),
        Parameter::query("response_type", ParameterKind::OneOf(&["code"]), "`code`.").required(),
        Parameter::query("state", ParameterKind::FreeText, "Random, returned unchanged.")
            .required(),
    ]),
    ..Endpoint::BASE
};

/// Exchanges a code, or refreshes a token.
pub static TOKEN: Endpoint = Endpoint {
    name: Cow::Borrowed("token"),
    method: Method::Post,
    path: Cow::Borrowed("/oauth2/token"),
    section: "4.1",
    summary: "Exchanges a code, or refreshes a token.",
    notes: "`code`, `redirect_uri` and `code_verifier` belong to the grant `authorization_code`; \
            `refresh_token` and `client_secret` to `refresh_token`.",
    parameters: Cow::Borrowed(&[
        Parameter::form(
            "grant_type",
            ParameterKind::OneOf(&["authorization_code", "refresh_token"]),
            "The grant.",
        )
        .required(),
        Parameter::form("client_id", ParameterKind::FreeText, "From registration.").required(),
        Parameter::form("code", ParameterKind::Secret, "The authorization code."),
        Parameter::form("redirect_uri", ParameterKind::FreeText, "Exactly as in authorization."),
        Parameter::form("code_verifier", ParameterKind::Secret, "The original verifier."),
        Parameter::form("refresh_token", ParameterKind::Secret, "From the code exchange."),
        Parameter::form("client_secret", ParameterKind::Secret, "Of a confidential client."),
    ]),
    envelope: Envelope::Field("access_token"),
    response: ResponseShape::Object(&ACCESS_TOKEN),
    idempotent: false,
    ..Endpoint::BASE
};

/// The response of a registration.
pub const CLIENT_RECORD: Record = Record {
    name: "OAuthClient",
    section: "2.1",
    doc: "A registered OAuth client.",
    groups: &[&[
        Field::text("client_id", "Identifier of the client"),
        Field::seconds("client_id_issued_at", "When it was registered"),
        Field::text("client_name", "Display name"),
        Field::text("redirect_uris", "Callback URLs, a list"),
        Field::text("grant_types", "Grants, a list"),
        Field::text("token_endpoint_auth_method", "`none` or `client_secret_post`"),
        Field::text("response_types", "Response types, a list"),
        Field::text("registration_access_token", "Secret; its use is not shown"),
        Field::text("registration_client_uri", "`{base_url}/oauth2/register/<client_id>`"),
        Field::text("scope", "Offered scopes, separated by spaces"),
        Field::flag("pkce_required", "True"),
    ]],
};

/// The response of the token endpoint.
pub const ACCESS_TOKEN: Record = Record {
    name: "AccessToken",
    section: "2.2",
    doc: "The response of the token endpoint.",
    groups: &[&[
        Field::text("access_token", "Bearer credential for REST calls"),
        Field::text("token_type", "Fixed `Bearer`"),
        Field::integer("expires_in", "Validity of the access token").unit("s"),
        Field::text("refresh_token", "On code exchange only").optional(),
        Field::text("scope", "Granted scopes; `accid:<acc_id>` for one account"),
    ]],
};
